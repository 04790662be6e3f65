import type { RedissonPublish } from "../../layout/channels.js";
import { clock } from "../lua/clock.js";
import { mutexState } from "../lua/mutex-state.js";
import { passOn } from "../lua/pass-on.js";
import { publish } from "../lua/publish.js";
import { token } from "../lua/token.js";
import { waiters } from "../lua/waiters.js";
import { type CallScript, Reply } from "../script.js";
import { type Gone, type Passed, readPassed } from "./answers.js";

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
  ];
}

/** Reads `passArgs` from the second argument on. The message differs: `passOn` gets it from the script. */
export const passOptions = `
local k = {lock = KEYS[1], token = KEYS[2], waiters = KEYS[3], alive = KEYS[4], run = KEYS[5]}
local opts = {claimMs = tonumber(ARGV[2]), aliveMs = tonumber(ARGV[3]), maxRun = tonumber(ARGV[4]),
  tokenTtlMs = tonumber(ARGV[5]), how = ARGV[6], channel = ARGV[7], changes = ARGV[8], message = '0'}
`;

export interface ReleaseArgs extends PassArgs {
  readonly owner: string;
}

export type ReleaseAnswer = Passed | Gone;

export function readRelease(script: string, raw: unknown): ReleaseAnswer {
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
 * bound), token TTL ms, how to publish, Redisson's channel, channel of changes. Answer: handed (next holder, publish error) / freed (our
 * first waiter, publish error) / gone; server time in each.
 *
 * As Redisson's when it frees: key deleted, `0` on its channel. Nothing is written or published for an owner that does not hold.
 * No result is kept for requests sent twice: the owner is fresh for each grant, so the second finds it gone.
 */
export const mutexRelease: CallScript<ReleaseArgs, ReleaseAnswer> = {
  name: "mutex-release",
  keyCount: 5,
  lua: `${clock}${publish}${token}${waiters}${mutexState}${passOn}${passOptions}
local state, holder = look(k.lock)
if state ~= 'held' or holder ~= ARGV[1] then return {'gone', nowUs} end
return passOn(k, opts)
`,
  args: (given) => [given.owner, ...passArgs(given)],
  parse: (raw) => readRelease("mutex-release", raw),
};
