import { clock } from "../lua/clock.js";
import { keepers, messages } from "../lua/publish.js";
import { readWriteState } from "../lua/read-write-state.js";
import { token } from "../lua/token.js";
import { firstWaiter } from "../lua/waiters.js";
import { type Conflict, conflictPart, type Granted, type Late } from "../mutex/answers.js";
import { answerReader, type CallScript, notAfterUs, nothingMore } from "../script.js";

export interface ReadArgs {
  /** The reader; for a read beside a held write, the owner of the write. */
  readonly owner: string;
  readonly leaseMs: number;
  readonly notAfterMs: number | null;
  readonly tokenTtlMs: number;
  readonly floor: bigint;
  /** How long a waiter of this client counts as alive after its last request. */
  readonly aliveMs: number;
  /** Reads beside one write have its owner, and each a larger number than the one before, from 2. Otherwise it is 1. */
  readonly readNumber: number;
}

export type ReadAnswer =
  | (Granted & {
      /** The same owner also holds the write: its token stays the same, and no other owner may hold. */
      readonly beside: boolean;
    })
  | Late
  | Conflict
  | {
      readonly status: "busy";
      readonly serverMs: number;
      readonly holderPttlMs: number;
      /** `""` unless a writer holds. */
      readonly holder: string;
      readonly lastToken: bigint;
      /** Only a waiting writer of ours is in the way. */
      readonly behindWriter: boolean;
    };

const readRead = answerReader<ReadAnswer>("read-acquire", {
  granted: (reply) => ({ token: reply.token(), pttlMs: reply.integer(), beside: reply.flag() }),
  late: nothingMore,
  conflict: conflictPart,
  busy: (reply) => ({
    holderPttlMs: reply.integer(),
    holder: reply.text(),
    lastToken: reply.token(),
    behindWriter: reply.flag(),
  }),
});

/**
 * Takes the read side of a read-write lock, once.
 *
 * Keys: lock, token, waiters, alive, run, the hold's own. Arguments: owner, lease ms, not after (us, 0 for none), token TTL ms,
 * token floor, alive window ms, number of the read. Answer: granted (token, PTTL of this hold, whether beside a write of the same
 * owner) / busy (PTTL and writer, last token, whether only a waiting writer is in the way) / late / conflict; server time in each.
 *
 * As Redisson's: `mode` is `read`; each hold has one field, and one key with its lease; the TTL of the hash is the longest of
 * all; a writer may also read. Unlike Redisson's:
 *
 * - It is refused while a live writer of ours is first, except during a readers' turn. A turn that would last longer than an
 *   alive window does not count: it shows that the clock was set back.
 * - A mutex under the name is a conflict, where Redisson's read hold would stand beside its holder.
 * - When asked again, it extends nothing.
 * - The hold's own key has the number of the read. Reads beside one write have the same owner, and each a larger number than the one
 *   before. So the end of an earlier one that comes late does not end a later one.
 * - A writer that may only keep the lock for its next owner gets a message that it is wanted.
 */
export const readAcquire: CallScript<ReadArgs, ReadAnswer> = {
  name: "read-acquire",
  keyCount: 6,
  lua: `${clock}${messages}${keepers}${token}${firstWaiter}${readWriteState}
local k = {lock = KEYS[1], token = KEYS[2], waiters = KEYS[3], alive = KEYS[4], run = KEYS[5]}
local owner, leaseMs, ttlMs, floor = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4]), tonumber(ARGV[5])
if tonumber(ARGV[3]) > 0 and nowUs > tonumber(ARGV[3]) then return {'late', nowUs} end
local state, holder, mode = look(k.lock, owner)
if state == 'conflict' then return {'conflict', nowUs, holder} end
local last = lastToken(k.token)
if not last then return {'conflict', nowUs, 'token'} end
if floor > last then
  last = state == 'free' and floor or floor + 1
  raiseToken(k.token, last, ttlMs)
end
local hold, number = KEYS[6], tonumber(ARGV[7])
local beside = mode == 'write' and holder == owner
local again = state == 'held' and redis.call('HEXISTS', k.lock, owner) == 1
if again and number > 1 then again = (tonumber(redis.call('GET', hold)) or 0) >= number end
if again then
  return {'granted', nowUs, string.format('%.0f', last), math.max(0, redis.call('PTTL', hold)), beside and 1 or 0}
end
local behind = 0
if not beside and mode ~= 'write' and liveHead(k, tonumber(ARGV[6])) then
  local turn = tonumber(string.match(redis.call('GET', k.run) or '', '^r(%d+)') or '0')
  if turn <= nowMs or turn > nowMs + tonumber(ARGV[6]) then behind = 1 end
end
if behind == 1 or (mode == 'write' and not beside) then
  tellKeeper(k.lock, holder)
  return {'busy', nowUs, redis.call('PTTL', k.lock), holder, string.format('%.0f', last), behind}
end
redis.call('SET', hold, ARGV[7], 'PX', leaseMs)
if state == 'free' then redis.call('HSET', k.lock, 'mode', 'read') end
redis.call('HSET', k.lock, owner, '1')
if state == 'free' or redis.call('PTTL', k.lock) < leaseMs then redis.call('PEXPIRE', k.lock, leaseMs) end
local text = beside and string.format('%.0f', last) or nextToken(k.token, last, ttlMs)
return {'granted', nowUs, text, redis.call('PTTL', hold), beside and 1 or 0}
`,
  args: (given) => [
    given.owner,
    given.leaseMs,
    notAfterUs(given.notAfterMs),
    given.tokenTtlMs,
    String(given.floor),
    given.aliveMs,
    given.readNumber,
  ],
  parse: readRead,
};
