import { clock } from "../lua/clock.js";
import { passOn } from "../lua/pass-on.js";
import { publish } from "../lua/publish.js";
import { readWriteState } from "../lua/read-write-state.js";
import { token } from "../lua/token.js";
import { waiters } from "../lua/waiters.js";
import { type Gone, type Passed, readPassed } from "../mutex/answers.js";
import { passOptions, type ReleaseArgs } from "../mutex/release.js";
import { type CallScript, Reply } from "../script.js";
import { type TurnArgs, writeEndArgs } from "./write-release.js";

export interface ReadReleaseArgs extends ReleaseArgs, TurnArgs {
  readonly holdPrefix: string;
}

/** Others read on, or the same owner writes on. */
export interface StillShared {
  readonly status: "shared";
  readonly serverMs: number;
}

export type ReadReleaseAnswer = Passed | Gone | StillShared;

function readReleased(raw: unknown): ReadReleaseAnswer {
  const reply = new Reply("read-release", raw);
  const status = reply.text();
  const serverMs = reply.serverMs();
  if (status === "gone" || status === "shared") return reply.end({ status, serverMs });
  if (status === "handed" || status === "freed") return readPassed(reply, status, serverMs);
  throw reply.unknownStatus(status);
}

/**
 * Ends a read hold, also one whose acquire had no answer: readers stand in no queue, so there is no other cancel. When it was the
 * last, our first live writer is next.
 *
 * Keys: lock, token, waiters, alive, run. Arguments: as `write-release`, then what read-hold keys begin with. Answer: handed / freed / shared /
 * gone; server time in each.
 *
 * As Redisson's: while others read, the hash lives as long as the longest of their holds; readers whose holds are all over do not count,
 * and go with the last live one; `0` on its channel when freed.
 */
export const readRelease: CallScript<ReadReleaseArgs, ReadReleaseAnswer> = {
  name: "read-release",
  keyCount: 5,
  lua: `${clock}${publish}${token}${waiters}${readWriteState}${passOn}${passOptions}
opts.turnMs = tonumber(ARGV[9])
local state, _, mode = look(k.lock, ARGV[1])
if state ~= 'held' or redis.call('HEXISTS', k.lock, ARGV[1]) == 0 then return {'gone', nowUs} end
redis.call('HDEL', k.lock, ARGV[1])
redis.call('DEL', holdOf(ARGV[10], ARGV[1], 1))
local longest = 0
local fields = redis.call('HGETALL', k.lock)
for i = 1, #fields, 2 do
  if fields[i] ~= 'mode' then
    for level = 1, tonumber(fields[i + 1]) or 0 do
      longest = math.max(longest, redis.call('PTTL', holdOf(ARGV[10], fields[i], level)))
    end
  end
end
if longest > 0 then
  redis.call('PEXPIRE', k.lock, longest)
  return {'shared', nowUs}
end
if mode == 'write' then return {'shared', nowUs} end
return passOn(k, opts)
`,
  args: (given) => [given.owner, ...writeEndArgs(given), given.holdPrefix],
  parse: readReleased,
};
