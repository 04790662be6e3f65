import { clock } from "../lua/clock.js";
import { mutexState } from "../lua/mutex-state.js";
import { keepers, messages } from "../lua/publish.js";
import { token } from "../lua/token.js";
import { firstWaiter } from "../lua/waiters.js";
import { answerReader, notAfterUs, nothingMore, Reply, type Script } from "../script.js";
import { type Busy, type Conflict, conflictPart, type Granted, type Late, refusedPart } from "./answers.js";

export interface AcquireAllArgs {
  /** Server time after which this request does nothing; `null` for no limit. */
  readonly notAfterMs: number | null;
  /** 0 keeps the token keys for ever. */
  readonly tokenTtlMs: number;
  /** How long a waiter counts as alive after its last request. */
  readonly aliveMs: number;
}

export interface AcquireAllEntry {
  readonly owner: string;
  readonly leaseMs: number;
  /** The highest token that this client has seen for the lock. */
  readonly floor: bigint;
}

/** The first lock, in the order of the call, that cannot be granted. */
interface First {
  readonly index: number;
}

export type AcquireAllAnswer =
  | {
      readonly status: "granted";
      readonly serverMs: number;
      readonly grants: readonly Pick<Granted, "token" | "pttlMs">[];
    }
  | (Busy & First)
  | (Conflict & First)
  | Late;

const name = "mutex-acquire-all";

/**
 * Takes several mutexes of one slot, all or none. Never enters a queue.
 *
 * Keys of each lock: lock, token, waiters, alive, run. Arguments: not after (us, 0 for none), token TTL ms, alive window ms; then for each lock
 * owner, lease ms, token floor. Answer: granted (token and PTTL of each) / busy (number of the first lock that is not free, PTTL and name of its
 * holder, last token) / late / conflict (number of the lock, what was found); server time in each.
 *
 * On the wire each lock is as `mutex-acquire` writes it, so Redisson sees plain locks. Redisson's own multi-lock takes the locks
 * one after the other, and gives back those that it has when one is refused. Free means the same as in `mutex-acquire`: the lock
 * has no holder and no live waiter of ours.
 *
 * All locks are looked at before the first write, so a refused call changes nothing, with three exceptions. Dead waiters in front
 * of the first live one are dropped; that one counts as alive until `mostAlive`; and a holder that may only keep the lock gets
 * a message that it is wanted. The request may be sent twice: a lock that its owner in the call already holds counts as free for it, and is
 * not extended.
 */
export const mutexAcquireAll: Script<AcquireAllAnswer> & {
  args(common: AcquireAllArgs, entries: readonly AcquireAllEntry[]): (string | number)[];
} = {
  name,
  keyCount: 5,
  lua: `${clock}${messages}${keepers}${token}${firstWaiter}${mutexState}
if tonumber(ARGV[1]) > 0 and nowUs > tonumber(ARGV[1]) then return {'late', nowUs} end
local tokenTtlMs, aliveMs = tonumber(ARGV[2]), tonumber(ARGV[3])
local parts = {}
for i = 1, #KEYS / 5 do
  local k = {lock = KEYS[5 * i - 4], token = KEYS[5 * i - 3], waiters = KEYS[5 * i - 2], alive = KEYS[5 * i - 1]}
  local part = {k = k, owner = ARGV[3 * i + 1], leaseMs = ARGV[3 * i + 2], floor = tonumber(ARGV[3 * i + 3])}
  local state, holder = look(k.lock)
  if state == 'conflict' then return {'conflict', nowUs, holder, i - 1} end
  part.last = lastToken(k.token)
  if not part.last then return {'conflict', nowUs, 'token', i - 1} end
  part.held = state == 'held' and holder == part.owner
  if not part.held and (state == 'held' or liveHead(k, aliveMs)) then
    tellKeeper(k.lock, holder)
    return {'busy', nowUs, redis.call('PTTL', k.lock), holder, string.format('%.0f', part.last), i - 1}
  end
  parts[i] = part
end
local grants = {}
for i, part in ipairs(parts) do
  local k = part.k
  local text
  if not part.held then
    put(k.lock, part.owner, part.leaseMs)
    text = nextToken(k.token, math.max(part.last, part.floor), tokenTtlMs)
  elseif part.floor > part.last then
    text = raiseToken(k.token, part.floor + 1, tokenTtlMs)
  else
    text = string.format('%.0f', part.last)
  end
  grants[i] = {text, redis.call('PTTL', k.lock)}
end
return {'granted', nowUs, grants}
`,
  args: ({ notAfterMs, tokenTtlMs, aliveMs }, entries) => [
    notAfterUs(notAfterMs),
    tokenTtlMs,
    aliveMs,
    ...entries.flatMap(({ owner, leaseMs, floor }) => [owner, leaseMs, String(floor)]),
  ],
  parse: answerReader<AcquireAllAnswer>(name, {
    granted: (reply) => ({ grants: reply.list().map(readGrant) }),
    busy: (reply) => ({ ...refusedPart(reply), index: reply.integer() }),
    conflict: (reply) => ({ ...conflictPart(reply), index: reply.integer() }),
    late: nothingMore,
  }),
};

function readGrant(raw: unknown): Pick<Granted, "token" | "pttlMs"> {
  const reply = new Reply(name, raw);
  return reply.end({ token: reply.token(), pttlMs: reply.integer() });
}
