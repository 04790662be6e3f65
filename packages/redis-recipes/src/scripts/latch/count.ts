import type { RedissonPublish } from "../../layout/channels.js";
import { clock } from "../lua/clock.js";
import { permits } from "../lua/permits.js";
import { publish } from "../lua/publish.js";
import { type Conflict, conflictPart, type Late } from "../mutex/answers.js";
import { answerReader, type CallScript, notAfterUs, nothingMore } from "../script.js";

export interface LatchArgs {
  /** `down` counts down, `set` sets the count where nothing above zero is set, `read` changes nothing. */
  readonly action: "down" | "set" | "read";
  readonly count: number;
  readonly publish: RedissonPublish;
  readonly channel: string;
  /**
   * Without this limit a late copy, from a connection that was given up long ago, would count after its caller may have looked
   * and counted again.
   */
  readonly notAfterMs: number | null;
}

export type LatchAnswer =
  | {
      readonly status: "counted";
      readonly serverMs: number;
      readonly changed: boolean;
      /** The count after the call; never below zero. */
      readonly count: number;
      readonly publishError: string;
    }
  | Late
  | Conflict;

const readLatch = answerReader<LatchAnswer>("latch-count", {
  counted: (reply) => ({ changed: reply.flag(), count: reply.integer(), publishError: reply.text() }),
  late: nothingMore,
  conflict: conflictPart,
});

/**
 * All requests to a countdown latch.
 *
 * Keys: the count. Arguments: action, number, how to publish, Redisson's channel, not after (us, 0 for none). Answer: counted
 * (whether changed, count, publish error) / late / conflict; server time in each. Not safe to send again: nothing is kept by
 * which two countdowns could be told apart.
 *
 * As Redisson's: when the count is zero, the key is deleted and `0` is published; `1` is published when a count is set. Unlike
 * Redisson's: it can count down by any number; no key is made and removed where there is none; a count of zero or less, which
 * Redisson can leave, may be set anew.
 */
export const latchCount: CallScript<LatchArgs, LatchAnswer> = {
  name: "latch-count",
  keyCount: 1,
  lua: `${clock}${publish}${permits}
if tonumber(ARGV[5]) > 0 and nowUs > tonumber(ARGV[5]) then return {'late', nowUs} end
local count, found = permitsAt(KEYS[1])
if count == nil then return {'conflict', nowUs, found} end
count = count or 0
local number, changed = tonumber(ARGV[2]), 0
if ARGV[1] == 'down' and count > 0 then
  changed = 1
  if count > number then
    count = redis.call('DECRBY', KEYS[1], number)
  else
    count = 0
    redis.call('DEL', KEYS[1])
    tellRedisson(ARGV[3], ARGV[4], '0')
  end
elseif ARGV[1] == 'set' and count <= 0 then
  changed = 1
  count = number
  if number > 0 then redis.call('SET', KEYS[1], ARGV[2]) else redis.call('DEL', KEYS[1]) end
  tellRedisson(ARGV[3], ARGV[4], number > 0 and '1' or '0')
end
return {'counted', nowUs, changed, math.max(0, count), mute}
`,
  args: (given) => [given.action, given.count, given.publish, given.channel, notAfterUs(given.notAfterMs)],
  parse: readLatch,
};
