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
  /** After so many direct hand-offs in a row one release frees the lock for all; -1 for no bound. */
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

/** Where `passArgs` leave room for the run id, behind the owner. */
export const runIdAt = 8;

/** Reads `passArgs` from the second argument on, the run id among them. The message differs: `passOn` gets it from the script. */
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
 * Takes the hold out of the hash, by `field`: `ended` is 1 where it was there. In what is no hash there is no hold; any other refusal, such as
 * that of a replica, is the answer of the script.
 *
 * The short way, where `free` says, after `look`, that no client of ours is next: Redisson's `message` is published, and 1 is the whole answer where that could be done.
 * It uses no function of its own, because making those costs the server as much as a command. A lock whose changes are published
 * goes the long way.
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
 * Keys: lock, token, waiters, alive, run. Arguments: owner, claim lease ms, alive window ms, longest run of direct hand-offs (-1 for no
 * bound), token TTL ms, how to publish, Redisson's channel, channel of changes, run id (empty where the script has to read it). Answer of the short way:
 * 1, since the lock is free, no client of ours waits and Redisson's got their message. Server time alone: handed to the next. Else handed / freed (publish
 * error in both) / gone; server time in each.
 *
 * As Redisson's when it frees: key deleted, `0` on its channel. Nothing is written or published for an owner that does not hold.
 * No result is kept for requests sent twice: the owner is fresh for each grant, so the second finds it gone.
 *
 * The key goes with its last field. The short way: where nothing is left of the lock, of its queue and of a run of hand-offs, no waiter
 * of ours can be next. Its answer has no server time, since nothing in it needs the clock. Where other fields are left, as those of a
 * reader of Java's which a read-write lock of the same name has let in, the hold was not alone, and that is `gone` too. One EXISTS answers
 * both questions: it counts the lock three times, and its queue and run once each.
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
