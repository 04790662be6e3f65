import type { OpName, WatchEventType } from "@holdfast/zk-protocol";
import { TestServerError } from "../errors.js";
import type { Direction } from "./link.js";

/**
 * Operations by name. `connect` is the handshake; `unknown` is an unknown operation, or a reply to no known request.
 */
export type TracedOp = OpName | "connect" | "event" | "unknown";

/** One frame that a ZooKeeper proxy has read. */
export interface TraceEntry {
  /** The number of the connection; a proxy counts its connections from 1. */
  connection: number;
  /** `up` for requests, `down` for replies and events. */
  direction: Direction;
  /** The kind of frame. */
  kind: "request" | "reply" | "event";
  /** 0 for handshakes, -1 for events. */
  xid: number;
  /** The operation, also on its reply. */
  op: TracedOp;
  /** The path in the request, also on its reply; on an event the path that it is about. */
  path?: string;
  /** On the reply to a create: the name that the server gave. */
  created?: string;
  /** On replies: 0 or the server's error. A failed `multi` has 0 here. */
  err?: number;
  /** On replies and events: the zxid in the header. */
  zxid?: bigint;
  /** On events: the type. */
  event?: WatchEventType;
  /** On requests that count: the number of the flight on this connection that they belong to, from 1. */
  flight?: number;
  /** Length of the frame with its four length bytes. */
  bytes: number;
  /** When it was read, on the clock of `performance.now()`, in milliseconds. */
  at: number;
  /** What became of it. `held` turns into `forwarded` on release. Nothing is `forwarded` into a hole. */
  fate: "forwarded" | "held" | "dropped";
}

/** The last frames read, and waiting for frames to come. Memory is bounded: the oldest entries are removed. */
export class Trace {
  readonly #name: string;
  readonly #limit: number;
  readonly #waiting = new Set<(entry: TraceEntry) => void>();
  #entries: TraceEntry[] = [];
  #forgotten = 0;

  constructor(name: string, limit: number) {
    this.#name = name;
    this.#limit = limit;
  }

  get entries(): readonly TraceEntry[] {
    return this.#entries;
  }

  /** How many entries were removed because of the limit. */
  get forgotten(): number {
    return this.#forgotten;
  }

  add(entry: TraceEntry): void {
    if (this.#entries.length >= this.#limit) {
      const half = Math.ceil(this.#limit / 2);
      this.#entries = this.#entries.slice(half);
      this.#forgotten += half;
    }
    this.#entries.push(entry);
    this.look(entry);
  }

  /** Shows an entry that is new or has changed to every call that waits. */
  look(entry: TraceEntry): void {
    for (const look of [...this.#waiting]) look(entry);
  }

  clear(): void {
    this.#entries = [];
    this.#forgotten = 0;
  }

  /** The first entry that fits, in the trace or still to come. */
  waitFor(predicate: (entry: TraceEntry) => boolean, withinMs: number, what: string): Promise<TraceEntry> {
    const past = this.#entries.find(predicate);
    if (past !== undefined) return Promise.resolve(past);
    return new Promise((resolve, reject) => {
      const look = (entry: TraceEntry): void => {
        let fits: boolean;
        try {
          fits = predicate(entry);
        } catch (error) {
          finish();
          reject(error);
          return;
        }
        if (!fits) return;
        finish();
        resolve(entry);
      };
      const timer = setTimeout(() => {
        finish();
        reject(
          new TestServerError(
            `${this.#name}: waited ${withinMs} ms for ${what}; last frames:\n${this.describe(15)}`,
          ),
        );
      }, withinMs);
      const finish = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      this.#waiting.add(look);
    });
  }

  /** The last entries, one line each. */
  describe(count: number): string {
    return this.#entries.slice(-count).map(describeEntry).join("\n");
  }
}

/** `#1 up request xid 3 create2 /lock/x`. */
export function describeEntry(entry: TraceEntry): string {
  const { connection, direction, kind, xid, op, event, path, err, fate } = entry;
  const parts = [
    `#${connection}`,
    direction,
    kind,
    `xid ${xid}`,
    event ?? op,
    path,
    err ? `err ${err}` : "",
    fate,
  ];
  return parts.filter((part) => part !== undefined && part !== "" && part !== "forwarded").join(" ");
}
