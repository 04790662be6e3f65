import type { RedissonPublish } from "../../layout/channels.js";
import { clock } from "../lua/clock.js";
import { permits } from "../lua/permits.js";
import { publish } from "../lua/publish.js";
import { type Conflict, conflictPart } from "../mutex/answers.js";
import { answerReader, type CallScript } from "../script.js";

/** `set`: only where no number is set. `add`: a number more, or less. `drain`: all that are free. */
export interface PermitsArgs {
  readonly action: "set" | "add" | "drain";
  readonly permits: number;
  readonly publish: RedissonPublish;
  readonly channel: string;
}

export type PermitsAnswer =
  | {
      readonly status: "changed";
      readonly serverMs: number;
      /** Before and after; 0 where no number was set. */
      readonly before: number;
      readonly free: number;
      readonly publishError: string;
    }
  | { readonly status: "unchanged"; readonly serverMs: number; readonly free: number }
  | Conflict;

const readPermits = answerReader<PermitsAnswer>("semaphore-permits", {
  changed: (reply) => ({ before: reply.integer(), free: reply.integer(), publishError: reply.text() }),
  unchanged: (reply) => ({ free: reply.integer() }),
  conflict: conflictPart,
});

/**
 * Changes how many permits of a semaphore without leases are free.
 *
 * Keys: permits. Arguments: action, how many, how to publish, Redisson's channel. Answer: changed (before, after, publish error) / unchanged (free) /
 * conflict; server time in each.
 *
 * As Redisson's `trySetPermits`, `addPermits` (drops a TTL; may go below zero) and `drainPermits`; the new number is published by the first two,
 * unless it is negative.
 */
export const semaphorePermits: CallScript<PermitsArgs, PermitsAnswer> = {
  name: "semaphore-permits",
  keyCount: 1,
  lua: `${clock}${publish}${permits}
local free, found = permitsAt(KEYS[1])
if free == nil then return {'conflict', nowUs, found} end
local before, after = free or 0, tonumber(ARGV[2])
if ARGV[1] == 'set' and free then return {'unchanged', nowUs, free} end
if ARGV[1] == 'add' then after = before + after end
if ARGV[1] == 'drain' then
  if not free then return {'unchanged', nowUs, 0} end
  after = 0
end
redis.call('SET', KEYS[1], string.format('%.0f', after))
if ARGV[1] ~= 'drain' then tellPermits(ARGV[3], ARGV[4], after) end
return {'changed', nowUs, before, after, mute}
`,
  args: (given) => [given.action, given.permits, given.publish, given.channel],
  parse: readPermits,
};
