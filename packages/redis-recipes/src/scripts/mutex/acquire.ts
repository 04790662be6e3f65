import { clock } from "../lua/clock.js";
import { lookAtMutex, mutexFields, putMutex } from "../lua/mutex-state.js";
import { messages } from "../lua/publish.js";
import { stand } from "../lua/stand.js";
import { takeFree } from "../lua/take-free.js";
import { lastToken, raiseToken } from "../lua/token.js";
import { type CallScript, notAfterUs } from "../script.js";
import { acquireReader, type StandAnswer } from "./answers.js";

export interface StandArgs {
  readonly owner: string;
  readonly leaseMs: number;
  /** `false`: the request leaves nothing in the queue. */
  readonly mayWait: boolean;
  /**
   * For a request that may not wait: it is queued all the same if it is first behind a holder whose provider may keep the lock.
   * Default `false`.
   */
  readonly asksKeeper?: boolean;
  /** Whether the grant of a free lock comes with the previous token. Default `false`. */
  readonly tellsBefore?: boolean;
  /** How long a waiter counts as alive after its last request. */
  readonly aliveMs: number;
  /** Server time after which this request does nothing; `null` for no limit. */
  readonly notAfterMs: number | null;
  /** 0 keeps the token key for ever. */
  readonly tokenTtlMs: number;
  /** The highest token that this client has seen for the lock. */
  readonly floor: bigint;
  /** One of our channels, on which each change of holder is published; `""` for none. */
  readonly changes: string;
}

/** The arguments of `standArgs` that differ between requests for one lock. The others are mostly the same. */
export function ownArgs(given: Pick<StandArgs, "owner" | "notAfterMs" | "floor">): (string | number)[] {
  return [given.owner, notAfterUs(given.notAfterMs), String(given.floor)];
}

/** `last`: the argument behind those that all kinds of lock have. */
export function standArgs(given: Omit<StandArgs, "changes">, last: string | number): (string | number)[] {
  return [
    ...ownArgs(given),
    given.leaseMs,
    given.mayWait ? 1 : given.asksKeeper === true ? 2 : 0,
    given.aliveMs,
    given.tokenTtlMs,
    last,
    ...(given.tellsBefore === true ? [1] : []),
  ];
}

/** Ends a request that arrives too late. `ARGV[2]`: server time in us after which it does nothing, 0 for no limit. */
export const unlessLate: string = `${clock}
local notAfterUs = tonumber(ARGV[2])
if notAfterUs > 0 and nowUs > notAfterUs then return {'late', nowUs} end
`;

/**
 * The part that mutex and write lock share. The short way comes first, so that it does not define the functions of the rest.
 * `fields`: the argument of `takeFree`; `look` and `put`: those of the kind of lock.
 */
export function acquireLua(fields: string, look: string, put: string): string {
  return `${unlessLate}${takeFree(fields)}${look}${messages}${lastToken}${raiseToken}${stand(put)}
local k = {lock = KEYS[1], token = KEYS[2], waiters = KEYS[3], alive = KEYS[4], run = KEYS[5]}
return stand(k, {owner = ARGV[1], leaseMs = tonumber(ARGV[4]), grantMs = tonumber(ARGV[4]), mayWait = ARGV[5] == '1',
  asksKeeper = ARGV[5] == '2', aliveMs = tonumber(ARGV[6]), tokenTtlMs = tonumber(ARGV[7]), floor = tonumber(ARGV[3]), changes = ARGV[8],
  short = true})
`;
}

/**
 * Takes a mutex, or enters its queue.
 *
 * Keys: lock, token, waiters, alive, run. Arguments: owner, not after (us, 0 for none), token floor, lease ms, may wait (1; 2
 * only first behind a holder that may keep the lock), alive window ms, token TTL ms, channel of changes, and 1 if the grant of a
 * free lock has to come with the previous token.
 *
 * Answer of the short way: the server time in us alone, which is the token, for the whole lease. Answer for an owner that was
 * appended behind others: three numbers, the server time in us, the last token and the position. Other answers: granted (token,
 * PTTL, perhaps the previous token) / queued (PTTL and name of the holder, last token, position, whether appended now) / busy /
 * late / conflict (what was found); server time in each.
 *
 * As Redisson's: one field with the count 1 and the lease as TTL, refused with the PTTL. Unlike Redisson's: it sets the count and
 * does not add to it, and extends nothing when the holder asks again, so the request may be sent twice. It refuses the hash of a
 * read-write lock and anything that is not a lock. It raises the token that `RFencedLock` uses. It does not pass live waiters of
 * ours.
 */
export const mutexAcquire: CallScript<StandArgs, StandAnswer> = {
  name: "mutex-acquire",
  keyCount: 5,
  lua: acquireLua(mutexFields("ARGV[1]"), lookAtMutex, putMutex),
  args: (given) => standArgs(given, given.changes),
  parse: acquireReader("mutex-acquire"),
};
