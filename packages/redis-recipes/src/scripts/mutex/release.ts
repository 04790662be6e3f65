import type { RedissonPublish } from "../../layout/channels.js";
import { clock } from "../lua/clock.js";
import { putMutex } from "../lua/mutex-state.js";
import { passOn } from "../lua/pass-on.js";
import { messages } from "../lua/publish.js";
import { firstWaiter } from "../lua/waiters.js";
import { type CallScript, Reply } from "../script.js";
import { type Gone, type Passed, readHanded, readPassed } from "./answers.js";

export interface PassArgs {
  readonly claimMs: number;
  readonly aliveMs: number;
  /** After this many direct hand-offs in a row, one release frees the lock for all; -1 for no limit. */
  readonly maxDirectRun: number;
  readonly tokenTtlMs: number;
  readonly publish: RedissonPublish;
  /** Redisson's channel of the lock. */
  readonly channel: string;
  readonly changes: string;
}

export function passArgs(given: PassArgs): (string | number)[] {
  return [
    given.claimMs,
    given.aliveMs,
    given.maxDirectRun,
    given.tokenTtlMs,
    given.publish,
    given.channel,
    given.changes,
    "",
  ];
}

/** The place, behind the owner, that `passArgs` leave for the run id. */
export const runIdAt = 8;

/**
 * Reads `passArgs`, with the run id, from the second argument on. The message differs between scripts: each one sets it for
 * `passOn`.
 */
export const passOptions = `
local k = {lock = KEYS[1], token = KEYS[2], waiters = KEYS[3], alive = KEYS[4], run = KEYS[5]}
local opts = {claimMs = tonumber(ARGV[2]), aliveMs = tonumber(ARGV[3]), maxRun = tonumber(ARGV[4]),
  tokenTtlMs = tonumber(ARGV[5]), how = ARGV[6], channel = ARGV[7], changes = ARGV[8], runId = ARGV[9],
  message = '0'}
`;

export interface ReleaseArgs extends PassArgs {
  readonly owner: string;
}

/**
 * Takes the hold, which is `field`, out of the hash: `ended` is 1 if it was there. A key that is not a hash holds nothing; any
 * other refusal, such as that of a replica, is the answer of the script.
 *
 * The short way applies if `free` shows, after `look`, that no client of ours is next. Then Redisson's `message` is published.
 * The whole answer is 1 if that succeeded. The short way uses no functions of its own, because making them costs the server as
 * much as a command. A lock whose changes are published goes the long way.
 */
export function endHold({
  field,
  look = "",
  free,
  message,
}: {
  readonly field: string;
  readonly look?: string;
  readonly free: string;
  readonly message: string;
}): string {
  return `
local ended = redis.pcall('HDEL', KEYS[1], ${field})
${look}
if ended == 1 and ARGV[8] == '' and (ARGV[6] == 'publish' or ARGV[6] == 'spublish') and ${free} then
  local told
  if ARGV[6] == 'publish' then told = redis.pcall('PUBLISH', ARGV[7], '${message}')
  else told = redis.pcall('SPUBLISH', ARGV[7], '${message}') end
  if type(told) == 'number' then return 1 end
  return {'freed', 0, told.err}
end
if type(ended) == 'table' and not string.find(ended.err, '^WRONGTYPE') then return ended end
`;
}

export type ReleaseAnswer = Passed | Gone;

/** The answer of the short way. */
export const freedAlone: Passed = Object.freeze({ status: "freed", serverMs: 0, publishError: "" });

export function readRelease(script: string, raw: unknown): ReleaseAnswer {
  if (raw === 1) return freedAlone;
  const handed = readHanded(raw);
  if (handed !== null) return handed;
  const reply = new Reply(script, raw);
  const status = reply.text();
  const serverMs = reply.serverMs();
  if (status === "gone") return reply.end({ status, serverMs });
  if (status === "handed" || status === "freed") return readPassed(reply, status, serverMs);
  throw reply.unknownStatus(status);
}

/**
 * Ends the owner's hold of a mutex and hands it to the next live waiter of ours, or frees it.
 *
 * Keys: lock, token, waiters, alive, run. Arguments: owner, claim lease ms, alive window ms, longest run of direct hand-offs (-1
 * for no bound), token TTL ms, how to publish, Redisson's channel, channel of changes, run id (empty if the script has to read
 * it).
 *
 * Answer of the short way: 1. The lock is free, no client of ours waits, and Redisson's message was published. The server time
 * alone: the lock was handed to the next waiter. Other answers: handed / freed (publish error in both) / gone; server time in
 * each.
 * error in both) / gone; server time in each.
 *
 * As Redisson's when it frees: the key is deleted, and `0` is published on its channel. Nothing is written or published for an
 * owner that does not hold. No result is kept for requests that are sent twice: each grant has a new owner, so the second request
 * finds it gone.
 *
 * The key goes with its last field. If then nothing is left of the lock, of its queue and of a run of hand-offs, no waiter of
 * ours can be next: this is the short way. Its answer has no server time, since nothing in it needs the clock.
 *
 * If other fields are left, the hold was not exclusive, and the answer is `gone` too. An example is a Java reader that a
 * read-write lock of the same name has let in. One EXISTS answers both questions: it counts the lock three times, and its queue
 * and run once each.
 */
export const mutexRelease: CallScript<ReleaseArgs, ReleaseAnswer> = {
  name: "mutex-release",
  keyCount: 5,
  runIdAt,
  lua: `${endHold({
    field: "ARGV[1]",
    look: "local left = ended == 1 and redis.call('EXISTS', KEYS[1], KEYS[1], KEYS[1], KEYS[3], KEYS[5])",
    free: "left == 0",
    message: "0",
  })}${clock}
if ended ~= 1 or left > 2 then return {'gone', nowUs} end
${messages}${firstWaiter}${putMutex}${passOn}${passOptions}
return passOn(k, opts)
`,
  args: (given) => [given.owner, ...passArgs(given)],
  parse: (raw) => readRelease("mutex-release", raw),
};
