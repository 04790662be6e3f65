import { BackendError } from "@holdfast/core";
import { branded } from "@holdfast/core/internal";

export interface LinkErrorDetails {
  readonly servers: readonly string[];
  readonly cause?: unknown;
}

/** The request was not sent, so nothing happened at the server. It may be sent again. */
export class NotSentError extends BackendError {
  override readonly name = "NotSentError";
  constructor(why: string, details: LinkErrorDetails) {
    super(`not sent to Redis: ${why}`, { ...details, backend: "redis" });
  }
}

/** The request was written, but no answer came on that connection. It may or may not have been executed. */
export class OutcomeUnknownError extends BackendError {
  override readonly name = "OutcomeUnknownError";
  constructor(why: string, details: LinkErrorDetails) {
    super(`sent to Redis, but the outcome is unknown: ${why}`, { ...details, backend: "redis" });
  }
}

/** How many replicas one master lacks. */
export interface ReplicaShortage {
  /** How many replicas the option `acks` asks for. */
  readonly needed: number;
  /** The option `replicas`. */
  readonly configured: number;
  /** How many are connected, as the master reported within the last second or two. */
  readonly connected: number;
}

/**
 * Fewer replicas are connected to the master than the option `acks` needs. The request is refused before anything is sent, so
 * nothing happened at the server. It is not retried, however long the caller would wait, because an operator has to decide
 * whether to wait for replicas.
 */
export class TooFewReplicasError extends BackendError implements ReplicaShortage {
  override readonly name = "TooFewReplicasError";
  /** How many replicas the option `acks` asks for. */
  readonly needed: number;
  /** The option `replicas`. */
  readonly configured: number;
  /** How many are connected, as the master reported within the last second or two. */
  readonly connected: number;

  constructor({ needed, configured, connected }: ReplicaShortage, details: LinkErrorDetails) {
    const verb = connected === 1 ? "is" : "are";
    super(
      `refused without asking: by the option acks a grant needs ${needed} of ${configured} replicas, and ${connected} ${verb} connected to the master`,
      { ...details, backend: "redis", retryable: false },
    );
    this.needed = needed;
    this.configured = configured;
    this.connected = connected;
  }
}
branded(TooFewReplicasError, "TooFewReplicasError");

/** What the first word of an error reply says about the request. */
export type RefusalKind =
  | "moved" // another node serves the slot
  | "ask" // the slot is being moved, and another node has the key by now
  | "try-again" // the slot is being moved, and the keys are on two nodes
  | "not-master" // a replica: the connection leads to the wrong server now
  | "busy" // loading, a long script, no majority of the cluster, out of memory: it may pass
  | "no-script"
  | "denied" // credentials or rights
  | "other";

const kinds: ReadonlyMap<string, RefusalKind> = new Map([
  ["MOVED", "moved"],
  ["ASK", "ask"],
  ["TRYAGAIN", "try-again"],
  ["READONLY", "not-master"],
  ["MASTERDOWN", "not-master"],
  ["LOADING", "busy"],
  ["BUSY", "busy"],
  ["CLUSTERDOWN", "busy"],
  ["NOREPLICAS", "busy"],
  ["MISCONF", "busy"],
  ["OOM", "busy"],
  ["NOSCRIPT", "no-script"],
  ["NOAUTH", "denied"],
  ["NOPERM", "denied"],
  ["WRONGPASS", "denied"],
]);

const passing: ReadonlySet<RefusalKind> = new Set(["moved", "ask", "try-again", "not-master", "busy"]);

/**
 * The server refused the command. Nothing was changed: Redis refuses a command as a whole, and our scripts make every call that
 * can fail before their first write. Retryable where the reason for the refusal may pass.
 */
export class ReplyError extends BackendError {
  override readonly name: string = "ReplyError";
  /** What the first word of the reply says about the request. */
  readonly kind: RefusalKind;
  /** The reply as the server sent it. */
  readonly reply: string;

  constructor(reply: string, details: LinkErrorDetails, message: string = `Redis refused: ${reply}`) {
    const kind = refusalKind(reply);
    super(message, { ...details, backend: "redis", retryable: passing.has(kind) });
    this.kind = kind;
    this.reply = reply;
  }
}

/**
 * Whether nothing happened at the server, so that there is nothing to undo: the request was not sent, or it was refused as a
 * whole. Other refusals, such as a missing right, may come from the middle of a script.
 */
export function nothingDone(error: unknown): boolean {
  return error instanceof NotSentError || (error instanceof ReplyError && error.retryable);
}

export function refusalKind(reply: string): RefusalKind {
  const [word = ""] = reply.split(" ", 1);
  if (reply.startsWith("ERR max number of clients")) return "busy";
  if (isDeniedInScript(reply)) return "denied";
  return kinds.get(word) ?? "other";
}

/**
 * Whether ACL rules denied a call inside a script. The first text is that of Redis up to 7.1, the second that of later Redis and
 * of Valkey.
 */
export function isDeniedInScript(reply: string): boolean {
  return (
    reply.startsWith("ERR The user executing the script can't ") ||
    reply.startsWith("ERR ACL failure in script: ")
  );
}

/** The node named by `MOVED slot host:port` and `ASK slot host:port`. */
export function redirection(reply: string): { readonly host: string; readonly port: number } | null {
  const target = reply.split(" ")[2];
  const colon = target?.lastIndexOf(":") ?? -1;
  if (target === undefined || colon === -1) return null;
  const port = Number(target.slice(colon + 1));
  return Number.isInteger(port) && port > 0 ? { host: target.slice(0, colon), port } : null;
}

/** Whether a server or host refused, or no host has that name. Waiting longer does not help then. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errors } = error as { code?: unknown; errors?: unknown };
  if (Array.isArray(errors)) return errors.length > 0 && errors.every(isRefusal);
  if (typeof code === "string" && refusals.has(code)) return true;
  return [...refusals].some((word) => error.message.includes(word));
}

const refusals: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "WRONGPASS",
  "NOAUTH",
  "NOPERM",
  "ERR AUTH",
]);

/** What every error about a lock on Redis carries. `lockName`: as the caller gave it. */
export function ofLock(lockName: string): { readonly lockName: string; readonly backend: "redis" } {
  return { lockName, backend: "redis" };
}
