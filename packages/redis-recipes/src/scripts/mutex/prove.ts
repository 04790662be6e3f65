import { clock } from "../lua/clock.js";
import { evenWhenFull } from "../lua/even-when-full.js";
import { lease } from "../lua/lease.js";
import { listeners } from "../lua/listeners.js";
import { token } from "../lua/token.js";
import { firstWaiter } from "../lua/waiters.js";
import { answerReader, type BatchScript, eachReader, nothingMore } from "../script.js";

export interface ProveArgs {
  /** How Java clients listen for the end of a hold; `none` where there are no Java clients. */
  readonly listens: "publish" | "spublish" | "both" | "none";
  /** 0 keeps the token key for ever. */
  readonly tokenTtlMs: number;
}

export interface ProveEntry {
  /** The owner; for a write lock its writer field. */
  readonly field: string;
  readonly leaseMs: number;
  /** Redisson's channel of the lock. */
  readonly channel: string;
  /** Whether to reserve tokens. */
  readonly reserves: boolean;
}

export type ProveAnswer =
  | {
      readonly status: "renewed";
      readonly serverMs: number;
      /** The token key's value, which is the last of the reserved tokens. 0 where the key holds something else. */
      readonly token: bigint;
      readonly pttlMs: number;
      /** This call has reserved the tokens above this one, up to `token`. */
      readonly above: bigint;
      /** Whether a client of ours is in the queue. */
      readonly waited: boolean;
      /** How many clients listen to Redisson's channel at this server. */
      readonly listeners: number;
    }
  | { readonly status: "gone"; readonly serverMs: number };

/**
 * How many tokens are reserved at once. It is also the largest distance in microseconds that reserving may put between the token
 * key and the server's clock. After a loss of the key a new token is the server's time, and it has to be above all tokens that
 * were lent.
 */
export const mostReserved: number = 2 ** 19;

/**
 * Confirms what a provider has to know of locks that it keeps for their next owners: it still holds each one, and no other client
 * wants it. Sets the lease as `renew` does, and reserves tokens for the next owners if no other client was seen.
 *
 * Keys of each entry: lock, token, waiters, alive. Arguments: how Java listens, token TTL ms; then for each entry the hash field,
 * lease ms, Redisson's channel, whether to reserve tokens. Answer for each entry: renewed (token key's value, PTTL, the value
 * above which tokens were reserved now, whether a live waiter of ours is queued, how many listen to the channel) / gone; server
 * time in each.
 *
 * Redisson has no such request. Its fenced lock continues behind the reserved tokens.
 */
export const prove: BatchScript<ProveArgs, ProveEntry, ProveAnswer> = {
  name: "prove",
  keyCount: 4,
  lua: `${evenWhenFull}${clock}${lease}${listeners}${token}${firstWaiter}
local answers = {}
local how, ttlMs = ARGV[1], tonumber(ARGV[2])
for i = 0, #KEYS / 4 - 1 do
  local k = {lock = KEYS[4 * i + 1], token = KEYS[4 * i + 2], waiters = KEYS[4 * i + 3], alive = KEYS[4 * i + 4]}
  local leaseMs = tonumber(ARGV[4 * i + 4])
  if type(redis.pcall('HGET', k.lock, ARGV[4 * i + 3])) == 'string' then
    local left = holdFor(k.lock, leaseMs)
    local waited = false
    if redis.call('EXISTS', k.waiters) == 1 then
      local readable, head = pcall(liveHead, k)
      waited = not readable or head ~= nil
    end
    local java = listeners(how, ARGV[4 * i + 5])
    local last = lastToken(k.token)
    local upTo = last or 0
    if last and ARGV[4 * i + 6] == '1' and not waited and java == 0 then
      upTo = math.max(last, math.min(last, nowUs) + ${mostReserved})
      if upTo > last then raiseToken(k.token, upTo, ttlMs) end
    end
    answers[i + 1] = {'renewed', nowUs, string.format('%.0f', upTo), left,
      string.format('%.0f', last or 0), waited and 1 or 0, java}
  else
    answers[i + 1] = {'gone', nowUs}
  end
end
return answers
`,
  args: ({ listens, tokenTtlMs }, entries) => [
    listens,
    tokenTtlMs,
    ...entries.flatMap(({ field, leaseMs, channel, reserves }) => [
      field,
      leaseMs,
      channel,
      reserves ? 1 : 0,
    ]),
  ],
  parse: eachReader(
    "prove",
    answerReader<ProveAnswer>("prove", {
      gone: nothingMore,
      renewed: (reply) => ({
        token: reply.token(),
        pttlMs: reply.integer(),
        above: reply.token(),
        waited: reply.flag(),
        listeners: reply.integer(),
      }),
    }),
  ),
};
