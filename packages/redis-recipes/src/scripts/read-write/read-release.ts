import { clock } from "../lua/clock.js";
import { passOn } from "../lua/pass-on.js";
import { messages } from "../lua/publish.js";
import { mostLevels, readWriteState } from "../lua/read-write-state.js";
import { firstWaiter } from "../lua/waiters.js";
import { type Gone, type Passed, readHanded, readPassed } from "../mutex/answers.js";
import { passOptions, type ReleaseArgs, runIdAt } from "../mutex/release.js";
import { type CallScript, Reply } from "../script.js";
import { type TurnArgs, writeEndArgs } from "./write-release.js";

export interface ReadReleaseArgs extends ReleaseArgs, TurnArgs {
  readonly holdPrefix: string;
  /** As in `ReadArgs`. */
  readonly readNumber: number;
}

/** Other readers still hold, or the same owner still writes, or has a later read. */
export interface StillShared {
  readonly status: "shared";
  readonly serverMs: number;
}

export type ReadReleaseAnswer = Passed | Gone | StillShared;

function readReleased(raw: unknown): ReadReleaseAnswer {
  const handed = readHanded(raw);
  if (handed !== null) return handed;
  const reply = new Reply("read-release", raw);
  const status = reply.text();
  const serverMs = reply.serverMs();
  if (status === "gone" || status === "shared") return reply.end({ status, serverMs });
  if (status === "handed" || status === "freed") return readPassed(reply, status, serverMs);
  throw reply.unknownStatus(status);
}

/** If there are no more other readers than this, all of them are read when one ends. */
const nearReaders = 100;

/**
 * Ends a read hold, also one whose acquire was not answered: readers are in no queue, so there is no other cancel. If it was the
 * last hold, our first live writer is next.
 *
 * Keys: lock, token, waiters, alive, run, the hold's own. Arguments: as `write-release`, then the start of read-hold keys
 * and the number of the read.
 * Answer: the server time alone if the lock was handed over, else handed / freed / shared / gone; server time in each.
 *
 * As Redisson's: while others read, the hash lives as long as the longest of their holds. Readers whose holds are all over do not
 * count, and are removed with the last live one. `0` is published on its channel when the lock is freed.
 *
 * Among more than 100 other readers it is enough to find a live one. The hash then keeps its TTL, which is never less than any
 * reader's, so it may outlive the last reader by what this hold had left. The same holds beside a reader that has entered more
 * often than is looked at.
 *
 * 100 readers are drawn at random: if each ending reader listed all of them, a crowd that ends together would cost the square of
 * its size. All readers are listed only if none of the drawn ones is alive, or if the ACL user has no right to draw.
 *
 * Keys of other holds are not declared. While their slot is being moved to another node, reading one fails. So they are read
 * before the first write, and a key that cannot be read counts as alive for as long as the hash.
 */
export const readRelease: CallScript<ReadReleaseArgs, ReadReleaseAnswer> = {
  name: "read-release",
  keyCount: 6,
  runIdAt,
  lua: `${clock}${messages}${firstWaiter}${readWriteState}${passOn}${passOptions}
opts.turnMs = tonumber(ARGV[10])
local found = redis.pcall('HMGET', k.lock, 'mode', ARGV[1])
local mode = not found.err and found[2] and found[1]
if mode ~= 'read' and mode ~= 'write' then return {'gone', nowUs} end
local number = tonumber(ARGV[12])
if number > 1 and (tonumber(redis.call('GET', KEYS[6])) or 0) > number then return {'shared', nowUs} end
local ttl = redis.call('PTTL', k.lock)
if ttl < 0 then ttl = math.huge end
local longest, looks, all = 0, 0, true
local function lookAt(fields)
  for _, field in ipairs(fields) do
    if field ~= 'mode' and field ~= ARGV[1] then
      local count = tonumber(redis.call('HGET', k.lock, field)) or 0
      if count > ${mostLevels} then longest, count = math.max(longest, ttl), 0 end
      for level = 1, count do
        local left = redis.pcall('PTTL', holdOf(ARGV[11], field, level))
        longest = math.max(longest, type(left) == 'number' and left or ttl)
      end
      looks = looks + 1
      all = longest < ttl - 2 and (longest == 0 or looks < ${nearReaders})
      if not all then break end
    end
  end
end
local some = redis.call('HLEN', k.lock) > ${nearReaders} + 2 and redis.pcall('HRANDFIELD', k.lock, ${nearReaders})
if some and not some.err then lookAt(some) end
if longest == 0 then lookAt(redis.call('HKEYS', k.lock)) else all = false end
redis.call('HDEL', k.lock, ARGV[1])
redis.call('DEL', KEYS[6])
if longest > 0 then
  if all or longest > ttl then redis.call('PEXPIRE', k.lock, longest) end
  return {'shared', nowUs}
end
if mode == 'write' then return {'shared', nowUs} end
redis.call('DEL', k.lock)
return passOn(k, opts)
`,
  args: (given) => [given.owner, ...writeEndArgs(given), given.holdPrefix, given.readNumber],
  parse: readReleased,
};
