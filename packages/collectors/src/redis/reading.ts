import { createHash } from "node:crypto";
import type { Millis, Runtime } from "@holdfast/core";
import { type Command, prefixed, ReplyError, suffixed } from "@holdfast/redis-recipes/internal";
import { barrierPrefix, doubleBarrierPrefix } from "./key-names.js";
import type { Reply } from "./link.js";

/** `slim`: the lock's own keys, for the many that are not on screen. `full`: the keys beside it as well. */
export type ReadingDepth = "slim" | "full";

/** What the keys of one lock said. A picture, already old. */
export interface Reading {
  readonly key: string;
  readonly depth: ReadingDepth;
  /** Wall time of the reader, when the answer was there. */
  readonly atMs: Millis;
  /** The same moment by the clock that never steps, which puts readings in order. */
  readonly readMs: Millis;
  /** From the question to the answer. */
  readonly blurMs: Millis;
  readonly shape: Shape;
  /** What is left of the lock's own key: -1 without an end, -2 when there is no key. */
  readonly leftMs: Millis;
  /** Decimal text; `null` where none is kept. */
  readonly token: string | null;
  /** What is kept beside the lock's key; `null` unless the reading was a full one. */
  readonly beside: Beside | null;
  /** What could not be read, and the right that is missing. */
  readonly denied: string | null;
}

export interface Beside {
  readonly waiters: number;
  readonly firstWaiter: string | null;
  readonly queue: number;
  readonly firstQueued: string | null;
}

export type Shape =
  | { readonly is: "nothing" }
  | { readonly is: "lock"; readonly fields: readonly HashField[]; readonly mode: "read" | "write" | null }
  | { readonly is: "permits"; readonly free: number; readonly grants: number | null }
  | { readonly is: "barrier" }
  /** Something of no lock that is known. */
  | { readonly is: "other"; readonly what: string };

export interface HashField {
  /** The field on the wire: an owner, or an owner and `:write`. */
  readonly field: string;
  readonly count: number;
}

/** A hash with more fields than that is looked at in part. Lock hashes are compact up to several hundred fields, and those come whole. */
const fieldsAtOnce = 128;

export function readingCommands(key: string, depth: ReadingDepth): readonly Command[] {
  if (key.startsWith(doubleBarrierPrefix)) {
    const members = prefixed("holdfast_double_barrier_members", key.slice(doubleBarrierPrefix.length));
    return [
      ["exists", key],
      ["zcard", members],
      ["pttl", members],
    ];
  }
  if (key.startsWith(barrierPrefix)) return [["exists", key]];
  const slim: Command[] = [
    ["hscan", key, 0, "count", fieldsAtOnce],
    ["pttl", key],
    ["get", prefixed("redisson_lock_token", key)],
  ];
  if (depth === "slim") return slim;
  const waiters = prefixed("holdfast_waiters", key);
  const queue = prefixed("redisson_lock_queue", key);
  return [
    ...slim,
    ["llen", waiters],
    ["lindex", waiters, 0],
    ["llen", queue],
    ["lindex", queue, 0],
    ["get", key],
    ["zcard", suffixed(key, "timeout")],
  ];
}

/**
 * Slim readings of many locks in one command: a quarter of the work for the client that asks, since each command of a pipeline has its own
 * account there. Arguments: keys. Answer for each: what HSCAN gives or its error, PTTL, the token. Changes nothing; in a
 * cluster the keys are of many slots of one master, which a script without declared keys may read.
 */
export const slimScript: string = `
local answers = {}
for i, key in ipairs(ARGV) do
  local fields = redis.pcall('HSCAN', key, 0, 'COUNT', ${fieldsAtOnce})
  local token = redis.pcall('GET', 'redisson_lock_token:' .. (string.find(key, '{', 1, true) and key or '{' .. key .. '}'))
  answers[i] = {fields.err or fields, redis.call('PTTL', key), type(token) == 'string' and token or ''}
end
return answers
`;

/** The answer to `slimScript` for one key, as the pipeline would have given it; `null` where it has another form. */
export function slimReplies(
  answer: unknown,
  where: { readonly servers: readonly string[] },
): readonly Reply[] | null {
  if (!Array.isArray(answer) || answer.length !== 3) return null;
  const [fields, ...rest] = answer as unknown[];
  return [typeof fields === "string" ? new ReplyError(fields, where) : fields, ...rest];
}

/** Whether a slim reading of the key is one of a lock's hash. */
export function isHashKey(key: string): boolean {
  return !key.startsWith(barrierPrefix) && !key.startsWith(doubleBarrierPrefix);
}

/** When the answer to a question was there that was sent at `sentMs`, by the clock that never steps. */
export function answeredAt(runtime: Runtime, sentMs: Millis): Pick<Reading, "atMs" | "readMs" | "blurMs"> {
  const readMs = runtime.nowMs();
  return { atMs: runtime.wallMs(), readMs, blurMs: readMs - sentMs };
}

export function parseReading(
  key: string,
  depth: ReadingDepth,
  replies: readonly Reply[],
  when: Pick<Reading, "atMs" | "readMs" | "blurMs">,
): Reading {
  const common = { key, depth, ...when };
  const nothing = { leftMs: -2, token: null, beside: null, denied: null };
  if (key.startsWith(barrierPrefix) || key.startsWith(doubleBarrierPrefix)) {
    const there = Number(replies[0]) > 0 || Number(replies[1] ?? 0) > 0;
    return { ...common, ...nothing, shape: { is: there ? "barrier" : "nothing" } };
  }
  const [scanned, pttl, token, waiters, firstWaiter, queue, firstQueued, value, grants] = replies;
  const denied = replies.find((each) => each instanceof ReplyError && each.kind === "denied");
  const whole = depth === "full";
  return {
    ...common,
    shape: shapeOf(scanned, whole ? { value, grants } : null),
    leftMs: typeof pttl === "number" ? pttl : -2,
    token: typeof token === "string" && /^\d+$/.test(token) ? token : null,
    beside: whole
      ? {
          waiters: countIn(waiters),
          firstWaiter: typeof firstWaiter === "string" ? firstWaiter : null,
          queue: countIn(queue),
          firstQueued: typeof firstQueued === "string" ? firstQueued : null,
        }
      : null,
    denied: denied === undefined ? null : (denied as ReplyError).message,
  };
}

function countIn(reply: Reply): number {
  return typeof reply === "number" ? reply : 0;
}

const owner = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:\d+(?::write)?$/i;

/** What a slim reading finds of a key that is no hash. */
export const noHash = "no hash";

function shapeOf(scanned: Reply, text: { value: Reply; grants: Reply } | null): Shape {
  if (scanned instanceof ReplyError) {
    if (!scanned.reply.startsWith("WRONGTYPE")) return { is: "other", what: scanned.reply };
    if (text === null) return { is: "other", what: noHash };
    const { value, grants } = text;
    if (typeof value !== "string" || !/^-?\d+$/.test(value)) return { is: "other", what: "no number" };
    return { is: "permits", free: Number(value), grants: typeof grants === "number" ? grants : null };
  }
  const [cursor, pairs] = scanned as [string, string[]];
  if (pairs.length === 0) {
    // Permits of which none is set any more, while some are out.
    if (text !== null && typeof text.grants === "number" && text.grants > 0)
      return { is: "permits", free: 0, grants: text.grants };
    return { is: "nothing" };
  }
  return hashShape(pairs, cursor !== "0");
}

/** All fields are owners with a count, but `mode`. */
export function hashShape(pairs: readonly string[], partly: boolean): Shape {
  let mode: "read" | "write" | null = null;
  const fields: HashField[] = [];
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const field = pairs[at] as string;
    const value = pairs[at + 1] as string;
    if (field === "mode" && (value === "read" || value === "write")) mode = value;
    else if (owner.test(field) && /^-?\d+$/.test(value)) fields.push({ field, count: Number(value) });
    else return { is: "other", what: `a hash with the field ${JSON.stringify(field.slice(0, 64))}` };
  }
  // No library leaves a lock without an owner: a program has a hash of its own with such a field.
  if (fields.length === 0 && !partly) return { is: "other", what: "a hash without owners" };
  // Never the whole of something big: its other fields may be anything.
  if (partly && mode === null) return { is: "other", what: "a hash of many fields" };
  return { is: "lock", fields, mode };
}

/**
 * Changes whenever a holder does: SHA-1 of the sorted fields of the lock's hash and its token, which the scripts of actions compute
 * again at the server. A thread of Redisson that gives a lock back and takes it again leaves no trace in it.
 */
export function versionOf({ shape, token }: Pick<Reading, "shape" | "token">): string {
  const fields =
    shape.is === "lock"
      ? [...shape.fields.map((each) => each.field), ...(shape.mode === null ? [] : ["mode"])].sort()
      : shape.is === "permits"
        ? [`${shape.free}/${shape.grants ?? 0}`]
        : [];
  return createHash("sha1")
    .update(`${fields.join("\n")}\n${token ?? ""}`)
    .digest("hex");
}
