import { clock } from "../lua/clock.js";
import { mutexState } from "../lua/mutex-state.js";
import { keepers, messages } from "../lua/publish.js";
import { token } from "../lua/token.js";
import { type StandAnswer, standReader } from "../mutex/answers.js";
import { type CallScript, notAfterUs } from "../script.js";

export interface SpinArgs {
  readonly owner: string;
  readonly leaseMs: number;
  readonly notAfterMs: number | null;
  readonly tokenTtlMs: number;
  readonly floor: bigint;
}

/**
 * Takes a mutex or reports who holds it. Never enters a queue.
 *
 * Keys: lock, token. Arguments: owner, lease ms, not after (us, 0 for none), token TTL ms, token floor. Answer: as `mutex-acquire`, never queued.
 *
 * As Redisson's spin lock: it uses the hash of the plain mutex, and passes waiters of the plain mutex of the same name. It
 * subscribes nothing, and publishes nothing except to a provider of ours that may keep the lock, see `stand`.
 */
export const spinAcquire: CallScript<SpinArgs, StandAnswer> = {
  name: "spin-acquire",
  keyCount: 2,
  lua: `${clock}${token}${mutexState}
if tonumber(ARGV[3]) > 0 and nowUs > tonumber(ARGV[3]) then return {'late', nowUs} end
local state, holder = look(KEYS[1])
if state == 'conflict' then return {'conflict', nowUs, holder} end
local last = lastToken(KEYS[2])
if not last then return {'conflict', nowUs, 'token'} end
local ttlMs, floor = tonumber(ARGV[4]), tonumber(ARGV[5])
if floor > last then
  last = state == 'free' and floor or floor + 1
  raiseToken(KEYS[2], last, ttlMs)
end
if state == 'held' then
  local text, pttl = string.format('%.0f', last), redis.call('PTTL', KEYS[1])
  if holder == ARGV[1] then return {'granted', nowUs, text, pttl} end
  ${messages}${keepers}
  tellKeeper(KEYS[1], holder)
  return {'busy', nowUs, pttl, holder, text}
end
put(KEYS[1], ARGV[1], ARGV[2])
return {'granted', nowUs, nextToken(KEYS[2], last, ttlMs), redis.call('PTTL', KEYS[1])}
`,
  args: (given) => [
    given.owner,
    given.leaseMs,
    notAfterUs(given.notAfterMs),
    given.tokenTtlMs,
    String(given.floor),
  ],
  parse: standReader("spin-acquire"),
};
