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
  /** `false`: nothing is left in the queue. */
  readonly mayWait: boolean;
  /** For a request that may not wait: it stands first behind a holder whose provider may keep the lock. Default `false`. */
  readonly asksKeeper?: boolean;
  /** The grant of a free lock comes with the token before its own. Default `false`. */
  readonly tellsBefore?: boolean;
  /** How long a waiter counts as alive after it was heard. */
  readonly aliveMs: number;
  /** Server time after which this request does nothing; `null` for none. */
  readonly notAfterMs: number | null;
  /** 0 keeps the token key for ever. */
  readonly tokenTtlMs: number;
  /** The highest token that this client has seen for the lock. */
  readonly floor: bigint;
  /** A channel of ours on which each change of holder is published; `""` for none. */
  readonly changes: string;
}

/** Those of `standArgs` that differ between requests for one lock. The others are mostly the same. */
export function ownArgs(given: Pick<StandArgs, "owner" | "notAfterMs" | "floor">): (string | number)[] {
  return [given.owner, notAfterUs(given.notAfterMs), String(given.floor)];
}

/** `last`: what follows the arguments that all kinds of lock have. */
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

/** Ends a request that comes late. `ARGV[2]`: server time in us after which it does nothing, 0 for none. */
export const unlessLate: string = `${clock}
local notAfterUs = tonumber(ARGV[2])
if notAfterUs > 0 and nowUs > notAfterUs then return {'late', nowUs} end
`;

/**
 * What mutex and write lock share. The short way stands first: the rest is not even defined there. `fields`: for `takeFree`; `look` and
 * `put`: of the kind.
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
 * Takes a mutex or stands in line for it.
 *
 * Keys: lock, token, waiters, alive, run. Arguments: owner, not after (us, 0 for none), token floor, lease ms, may wait (1; 2 only first
 * behind a holder that may keep the lock), alive window ms, token TTL ms, channel of changes, and 1 where the grant of a free lock has to come
 * with the token before its own. Answer of the short way: server time in us alone, which is the token, for the whole lease; of an owner that was
 * appended behind others: server time in us, last token and position, three numbers; else granted (token, PTTL, perhaps the token before) /
 * queued (PTTL and name of the holder, last token, position, whether appended now) / busy / late / conflict (what was found); server time in
 * each.
 *
 * As Redisson's: one field with the count 1 and the lease as TTL, refused with the PTTL. Unlike it: writes the count absolutely
 * and extends nothing when asked again by the holder, so the request may be sent twice; refuses the hash of a read-write
 * lock and what is no lock; raises the token that `RFencedLock` uses; does not pass live waiters of ours.
 */
export const mutexAcquire: CallScript<StandArgs, StandAnswer> = {
  name: "mutex-acquire",
  keyCount: 5,
  lua: acquireLua(mutexFields("ARGV[1]"), lookAtMutex, putMutex),
  args: (given) => standArgs(given, given.changes),
  parse: acquireReader("mutex-acquire"),
};
