import type { RedissonPublish } from "../../layout/channels.js";
import { clock } from "../lua/clock.js";
import { mutexState } from "../lua/mutex-state.js";
import { nudge, publish } from "../lua/publish.js";
import { firstWaiter } from "../lua/waiters.js";
import { answerReader, type CallScript, nothingMore } from "../script.js";
import { type Conflict, conflictPart } from "./answers.js";

export interface ForceArgs {
  /** The owner that must be the holder; `""` for any. */
  readonly expected: string;
  readonly publish: RedissonPublish;
  readonly channel: string;
  readonly changes: string;
}

export type ForceAnswer =
  | {
      readonly status: "forced";
      readonly serverMs: number;
      readonly holder: string;
      /** Whether a message is sent to the holder. None is sent to a holder of Redisson's. */
      readonly told: boolean;
      readonly publishError: string;
    }
  | { readonly status: "free"; readonly serverMs: number }
  | { readonly status: "other"; readonly serverMs: number; readonly holder: string }
  | Conflict;

export function forceReader(script: string): (raw: unknown) => ForceAnswer {
  return answerReader<ForceAnswer>(script, {
    forced: (reply) => ({ holder: reply.text(), told: reply.flag(), publishError: reply.text() }),
    free: nothingMore,
    other: (reply) => ({ holder: reply.text() }),
    conflict: conflictPart,
  });
}

/**
 * Frees a mutex by an operator's order, although it is held.
 *
 * Keys: lock, token, waiters, alive, run. Arguments: the holder it must be (empty for any), how to publish, Redisson's channel,
 * channel of changes. Answer: forced (holder, whether a message is sent to it, publish error) / free / other (holder) / conflict;
 * server time in each.
 *
 * As Redisson's: the key is deleted, and `0` is published on its channel if there was a holder. A holder of ours gets the message
 * `stolen`, our first waiter a nudge. No waiter is made the holder, so that the operator sees the lock free.
 */
export const mutexForce: CallScript<ForceArgs, ForceAnswer> = {
  name: "mutex-force",
  keyCount: 5,
  lua: `${clock}${publish}${nudge}${firstWaiter}${mutexState}
local k = {lock = KEYS[1], token = KEYS[2], waiters = KEYS[3], alive = KEYS[4], run = KEYS[5]}
local state, holder = look(k.lock)
if state == 'conflict' then return {'conflict', nowUs, holder} end
if state == 'free' then return {'free', nowUs} end
if ARGV[1] ~= '' and ARGV[1] ~= holder then return {'other', nowUs, holder} end
local head = liveHead(k)
redis.call('DEL', k.lock)
redis.call('DEL', k.run)
tellOwner(holder, {type = 'stolen', key = k.lock, owner = holder})
tellRedisson(ARGV[2], ARGV[3], '0')
nudge(k, head)
if ARGV[4] ~= '' then say('PUBLISH', ARGV[4], '1') end
return {'forced', nowUs, holder, channelOf(holder) and 1 or 0, mute}
`,
  args: (given) => [given.expected, given.publish, given.channel, given.changes],
  parse: forceReader("mutex-force"),
};
