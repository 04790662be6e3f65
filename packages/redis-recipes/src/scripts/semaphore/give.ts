import type { RedissonPublish } from "../../layout/channels.js";
import { clock } from "../lua/clock.js";
import { evenWhenFull } from "../lua/even-when-full.js";
import { permits } from "../lua/permits.js";
import { publish } from "../lua/publish.js";
import { type Conflict, conflictPart } from "../mutex/answers.js";
import { answerReader, type CallScript, nothingMore } from "../script.js";

export interface GiveArgs {
  readonly permits: number;
  readonly markerMs: number;
  readonly publish: RedissonPublish;
  readonly channel: string;
}

export type GiveAnswer =
  | {
      readonly status: "given";
      readonly serverMs: number;
      readonly free: number;
      readonly publishError: string;
    }
  /** The permits were given back before, or nothing was taken. */
  | { readonly status: "nothing"; readonly serverMs: number }
  | Conflict;

const readGive = answerReader<GiveAnswer>("semaphore-give", {
  given: (reply) => ({ free: reply.integer(), publishError: reply.text() }),
  nothing: nothingMore,
  conflict: conflictPart,
});

/**
 * Gives back the permits of one take. It is also the last request of that take.
 *
 * Keys: permits, marker of the take. Arguments: how many, life of the marker ms, how to publish, Redisson's channel. Answer: given (free, publish error) / nothing / conflict; server time in each.
 *
 * As Redisson's: the number is counted up without a limit, made where it is missing, and published. Unlike Redisson's, it gives
 * back only what the marker shows as taken, and only once, however often the request is sent.
 */
export const semaphoreGive: CallScript<GiveArgs, GiveAnswer> = {
  name: "semaphore-give",
  keyCount: 2,
  lua: `${evenWhenFull}${clock}${publish}${permits}
local free, found = permitsAt(KEYS[1])
if free == nil then return {'conflict', nowUs, found} end
local marker = redis.call('GET', KEYS[2])
redis.call('SET', KEYS[2], 'ended', 'PX', ARGV[2])
if marker ~= 'taken' then return {'nothing', nowUs} end
local value = redis.call('INCRBY', KEYS[1], ARGV[1])
tellPermits(ARGV[3], ARGV[4], value)
return {'given', nowUs, value, mute}
`,
  args: (given) => [given.permits, given.markerMs, given.publish, given.channel],
  parse: readGive,
};
