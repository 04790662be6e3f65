import type { RedissonPublish } from "../../layout/channels.js";
import { clock } from "../lua/clock.js";
import { fairQueue } from "../lua/fair.js";
import { mutexState } from "../lua/mutex-state.js";
import { publish } from "../lua/publish.js";
import { places } from "../lua/waiters.js";
import { type ReleaseAnswer, readRelease } from "../mutex/release.js";
import type { CallScript } from "../script.js";

export interface FairEndArgs {
  readonly owner: string;
  readonly waitMs: number;
  readonly publish: RedissonPublish;
  /** Redisson's channel of the mutex. The script appends `:<owner>` of the next waiter. */
  readonly channel: string;
}

export function fairEndArgs(given: FairEndArgs): (string | number)[] {
  return [given.owner, given.waitMs, given.publish, given.channel];
}

/**
 * Ends the owner's hold of a fair lock and sends a message to the head of the queue.
 *
 * Keys: lock, token, queue, deadlines, alive. Arguments: owner, the fleet's wait ms, how to publish, Redisson's channel. Answer: freed
 * (publish error) / gone; server time in each.
 *
 * As Redisson's: sweep first; the key is deleted; `0` is published on the channel of the new head, which stays in the queue until
 * it takes the lock itself. If the lock had expired, the head gets the message too, but the answer is `gone`, where Redisson
 * reports success.
 */
export const fairRelease: CallScript<FairEndArgs, ReleaseAnswer> = {
  name: "fair-release",
  keyCount: 5,
  lua: `${clock}${publish}${mutexState}${places}${fairQueue}
local k = {lock = KEYS[1], token = KEYS[2], queue = KEYS[3], deadlines = KEYS[4], alive = KEYS[5]}
local state, holder = look(k.lock)
local head = sweep(k, tonumber(ARGV[2]))
if state == 'held' and holder == ARGV[1] then
  redis.call('DEL', k.lock)
  poke(ARGV[3], ARGV[4], head)
  return {'freed', nowUs, mute}
end
if state == 'free' then poke(ARGV[3], ARGV[4], head) end
return {'gone', nowUs}
`,
  args: fairEndArgs,
  parse: (raw) => readRelease("fair-release", raw),
};
