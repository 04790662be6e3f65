import { clock } from "../lua/clock.js";
import { mutexState } from "../lua/mutex-state.js";
import { type ReleaseAnswer, readRelease } from "../mutex/release.js";
import type { CallScript } from "../script.js";

/**
 * Ends the owner's hold without a message. Also the last request of an acquire that was not answered.
 *
 * Keys: lock. Arguments: owner. Answer: freed (no publish error) / gone; server time in each. As Redisson's spin lock: the key is
 * deleted, and nothing is published.
 */
export const spinRelease: CallScript<{ readonly owner: string }, ReleaseAnswer> = {
  name: "spin-release",
  keyCount: 1,
  lua: `${clock}${mutexState}
local state, holder = look(KEYS[1])
if state ~= 'held' or holder ~= ARGV[1] then return {'gone', nowUs} end
redis.call('DEL', KEYS[1])
return {'freed', nowUs, ''}
`,
  args: (given) => [given.owner],
  parse: (raw) => readRelease("spin-release", raw),
};
