import { clock } from "../lua/clock.js";
import { permitGrants } from "../lua/permit-grants.js";
import { permits } from "../lua/permits.js";
import { publish } from "../lua/publish.js";
import { type Conflict, conflictPart, type Late } from "../mutex/answers.js";
import { answerReader, type CallScript, notAfterUs, nothingMore } from "../script.js";
import type { PermitCall } from "./answers.js";

export interface PermitSetArgs extends PermitCall {
  /** How many there shall be in all, held ones among them; `null` changes nothing and only looks. */
  readonly limit: number | null;
  /** Only where no number is set. */
  readonly onlyIfUnset: boolean;
  /** A copy that comes later, from a connection long given up, would undo what was set since. */
  readonly notAfterMs: number | null;
}

export type PermitSetAnswer =
  | {
      readonly status: "counted";
      readonly serverMs: number;
      readonly changed: boolean;
      /** May be below zero when fewer are wanted than are held. */
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
 * How many permits with leases there are, and how many there shall be.
 *
 * Keys: permits, grants, token. Arguments: how many in all (empty to look only), whether only where none is set, how to publish, Redisson's channel,
 * not after (us, 0 for none). Answer: counted (whether changed, free, held, publish error) / late / conflict; server time in each.
 *
 * As Redisson's `setPermits` and `trySetPermits`: set where it is missing, else the difference is added to the free ones, and the number in
 * all is published. Permits that are over are given back first, 1,000 of them at most, so that no call blocks the server: the others count
 * as held, and the number in all is the same.
 */
export const permitSet: CallScript<PermitSetArgs, PermitSetAnswer> = {
  name: "permit-set",
  keyCount: 3,
  lua: `${clock}${publish}${permits}${permitGrants}
if tonumber(ARGV[5]) > 0 and nowUs > tonumber(ARGV[5]) then return {'late', nowUs} end
local k = {permits = KEYS[1], grants = KEYS[2]}
local free, found = permitState(k)
if free == nil then return {'conflict', nowUs, found} end
reap(k, 1000, ARGV[3], ARGV[4])
local held = redis.call('ZCARD', k.grants)
local was = redis.call('GET', k.permits)
local now, changed = tonumber(was or '0'), 0
if ARGV[1] ~= '' and (not was or ARGV[2] == '0') then
  local wanted = tonumber(ARGV[1])
  if not was then
    now = wanted
    redis.call('SET', k.permits, string.format('%.0f', now))
    changed = 1
  elseif now + held ~= wanted then
    now = redis.call('INCRBY', k.permits, wanted - now - held)
    changed = 1
  end
  if changed == 1 then tellPermits(ARGV[3], ARGV[4], wanted) end
end
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
