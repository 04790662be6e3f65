import { createHash } from "node:crypto";
import type { Millis, Runtime } from "@holdfast/core";
import { type Command, prefixed, ReplyError, suffixed } from "@holdfast/redis-recipes/internal";
import { barrierPrefix, doubleBarrierPrefix } from "./key-names.js";
import type { Reply } from "./link.js";

/** `slim`: the lock's own keys, for the many that are not on screen. `full`: the keys beside it as well. */
export type ReadingDepth = "slim" | "full";

/** What the keys of one lock contained, at a moment that is already past. */
export interface Reading {
  readonly key: string;
  readonly depth: ReadingDepth;
  /** The reader's wall time when the answer had arrived. */
  readonly atMs: Millis;
  /** The same moment by the monotonic clock, which puts readings in order. */
  readonly readMs: Millis;
  /** The time from the request to the answer, in milliseconds. */
  readonly blurMs: Millis;
  readonly shape: Shape;
  /** Milliseconds that are left of the lock's own key: -1 without an end, -2 when there is no key. */
  readonly leftMs: Millis;
  /** The fencing token as decimal text; `null` where none is kept. */
  readonly token: string | null;
  /** What is kept beside the lock's key; `null` unless the reading was a full one. */
  readonly beside: Beside | null;
  /** What could not be read, and the right that is missing; `null` where everything could be read. */
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
  | {
      readonly is: "lock";
      readonly fields: readonly HashField[];
      readonly mode: "read" | "write" | null;
      /** Whether the lock has more fields than were read. Which ones are read may change from reading to reading. */
      readonly partly?: boolean;
    }
  | { readonly is: "permits"; readonly free: number; readonly grants: number | null }
  | { readonly is: "barrier" }
  /** Something that belongs to no known kind of lock. */
  | { readonly is: "other"; readonly what: string };

export interface HashField {
  /** The field on the wire: an owner, or an owner and `:write`. */
  readonly field: string;
  readonly count: number;
}

/**
 * Of a hash with more fields than this, only a part is read. Lock hashes are compact up to several hundred fields, and such
 * come whole.
 */
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
 * Makes slim readings of many locks in one command. This is a quarter of the work for the client that asks, which must
 * account for each command of a pipeline. Arguments: keys. Answer for each: what HSCAN gives or its error, PTTL, the token.
 * The script changes nothing. In a cluster the keys are of many slots of one master, which a script without declared keys
 * may read.
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

/** The times of an answer that has just arrived. `sentMs`: when its request was sent, by the monotonic clock. */
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

/** What a slim reading reports of a key that is no hash. */
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
    // The key of the free permits is gone, while some permits are taken.
    if (text !== null && typeof text.grants === "number" && text.grants > 0)
      return { is: "permits", free: 0, grants: text.grants };
    return { is: "nothing" };
  }
  return hashShape(pairs, cursor !== "0");
}

/** The shape of a hash. It is a lock if all fields but `mode` are owners with a count. */
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
  // No library leaves a lock without an owner, so this is the hash of another program that has a field `mode`.
  if (fields.length === 0 && !partly) return { is: "other", what: "a hash without owners" };
  // Only a part of a large hash was read. Where it has owners alone, the lock is one that readers share: no other kind has so
  // many, and the field `mode` is in another part.
  if (partly && fields.length === 0) return { is: "other", what: "a hash of many fields" };
  return partly ? { is: "lock", fields, mode: mode ?? "read", partly } : { is: "lock", fields, mode };
}

/**
 * A value that changes whenever a holder changes: the SHA-1 of the sorted fields of the lock's hash and its token, which the
 * scripts of actions compute again at the server. It does not change when a thread of Redisson gives a lock back and takes
 * it again.
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
