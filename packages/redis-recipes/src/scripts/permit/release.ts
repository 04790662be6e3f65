import { clock } from "../lua/clock.js";
import { lists } from "../lua/lists.js";
import { permitGrants } from "../lua/permit-grants.js";
import { permits } from "../lua/permits.js";
import { publish } from "../lua/publish.js";
import { type Conflict, conflictPart } from "../mutex/answers.js";
import { answerReader, type CallScript, nothingMore } from "../script.js";
import { checkedIds, type PermitCall } from "./answers.js";

export interface PermitReleaseArgs extends PermitCall {
  readonly ids: readonly string[];
}

export type PermitReleaseAnswer =
  | {
      readonly status: "released";
      readonly serverMs: number;
      /** How many were given back in time. */
      readonly inTime: number;
      /**
       * How many were given back although their time was over. No other client had them meanwhile: expired permits become free
       * only when their grants are removed.
       */
      readonly late: number;
      readonly free: number;
      readonly publishError: string;
    }
  | { readonly status: "gone"; readonly serverMs: number }
  | Conflict;

const readRelease = answerReader<PermitReleaseAnswer>("permit-release", {
  released: (reply) => ({
    inTime: reply.integer(),
    late: reply.integer(),
    free: reply.integer(),
    publishError: reply.text(),
  }),
  gone: nothingMore,
  conflict: conflictPart,
});

/**
 * Gives back what is left of permits that were taken together. Also the last request of a take that was not answered.
 *
 * Keys: permits, grants, token. Arguments: how to publish, Redisson's channel, then the ids as hex. Answer: released (how many in time, how many late,
 * free, publish error) / gone / conflict; server time in each.
 *
 * As Redisson's release of one permit: it is removed and counted up, the new number is published, and it is reported as late if
 * its time was over. Unlike Redisson's release of several permits, which does nothing when one is missing, this one gives back
 * those that are there.
 */
export const permitRelease: CallScript<PermitReleaseArgs, PermitReleaseAnswer> = {
  name: "permit-release",
  keyCount: 3,
  lua: `${clock}${publish}${permits}${lists}${permitGrants}
local k = {permits = KEYS[1], grants = KEYS[2]}
local free, instead = permitState(k)
if free == nil then return {'conflict', nowUs, instead} end
local inTime, late, found = 0, 0, {}
for i = 3, #ARGV do
  local id = bytesOf(ARGV[i])
  local till = redis.call('ZSCORE', k.grants, id)
  if till then
    found[#found + 1] = id
    if tonumber(till) > nowMs then inTime = inTime + 1 else late = late + 1 end
  end
end
if inTime + late == 0 then return {'gone', nowUs} end
dropAll(k.grants, found)
local value = redis.call('INCRBY', k.permits, inTime + late)
tellPermits(ARGV[1], ARGV[2], value)
return {'released', nowUs, inTime, late, value, mute}
`,
  args: (given) => [given.publish, given.channel, ...checkedIds(given.ids)],
  parse: readRelease,
};
