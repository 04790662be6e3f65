import { TestServerError } from "../../errors.js";
import type { Direction } from "../link.js";
import type { RespKind } from "./resp-value.js";

/** One command, reply or message that a Redis proxy has read. */
export interface RespEntry {
  /** The number of the connection; a proxy counts its connections from 1. */
  connection: number;
  /** `up` for commands, `down` for replies and pushes. */
  direction: Direction;
  /** A `push` answers no command: a message of pub/sub, an invalidation, a line of MONITOR. */
  kind: "command" | "reply" | "push";
  /**
   * The command in capitals (`EVALSHA`, `SCRIPT LOAD`), also on its reply. On a push, its first word (`message`,
   * `smessage`, `invalidate`), or `unsolicited`.
   */
  name: string;
  /** The command's first key, also on its reply; the channel of a message or of a subscription. */
  key?: string;
  /** The SHA-1 digest of the script that is called, also on the reply, and also for EVAL. */
  script?: string;
  /** On replies and pushes: the kind of value. */
  reply?: RespKind;
  /** On replies that are errors: the first word, such as `NOSCRIPT`. */
  error?: string;
  /** On commands that count: the number of the flight on this connection that they belong to, from 1. */
  flight?: number;
  /** Its length on the wire. */
  bytes: number;
  /** When it was read, on the clock of `performance.now()`, in milliseconds. */
  at: number;
  /**
   * What became of it. `held` turns into `forwarded` on release. Nothing is `forwarded` into a hole. `cut` means that
   * half of it was delivered.
   */
  fate: "forwarded" | "held" | "dropped" | "cut";
}

/** The last entries, and waiting for entries to come. Memory is bounded: the oldest entries are removed. */
export class RespTrace {
  readonly #name: string;
  readonly #limit: number;
  readonly #waiting = new Set<(entry: RespEntry) => void>();
  #entries: RespEntry[] = [];

  constructor(name: string, limit: number) {
    this.#name = name;
    this.#limit = limit;
  }

  get entries(): readonly RespEntry[] {
    return this.#entries;
  }

  add(entry: RespEntry): void {
    if (this.#entries.length >= this.#limit) this.#entries = this.#entries.slice(Math.ceil(this.#limit / 2));
    this.#entries.push(entry);
    this.look(entry);
  }

  /** Shows an entry that is new or has changed to every call that waits. */
  look(entry: RespEntry): void {
    for (const look of [...this.#waiting]) look(entry);
  }

  clear(): void {
    this.#entries = [];
  }

  /** The first entry that fits, in the trace or still to come. */
  waitFor(fits: (entry: RespEntry) => boolean, withinMs: number, what: string): Promise<RespEntry> {
    const past = this.#entries.find(fits);
    if (past !== undefined) return Promise.resolve(past);
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      const look = (entry: RespEntry): void => {
        try {
          if (!fits(entry)) return;
          resolve(entry);
        } catch (error) {
          reject(error);
        }
        finish();
      };
      const timer = setTimeout(() => {
        finish();
        const last = this.#entries.slice(-15).map(describeRespEntry).join("\n");
        reject(new TestServerError(`${this.#name}: waited ${withinMs} ms for ${what}; the last:\n${last}`));
      }, withinMs);
      this.#waiting.add(look);
    });
  }
}

/** `#1 up command EVALSHA {lock}`. */
export function describeRespEntry(entry: RespEntry): string {
  const { connection, direction, kind, name, key, reply, error, fate } = entry;
  const parts = [`#${connection}`, direction, kind, name, key, error ?? reply, fate];
  return parts.filter((part) => part !== undefined && part !== "forwarded").join(" ");
}
