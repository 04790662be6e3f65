import { evenWhenFull } from "./lua/even-when-full.js";
import { ReplyShapeError, type Script } from "./script.js";

/**
 * Writes one of its keys again without a change: the first string, such as the token, or else the remaining time of a key.
 * Answers whether it found such a key.
 *
 * From Redis 7.2 on, WAIT asks the replicas for the last write of the connection. If a script wrote nothing, such as the second
 * copy of an acquire, that is an older write, which replicas without the grant may have too.
 */
export const writeAgain: Script<boolean> = {
  name: "write-again",
  keyCount: 1,
  lua: `${evenWhenFull}
for _, key in ipairs(KEYS) do
  local text = redis.pcall('GET', key)
  if type(text) == 'string' then
    redis.call('SET', key, text, 'KEEPTTL')
    return 1
  end
end
for _, key in ipairs(KEYS) do
  local left = redis.call('PTTL', key)
  if left > 0 then
    redis.call('PEXPIRE', key, left)
    return 1
  end
end
return 0
`,
  parse(raw) {
    if (raw !== 0 && raw !== 1) throw new ReplyShapeError("write-again", "neither 0 nor 1", raw);
    return raw === 1;
  },
};
