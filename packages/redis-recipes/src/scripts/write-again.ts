import { evenWhenFull } from "./lua/even-when-full.js";
import { ReplyShapeError, type Script } from "./script.js";

/**
 * Writes one of its keys again as it is: a string, which the token is, or else the time that a key has left. Whether there was one.
 *
 * From Redis 7.2 on, WAIT asks the replicas for what the connection has written last. Behind a script that had nothing to write, such as a
 * second copy of an acquire, that is something older, which replicas without the grant have too.
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
