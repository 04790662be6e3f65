import { fairQueue, fairStand } from "../lua/fair.js";
import { mutexState } from "../lua/mutex-state.js";
import { publish } from "../lua/publish.js";
import { token } from "../lua/token.js";
import { places } from "../lua/waiters.js";
import { type StandArgs, standArgs, unlessLate } from "../mutex/acquire.js";
import { type StandAnswer, standReader } from "../mutex/answers.js";
import type { CallScript } from "../script.js";

export interface FairStandArgs extends Omit<StandArgs, "changes"> {
  /** Redisson's `fairLockWaitTimeout`; it must be the same in the whole fleet. */
  readonly waitMs: number;
}

/**
 * Takes a fair lock, or enters Redisson's queue for it.
 *
 * Keys: lock, token, queue, deadlines, alive. Arguments: owner, not after (us, 0 for none), token floor, lease ms, may wait, alive
 * window ms, token TTL ms, the fleet's wait ms. Answer: as `mutex-acquire`.
 *
 * As Redisson's: sweep, order, deadlines at the entry into the queue, and a whole wait taken off all other deadlines at a grant.
 * Unlike Redisson's: it uses server time and has no re-entry; a live waiter gets a later deadline instead of losing its place;
 * our dead waiters are removed at once.
 */
export const fairAcquire: CallScript<FairStandArgs, StandAnswer> = {
  name: "fair-acquire",
  keyCount: 5,
  lua: `${unlessLate}${publish}${token}${mutexState}${places}${fairQueue}${fairStand}
local k = {lock = KEYS[1], token = KEYS[2], queue = KEYS[3], deadlines = KEYS[4], alive = KEYS[5]}
local queued = stay(k, ARGV[1], tonumber(ARGV[6]))
return stand(k, {owner = ARGV[1], queued = queued, grantMs = tonumber(ARGV[4]), mayWait = ARGV[5] == '1',
  aliveMs = tonumber(ARGV[6]), tokenTtlMs = tonumber(ARGV[7]), floor = tonumber(ARGV[3]), waitMs = tonumber(ARGV[8])},
  sweep(k, tonumber(ARGV[8]), nil, tonumber(ARGV[6])))
`,
  args: (given) => standArgs(given, given.waitMs),
  parse: standReader("fair-acquire"),
};
