import { clock } from "../lua/clock.js";
import { evenWhenFull } from "../lua/even-when-full.js";
import { firstWaiter } from "../lua/waiters.js";
import { type CallScript, Reply } from "../script.js";

/**
 * What is also looked at. `lock`: how long the lock is still held. `first`: whether one of the owners is first in the queue, from
 * which dead waiters in front are dropped: otherwise no waiter behind them would listen to Java, as the first one does. `life`: whether the keys of the queue have at least half of their TTL left and are of the same size. If `lock` shows a hold
 * that ends soon, the first owner is looked for as well, since it sets a timer for that end.
 */
export type StayLook = "lock" | "first" | "life";

/** The waiters of one lock. */
export interface StayEntry {
  readonly look: StayLook;
  readonly owners: readonly string[];
}

export interface StayArgs {
  readonly aliveMs: number;
  readonly entries: readonly StayEntry[];
}

export interface StayAnswer {
  readonly serverMs: number;
  /**
   * For each owner, in order: whether it waits as before. `false`: it has to find out by a heartbeat what has become of its
   * place.
   */
  readonly stays: readonly boolean[];
}

/**
 * Reports that waiting owners of one client, which are behind others, are still there. It grants nothing, so it needs no time
 * limit: a late copy keeps a place for one more alive window. An owner that was granted or dropped is no longer in the set.
 *
 * Keys of each lock: lock, waiters, alive. Arguments: alive window ms; then for each lock what to look at, how many owners, and
 * these. Answer: server time; for each owner 1, or 0 if it has to ask. An owner has to ask if it is not in the set, if it is
 * first, or if the lock is free. If the keys of the queue will expire soon, the first owner of the call has to ask, which extends
 * them. If list and set differ in size, as after the loss of one key, all owners have to ask: an owner that is only in the set is
 * never granted.
 *
 * Two commands for each lock, however many owners wait, three for `first`, and four for `life`. Dead waiters that are dropped cost
 * more. The owners are checked one by one only if one is missing.
 */
export const stay: CallScript<StayArgs, StayAnswer> = {
  name: "stay",
  keyCount: 3,
  lua: `${evenWhenFull}${clock}${firstWaiter}
local aliveMs = tonumber(ARGV[1])
local untilMs = nowMs + aliveMs
local stays, at = {}, 2
for i = 0, #KEYS / 3 - 1 do
  local lock, waiters, alive = KEYS[3 * i + 1], KEYS[3 * i + 2], KEYS[3 * i + 3]
  local look, count = ARGV[at], tonumber(ARGV[at + 1])
  local left = look == 'lock' and redis.call('PTTL', lock) or -1
  local free = left == -2
  local looksFirst = look == 'first' or (left >= 0 and left < aliveMs)
  local ending = look == 'life' and redis.call('PTTL', waiters) < 5 * aliveMs
  local whole = look ~= 'life' or redis.call('LLEN', waiters) == redis.call('ZCARD', alive)
  local scored = {}
  for each = 1, count do
    scored[2 * each - 1] = untilMs
    scored[2 * each] = ARGV[at + 1 + each]
  end
  local all = redis.call('ZADD', alive, 'XX', 'CH', unpack(scored)) == count
  local first = looksFirst and liveHead({waiters = waiters, alive = alive})
  for each = 1, count do
    local owner = ARGV[at + 1 + each]
    local there = all or tonumber(redis.call('ZSCORE', alive, owner) or '0') == untilMs
    local asks = free or not whole or owner == first or (ending and each == 1)
    stays[#stays + 1] = there and not asks and 1 or 0
  end
  at = at + 2 + count
end
return {nowUs, stays}
`,
  args: ({ aliveMs, entries }) => [
    aliveMs,
    ...entries.flatMap(({ look, owners }) => [look, owners.length, ...owners]),
  ],
  parse: (raw) => {
    const reply = new Reply("stay", raw);
    const serverMs = reply.serverMs();
    return reply.end({ serverMs, stays: reply.list().map((each) => each === 1) });
  },
};
