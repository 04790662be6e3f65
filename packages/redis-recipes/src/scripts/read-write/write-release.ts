import { clock } from "../lua/clock.js";
import { passOn } from "../lua/pass-on.js";
import { publish } from "../lua/publish.js";
import { endWrite, readWriteState } from "../lua/read-write-state.js";
import { token } from "../lua/token.js";
import { waiters } from "../lua/waiters.js";
import { type Gone, type Passed, readPassed } from "../mutex/answers.js";
import { type PassArgs, passArgs, passOptions, type ReleaseArgs } from "../mutex/release.js";
import { type CallScript, Reply } from "../script.js";

/** How long our readers may pass a waiting writer of ours after a release that freed the lock for all. */
export interface TurnArgs {
  readonly readersTurnMs: number;
}

export interface WriteReleaseArgs extends ReleaseArgs, TurnArgs {}

/** The owner still reads: waiting readers were told. */
export interface Downgraded {
  readonly status: "downgraded";
  readonly serverMs: number;
  readonly publishError: string;
}

export type WriteReleaseAnswer = Passed | Gone | Downgraded;

export function writeEndArgs(given: PassArgs & TurnArgs): (string | number)[] {
  return [...passArgs(given), given.readersTurnMs];
}

export function readEnded(script: string, raw: unknown): WriteReleaseAnswer {
  const reply = new Reply(script, raw);
  const status = reply.text();
  const serverMs = reply.serverMs();
  if (status === "gone") return reply.end({ status, serverMs });
  if (status === "handed" || status === "freed") return readPassed(reply, status, serverMs);
  if (status !== "downgraded") throw reply.unknownStatus(status);
  reply.text();
  return reply.end({ status, serverMs, publishError: reply.text() });
}

/**
 * Ends a write hold: hands it to the next live writer of ours, or frees the lock; where the same owner also reads, it stays as a reader.
 *
 * Keys: lock, token, waiters, alive, run. Arguments: as `mutex-release`, then how long readers may pass our waiting writers (ms). Answer:
 * handed / freed / downgraded / gone; server time in each.
 *
 * As Redisson's: `1` on its channel when freed, `mode` `read` on a downgrade. Unlike it, a downgrade publishes `1` too, since waiting
 * readers would else come in at the end of a lease only.
 */
export const writeRelease: CallScript<WriteReleaseArgs, WriteReleaseAnswer> = {
  name: "write-release",
  keyCount: 5,
  lua: `${clock}${publish}${token}${waiters}${readWriteState}${passOn}${endWrite}${passOptions}
opts.turnMs = tonumber(ARGV[9])
local state, holder, mode = look(k.lock, ARGV[1])
if state ~= 'held' or mode ~= 'write' or holder ~= ARGV[1] then return {'gone', nowUs} end
return endWrite(k, ARGV[1], opts)
`,
  args: (given) => [given.owner, ...writeEndArgs(given)],
  parse: (raw) => readEnded("write-release", raw),
};
