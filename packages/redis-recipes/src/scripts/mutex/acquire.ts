import { clock } from "../lua/clock.js";
import { lookAtMutex, putMutex } from "../lua/mutex-state.js";
import { publish } from "../lua/publish.js";
import { stand } from "../lua/stand.js";
import { takeFree } from "../lua/take-free.js";
import { token } from "../lua/token.js";
import { waiters } from "../lua/waiters.js";
import { type CallScript, notAfterUs } from "../script.js";
import { type StandAnswer, standReader } from "./answers.js";

export interface StandArgs {
  readonly owner: string;
  readonly leaseMs: number;
  /** `false`: nothing is left in the queue. */
  readonly mayWait: boolean;
  /** Of a request that may not wait: it stands first behind a holder whose provider may keep the lock. Default `false`. */
  readonly asksKeeper?: boolean;
  /** A grant of a free lock tells the token before its own. Default `false`. */
  readonly tellsBefore?: boolean;
  /** How long a waiter counts as alive after it was heard. */
  readonly aliveMs: number;
  /** Server time after which this request does nothing; `null` for none. */
  readonly notAfterMs: number | null;
  /** 0 keeps the token key for ever. */
  readonly tokenTtlMs: number;
  /** The highest token that this client has seen for the lock. */
  readonly floor: bigint;
  /** A channel of ours that is told of each change of holder; `""` for none. */
  readonly changes: string;
}

/** `last`: what follows the arguments that all kinds of lock have. */
export function standArgs(given: Omit<StandArgs, "changes">, last: string | number): (string | number)[] {
  return [
    given.owner,
    given.leaseMs,
    given.mayWait ? 1 : given.asksKeeper === true ? 2 : 0,
    given.aliveMs,
    notAfterUs(given.notAfterMs),
    given.tokenTtlMs,
    String(given.floor),
    last,
    ...(given.tellsBefore === true ? [1] : []),
  ];
}

/** What mutex and write lock share. `put` comes before it, `look` behind. The short way stands first: the rest is not even defined there. */
export const acquireStart: string = `${takeFree}
if tonumber(ARGV[5]) > 0 and nowUs > tonumber(ARGV[5]) then return {'late', nowUs} end
local k = {lock = KEYS[1], token = KEYS[2], waiters = KEYS[3], alive = KEYS[4], run = KEYS[5]}
local ask = {owner = ARGV[1], leaseMs = tonumber(ARGV[2]), grantMs = tonumber(ARGV[2]), mayWait = ARGV[3] == '1',
  asksKeeper = ARGV[3] == '2', tellsBefore = ARGV[9] == '1', aliveMs = tonumber(ARGV[4]), tokenTtlMs = tonumber(ARGV[6]), floor = tonumber(ARGV[7]), changes = ARGV[8]}
local taken = takeFree(k, ask)
if taken then return taken end
`;

/** Behind `look`. */
export const acquireRest: string = `${publish}${token}${waiters}${stand}
return stand(k, ask)
`;

/**
 * Takes a mutex or stands in line for it.
 *
 * Keys: lock, token, waiters, alive, run. Arguments: owner, lease ms, may wait (1; 2 only first behind a holder that may keep the lock), alive
 * window ms, not after (us, 0 for none), token TTL ms, token floor, channel of changes, and 1 where a grant of a free lock tells the token
 * before its own. Answer: granted (token, PTTL, perhaps the token before) / queued (PTTL and name of the holder, last token, position, whether
 * appended now) / busy / late / conflict (what was found); server time in each.
 *
 * As Redisson's: one field with the count 1 and the lease as TTL, refused with the PTTL. Unlike it: writes the count absolutely
 * and extends nothing when asked again by the holder, so the request may be sent twice; refuses the hash of a read-write
 * lock and what is no lock; raises the token that `RFencedLock` uses; does not pass live waiters of ours.
 */
export const mutexAcquire: CallScript<StandArgs, StandAnswer> = {
  name: "mutex-acquire",
  keyCount: 5,
  lua: clock + putMutex + acquireStart + lookAtMutex + acquireRest,
  args: (given) => standArgs(given, given.changes),
  parse: standReader("mutex-acquire"),
};
