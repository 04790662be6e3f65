import { clock } from "../lua/clock.js";
import { lists } from "../lua/lists.js";
import { permitGrants } from "../lua/permit-grants.js";
import { permits } from "../lua/permits.js";
import { publish } from "../lua/publish.js";
import { token } from "../lua/token.js";
import { type Conflict, conflictPart, type Granted, type Late } from "../mutex/answers.js";
import { answerReader, type CallScript, notAfterUs, nothingMore } from "../script.js";
import { checkedIds, type PermitCall } from "./answers.js";

export interface PermitTakeArgs extends PermitCall {
  /** One id for each permit, drawn by the client and new for each take: 32 hex digits. */
  readonly ids: readonly string[];
  /** `null` for permits that never expire. */
  readonly leaseMs: number | null;
  /**
   * How many permits there are in all. Where no number is set, this is set; otherwise the set number must equal it. `null`
   * accepts any number.
   */
  readonly limit: number | null;
  readonly notAfterMs: number | null;
  readonly tokenTtlMs: number;
  readonly floor: bigint;
}

export type PermitTakeAnswer =
  | (Granted & { readonly free: number })
  | {
      readonly status: "busy";
      readonly serverMs: number;
      readonly free: number;
      /** Time until the next permit expires, 0 when one is over already; -1 when none will expire. */
      readonly leaseLeftMs: number;
    }
  /** More permits are asked for than there are in all. */
  | { readonly status: "beyond"; readonly serverMs: number; readonly limit: number }
  /** No number of permits is set, so nothing is granted until one is set. */
  | { readonly status: "unset"; readonly serverMs: number }
  /** The number of permits in all differs from the one that the caller gave. */
  | { readonly status: "limit"; readonly serverMs: number; readonly limit: number }
  | Late
  | Conflict;

const readTake = answerReader<PermitTakeAnswer>("permit-take", {
  granted: (reply) => ({ token: reply.token(), pttlMs: reply.integer(), free: reply.integer() }),
  busy: (reply) => ({ free: reply.integer(), leaseLeftMs: reply.integer() }),
  beyond: (reply) => ({ limit: reply.integer() }),
  unset: nothingMore,
  limit: (reply) => ({ limit: reply.integer() }),
  late: nothingMore,
  conflict: conflictPart,
});

/**
 * Takes permits with a lease, all or none.
 *
 * Keys: permits, grants, token. Arguments: lease ms (-1 for never), limit (empty for none), not after (us, 0 for none), token TTL ms, token
 * floor, how to publish, Redisson's channel, then the ids as hex. Answer: granted (token, what is left of the lease, free) / busy (free, ms until one
 * expires) / beyond (how many there are in all) / unset / limit (the one there is) / late / conflict; server time in each.
 *
 * As Redisson's: expired permits are given back first; each grant is a member of 16 raw bytes with its end as score; a TTL of the
 * number is also set on the grants. Unlike Redisson's: server time; a second request with the same ids extends nothing. Redisson
 * gives back as many as are asked for, which is not enough where the limit was set below the number of held ones. This gives back
 * as many as are missing, at most 1,000 where fewer are asked for. Where that is not enough, it answers busy with 0 ms.
 */
export const permitTake: CallScript<PermitTakeArgs, PermitTakeAnswer> = {
  name: "permit-take",
  keyCount: 3,
  lua: `${clock}${publish}${token}${permits}${lists}${permitGrants}
if tonumber(ARGV[3]) > 0 and nowUs > tonumber(ARGV[3]) then return {'late', nowUs} end
local k = {permits = KEYS[1], grants = KEYS[2]}
local how, channel, wanted = ARGV[6], ARGV[7], #ARGV - 7
local free, found = permitState(k)
if free == nil then return {'conflict', nowUs, found} end
local last = lastToken(KEYS[3])
if not last then return {'conflict', nowUs, 'token'} end
local before = redis.call('ZSCORE', k.grants, bytesOf(ARGV[8]))
if before then
  return {'granted', nowUs, string.format('%.0f', last), math.max(0, tonumber(before) - nowMs), free or 0}
end
if ARGV[2] ~= '' then
  local held = redis.call('ZCARD', k.grants)
  if not free then
    free = tonumber(ARGV[2]) - held
    redis.call('SET', k.permits, string.format('%.0f', free))
  elseif free + held ~= tonumber(ARGV[2]) then
    return {'limit', nowUs, free + held}
  end
end
if not free and redis.call('ZCARD', k.grants) == 0 then return {'unset', nowUs} end
free = free or 0
free = free + reap(k, math.max(wanted, math.min(1000, wanted - free)), how, channel)
if free < wanted then
  local all = free + redis.call('ZCARD', k.grants)
  if all < wanted then return {'beyond', nowUs, all} end
  local first = redis.call('ZRANGE', k.grants, 0, 0, 'WITHSCORES')[2]
  local left = first and tonumber(first) < never and math.max(0, tonumber(first) - nowMs) or -1
  return {'busy', nowUs, free, left}
end
local till = tonumber(ARGV[1]) < 0 and never or nowMs + tonumber(ARGV[1])
redis.call('DECRBY', k.permits, wanted)
local given = {}
for i = 8, #ARGV do
  given[#given + 1] = till
  given[#given + 1] = bytesOf(ARGV[i])
end
scoreAll(k.grants, given)
local pttl = redis.call('PTTL', k.permits)
if pttl > 0 then redis.call('PEXPIRE', k.grants, pttl) end
return {'granted', nowUs, nextToken(KEYS[3], math.max(last, tonumber(ARGV[5])), tonumber(ARGV[4])), till - nowMs, free - wanted}
`,
  args: (given) => [
    given.leaseMs ?? -1,
    given.limit ?? "",
    notAfterUs(given.notAfterMs),
    given.tokenTtlMs,
    String(given.floor),
    given.publish,
    given.channel,
    ...checkedIds(given.ids),
  ],
  parse: readTake,
};
