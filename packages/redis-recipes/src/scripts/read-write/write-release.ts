import { clock } from "../lua/clock.js";
import { passOn } from "../lua/pass-on.js";
import { messages } from "../lua/publish.js";
import { endWrite, putWriter } from "../lua/read-write-state.js";
import { firstWaiter } from "../lua/waiters.js";
import { type Gone, type Passed, readHanded, readPassed } from "../mutex/answers.js";
import {
  endHold,
  freedAlone,
  type PassArgs,
  passArgs,
  passOptions,
  type ReleaseArgs,
  runIdAt,
} from "../mutex/release.js";
import { type CallScript, Reply } from "../script.js";

/** How long our readers may pass a waiting writer of ours, after a release that freed the lock for all. */
export interface TurnArgs {
  readonly readersTurnMs: number;
}

export interface WriteReleaseArgs extends ReleaseArgs, TurnArgs {}

/** The owner still reads, and a message was published to waiting readers. */
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
  if (raw === 1) return freedAlone;
  const handed = readHanded(raw);
  if (handed !== null) return handed;
  const reply = new Reply(script, raw);
  const status = reply.text();
  const serverMs = reply.serverMs();
  if (status === "gone") return reply.end({ status, serverMs });
  if (status === "handed" || status === "freed") return readPassed(reply, status, serverMs);
  if (status !== "downgraded") throw reply.unknownStatus(status);
  return reply.end({ status, serverMs, publishError: reply.text() });
}

/**
 * Ends a write hold: hands the lock to our next live writer, or frees it. If the same owner also reads, it stays as a reader.
 *
 * Keys: lock, token, waiters, alive, run. Arguments: as `mutex-release`, then how long readers may pass our waiting writers (ms). Answer:
 * one number as there, or handed / freed / downgraded / gone; server time in each.
 *
 * As Redisson's: `1` is published on its channel when the lock is freed, and `mode` becomes `read` on a downgrade. Unlike
 * Redisson's, a downgrade publishes `1` too: without it, waiting readers would enter only at the end of a lease.
 *
 * The short way, as in `mutex-release`, applies if there is no queue, no run of hand-offs, and only the mode is left in the hash.
 * The mode is removed last.
 */
export const writeRelease: CallScript<WriteReleaseArgs, WriteReleaseAnswer> = {
  name: "write-release",
  keyCount: 5,
  runIdAt,
  lua: `${endHold({
    field: "ARGV[1] .. ':write'",
    free: `redis.call('EXISTS', KEYS[3], KEYS[5]) == 0 and redis.call('HLEN', KEYS[1]) == 1
    and redis.call('HDEL', KEYS[1], 'mode') == 1`,
    message: "1",
  })}${clock}
if ended ~= 1 or redis.call('HGET', KEYS[1], 'mode') ~= 'write' then return {'gone', nowUs} end
${messages}${firstWaiter}${putWriter}${passOn}${endWrite}${passOptions}
opts.turnMs = tonumber(ARGV[10])
return endWrite(k, opts)
`,
  args: (given) => [given.owner, ...writeEndArgs(given)],
  parse: (raw) => readEnded("write-release", raw),
};
