import { clock } from "../lua/clock.js";
import { permitGrants } from "../lua/permit-grants.js";
import { permits } from "../lua/permits.js";
import { publish } from "../lua/publish.js";
import { type Conflict, conflictPart, type Late } from "../mutex/answers.js";
import { answerReader, type CallScript, notAfterUs, nothingMore } from "../script.js";
import type { PermitCall } from "./answers.js";

export interface PermitSetArgs extends PermitCall {
  /** The wanted number of permits in all, including those that are held; `null` changes nothing and only reads. */
  readonly limit: number | null;
  /** Sets the number only where none is set. */
  readonly onlyIfUnset: boolean;
  /** Without this limit a late copy, from a connection that was given up long ago, would undo what was set since. */
  readonly notAfterMs: number | null;
}

export type PermitSetAnswer =
  | {
      readonly status: "counted";
      readonly serverMs: number;
      readonly changed: boolean;
      /** May be below zero when the wanted number is lower than the number of held permits. */
      readonly free: number;
      readonly held: number;
      readonly publishError: string;
    }
  | Late
  | Conflict;

const readSet = answerReader<PermitSetAnswer>("permit-set", {
  counted: (reply) => ({
    changed: reply.flag(),
    free: reply.integer(),
    held: reply.integer(),
    publishError: reply.text(),
  }),
  late: nothingMore,
  conflict: conflictPart,
});

/**
 * Reads how many permits with leases there are, and sets how many there shall be.
 *
 * Keys: permits, grants, token. Arguments: how many in all (empty to look only), whether only where none is set, how to publish, Redisson's channel,
 * not after (us, 0 for none). Answer: counted (whether changed, free, held, publish error) / late / conflict; server time in each.
 *
 * As Redisson's `setPermits` and `trySetPermits`: the difference is added to the free permits, and the number of all permits is
 * published. Unlike Redisson's: where the number is missing while permits are held, those count towards the wanted number, so
 * that no more than this number is ever held. Expired permits are given back first, at most 1,000 of them, so that no call blocks
 * the server. The others count as held, and the number of all permits is the same. A look leaves a missing number missing,
 * and answers a number of all permits that is below zero then.
 */
export const permitSet: CallScript<PermitSetArgs, PermitSetAnswer> = {
  name: "permit-set",
  keyCount: 3,
  lua: `${clock}${publish}${permits}${permitGrants}
if tonumber(ARGV[5]) > 0 and nowUs > tonumber(ARGV[5]) then return {'late', nowUs} end
local k = {permits = KEYS[1], grants = KEYS[2]}
local free, found = permitState(k)
if free == nil then return {'conflict', nowUs, found} end
local now, changed = free or 0, 0
if free or ARGV[1] ~= '' then now = now + reap(k, 1000, ARGV[3], ARGV[4]) end
local held = redis.call('ZCARD', k.grants)
if ARGV[1] ~= '' and (not free or ARGV[2] == '0') then
  local wanted = tonumber(ARGV[1])
  if not free or now + held ~= wanted then
    now = redis.call('INCRBY', k.permits, wanted - held - now)
    changed = 1
    tellPermits(ARGV[3], ARGV[4], wanted)
  end
end
if not free and changed == 0 then now = -1 - held end
return {'counted', nowUs, changed, now, held, mute}
`,
  args: (given) => [
    given.limit ?? "",
    given.onlyIfUnset ? 1 : 0,
    given.publish,
    given.channel,
    notAfterUs(given.notAfterMs),
  ],
  parse: readSet,
};
