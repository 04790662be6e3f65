import type { RedissonPublish } from "../../layout/channels.js";
import { clock } from "../lua/clock.js";
import { fairQueue } from "../lua/fair.js";
import { mutexState } from "../lua/mutex-state.js";
import { publish } from "../lua/publish.js";
import { places } from "../lua/waiters.js";
import { type ForceAnswer, forceReader } from "../mutex/force.js";
import type { CallScript } from "../script.js";

export interface FairForceArgs {
  /** The owner that must be the holder; `""` for any. */
  readonly expected: string;
  readonly waitMs: number;
  readonly publish: RedissonPublish;
  readonly channel: string;
}

/**
 * Frees a fair lock by an operator's order, although it is held.
 *
 * Keys: lock, token, queue, deadlines, alive. Arguments: the holder it must be (empty for any), the fleet's wait ms, how to
 * publish, Redisson's channel. Answer: as `mutex-force`. As Redisson's: the queue is swept, the key deleted, and the head gets a
 * message. A holder of ours gets the message `stolen`.
 */
export const fairForce: CallScript<FairForceArgs, ForceAnswer> = {
  name: "fair-force",
  keyCount: 5,
  lua: `${clock}${publish}${mutexState}${places}${fairQueue}
local k = {lock = KEYS[1], token = KEYS[2], queue = KEYS[3], deadlines = KEYS[4], alive = KEYS[5]}
local state, holder = look(k.lock)
if state == 'conflict' then return {'conflict', nowUs, holder} end
if state == 'free' then return {'free', nowUs} end
if ARGV[1] ~= '' and ARGV[1] ~= holder then return {'other', nowUs, holder} end
local head = sweep(k, tonumber(ARGV[2]))
redis.call('DEL', k.lock)
tellOwner(holder, {type = 'stolen', key = k.lock, owner = holder})
poke(ARGV[3], ARGV[4], head)
return {'forced', nowUs, holder, channelOf(holder) and 1 or 0, mute}
`,
  args: (given) => [given.expected, given.waitMs, given.publish, given.channel],
  parse: forceReader("fair-force"),
};
