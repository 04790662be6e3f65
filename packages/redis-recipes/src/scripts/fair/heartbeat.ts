import { clock } from "../lua/clock.js";
import { evenWhenFull } from "../lua/even-when-full.js";
import { fairQueue, fairStand } from "../lua/fair.js";
import { mutexState } from "../lua/mutex-state.js";
import { publish } from "../lua/publish.js";
import { token } from "../lua/token.js";
import { places } from "../lua/waiters.js";
import type { StandAnswer } from "../mutex/answers.js";
import { type HeartbeatArgs, type HeartbeatEntry, heartbeatArgs, standsReader } from "../mutex/heartbeat.js";
import type { BatchScript } from "../script.js";

export interface FairHeartbeatArgs extends Omit<HeartbeatArgs, "changes"> {
  readonly waitMs: number;
}

/**
 * Reports that waiting owners of one client are still there, raises their deadlines, and asks for each one whether it holds by
 * now.
 *
 * Keys of each entry: lock, token, queue, deadlines, alive. Arguments: alive window ms, claim lease ms, not after (us, 0 for none), token
 * TTL ms, the fleet's wait ms; then for each entry owner, wanted lease ms, token floor. Answer: for each entry as
 * `mutex-heartbeat`.
 *
 * All of these owners count as alive before the first queue is swept, and each queue is swept once in a call.
 *
 * Redisson's waiters write nothing while they wait, and lose their place when their deadline is over.
 */
export const fairHeartbeat: BatchScript<FairHeartbeatArgs, HeartbeatEntry, StandAnswer> = {
  name: "fair-heartbeat",
  keyCount: 5,
  lua: `${evenWhenFull}${clock}${publish}${token}${mutexState}${places}${fairQueue}${fairStand}
local late = tonumber(ARGV[3]) > 0 and nowUs > tonumber(ARGV[3])
local aliveMs, claimMs, tokenTtlMs, waitMs = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4]), tonumber(ARGV[5])
local entries, whole, swept, answers = {}, {}, {}, {}
for i = 0, #KEYS / 5 - 1 do
  if late then
    answers[i + 1] = {'late', nowUs}
  else
    local k = {lock = KEYS[5 * i + 1], token = KEYS[5 * i + 2], queue = KEYS[5 * i + 3],
      deadlines = KEYS[5 * i + 4], alive = KEYS[5 * i + 5]}
    local owner = ARGV[3 * i + 6]
    if whole[k.queue] == nil then whole[k.queue] = isWhole(k.queue, k.deadlines) end
    entries[i + 1] = {k = k, owner = owner, queued = stay(k, owner, aliveMs, whole[k.queue]), mayWait = true,
      grantMs = math.min(claimMs, tonumber(ARGV[3 * i + 7])), aliveMs = aliveMs, tokenTtlMs = tokenTtlMs,
      floor = tonumber(ARGV[3 * i + 8]), waitMs = waitMs}
  end
end
for i, ask in ipairs(entries) do
  local k = ask.k
  if not swept[k.queue] then sweep(k, waitMs, nil, aliveMs) end
  swept[k.queue] = true
  answers[i] = stand(k, ask, redis.call('LINDEX', k.queue, 0))
end
return answers
`,
  args: (common, entries) => heartbeatArgs(common, common.waitMs, entries),
  parse: standsReader("fair-heartbeat"),
};
