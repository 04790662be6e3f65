import { clock } from "../lua/clock.js";
import { publish } from "../lua/publish.js";
import { type CallScript, notAfterUs, Reply } from "../script.js";

export interface DoubleBarrierArgs {
  /** `enter` makes or keeps an entry, `stay` keeps an existing one, `leave` removes it, `read` only looks. */
  readonly action: "enter" | "stay" | "leave" | "read";
  readonly member: string;
  readonly parties: number;
  /** How long a member counts as present after its last request. */
  readonly aliveMs: number;
  readonly notAfterMs: number | null;
  readonly changes: string;
}

export interface DoubleBarrierAnswer {
  /** `gone`: `stay` or `leave` found no entry. */
  readonly status: "done" | "gone" | "late";
  readonly serverMs: number;
  /** Once the barrier was full, this stays `true` until the last member has left. */
  readonly full: boolean;
  /** The members that are in now, without dead ones. Of the answers to `enter` and `stay`: the member alone, if it is in. */
  readonly members: readonly string[];
  readonly publishError: string;
}

/** No longer than this does a request keep the time that the keys have already. */
const mostKeptMs = 600_000;

/**
 * All requests to a double barrier. Safe to send again.
 *
 * Keys: full, members. Arguments: action, member, parties, alive window ms, not after (us, 0 for none), channel of changes.
 * Answer: status, server time, whether full, members, publish error. Both keys expire ten alive windows after the last `enter` or
 * `stay`. No request shortens their time below ten minutes, since other members may have longer windows. A longer time may come from
 * a server's clock that was set back, and dead members would stay for as long. Members are not listed for `enter` and `stay`, which
 * each of them sends all the time. Redisson has no double barrier.
 */
export const doubleBarrier: CallScript<DoubleBarrierArgs, DoubleBarrierAnswer> = {
  name: "double-barrier",
  keyCount: 2,
  lua: `${clock}${publish}
local action, member, aliveMs = ARGV[1], ARGV[2], tonumber(ARGV[4])
local changed = redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', nowMs) > 0
local status = 'done'
if redis.call('ZCARD', KEYS[2]) == 0 and redis.call('DEL', KEYS[1]) == 1 then changed = true end
if tonumber(ARGV[5]) > 0 and nowUs > tonumber(ARGV[5]) then
  status = 'late'
elseif action == 'leave' then
  if redis.call('ZREM', KEYS[2], member) == 1 then changed = true else status = 'gone' end
  if redis.call('ZCARD', KEYS[2]) == 0 then redis.call('DEL', KEYS[1]) end
elseif action == 'stay' and not redis.call('ZSCORE', KEYS[2], member) then
  status = 'gone'
elseif action == 'enter' or action == 'stay' then
  if redis.call('ZADD', KEYS[2], nowMs + aliveMs, member) == 1 then changed = true end
  if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[3]) and redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('SET', KEYS[1], '1')
    changed = true
  end
  local keepMs = math.max(10 * aliveMs, math.min(redis.call('PTTL', KEYS[2]), ${mostKeptMs}))
  redis.call('PEXPIRE', KEYS[1], keepMs)
  redis.call('PEXPIRE', KEYS[2], keepMs)
end
if changed then say('PUBLISH', ARGV[6], '1') end
local members = {}
if action == 'leave' or action == 'read' then
  members = redis.call('ZRANGE', KEYS[2], 0, -1)
  table.sort(members)
elseif redis.call('ZSCORE', KEYS[2], member) then
  members = {member}
end
return {status, nowUs, redis.call('EXISTS', KEYS[1]), members, mute}
`,
  args: (given) => [
    given.action,
    given.member,
    given.parties,
    given.aliveMs,
    notAfterUs(given.notAfterMs),
    given.changes,
  ],
  parse: (raw) => {
    const reply = new Reply("double-barrier", raw);
    const status = reply.text();
    if (status !== "done" && status !== "gone" && status !== "late") throw reply.unknownStatus(status);
    return reply.end({
      status,
      serverMs: reply.serverMs(),
      full: reply.flag(),
      members: reply.texts(),
      publishError: reply.text(),
    });
  },
};
