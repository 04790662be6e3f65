import { decodeRequest, type OpName, ProtocolError, type WatchEventType } from "@holdfast/zk-protocol";
import type { Exchange } from "../stages.js";

/** What a rule can be about: a request by its operation, a handshake, or an event on its way out. */
export type FaultTarget = OpName | "connect" | "event";

/** Which requests, handshakes or events a fault happens to. What is left out matches all. */
export interface FaultMatch {
  /** The session id, or a test of it. A handshake that asks for a new session has 0n. */
  readonly session?: bigint | ((id: bigint) => boolean);
  /** Default: every request, but neither handshakes nor events. */
  readonly op?: FaultTarget | readonly FaultTarget[];
  /** The path. A string must be the whole path. For a `multi`, one matching path is enough. */
  readonly path?: string | RegExp;
  /** The type of an event; for events only. */
  readonly event?: WatchEventType;
  /** Which match is the first that the fault happens to, counted from 1; default 1. */
  readonly nth?: number;
  /** How many matches in a row the fault happens to; default 1. */
  readonly times?: number;
}

/** What a rule is compared with. */
export interface FaultSubject {
  readonly target: FaultTarget | undefined;
  readonly session: bigint;
  readonly paths: readonly string[];
  readonly event?: WatchEventType;
}

/** Compares everything but the counts `nth` and `times`. */
export function matches(match: FaultMatch, subject: FaultSubject): boolean {
  return (
    matchesTarget(match.op, subject.target) &&
    matchesSession(match.session, subject.session) &&
    (match.event === undefined || match.event === subject.event) &&
    matchesPath(match.path, subject.paths)
  );
}

function matchesTarget(wanted: FaultMatch["op"], target: FaultTarget | undefined): boolean {
  if (wanted === undefined) return target !== "connect" && target !== "event";
  if (target === undefined) return false;
  return typeof wanted === "string" ? wanted === target : wanted.includes(target);
}

function matchesSession(wanted: FaultMatch["session"], id: bigint): boolean {
  if (wanted === undefined) return true;
  return typeof wanted === "bigint" ? wanted === id : wanted(id);
}

function matchesPath(wanted: FaultMatch["path"], paths: readonly string[]): boolean {
  if (wanted === undefined) return true;
  // `search` does not change the state of a global expression.
  return paths.some((path) => (typeof wanted === "string" ? path === wanted : path.search(wanted) !== -1));
}

const pathless: ReadonlySet<OpName> = new Set([
  "ping",
  "auth",
  "sasl",
  "whoAmI",
  "closeSession",
  "createSession",
  "reconfig",
  "setWatches",
  "setWatches2",
]);

/** Every path that a request names; none if it has no path or cannot be decoded. */
export function pathsOf({ op, body }: Pick<Exchange, "op" | "body">): readonly string[] {
  if (op === undefined || pathless.has(op)) return [];
  try {
    if (op === "multi" || op === "multiRead") {
      return decodeRequest(op, body).ops.map((step) => step.request.path);
    }
    // The record of every other operation begins with its path.
    const { path } = decodeRequest("sync", body);
    return path === null ? [] : [path];
  } catch (error) {
    if (error instanceof ProtocolError) return [];
    throw error;
  }
}
