import { TestServerError } from "../../errors.js";
import type { Direction } from "../link.js";
import type { RespKind } from "./resp-value.js";

/** One command, reply or message that a Redis proxy has read. */
export interface RespEntry {
  /** 1 for the first connection of the proxy, counting on. */
  connection: number;
  /** `up` for commands, `down` for replies and pushes. */
  direction: Direction;
  /** A `push` answers nothing: a message of pub/sub, an invalidation, a line of MONITOR. */
  kind: "command" | "reply" | "push";
  /**
   * The command in capitals (`EVALSHA`, `SCRIPT LOAD`), on its reply too; for a push its first word (`message`,
   * `smessage`, `invalidate`), or `unsolicited`.
   */
  name: string;
  /** The command's first key, on its reply too; the channel of a message or of a subscription. */
  key?: string;
  /** The script's SHA-1 digest, for the call of a script and its reply, for EVAL too. */
  script?: string;
  /** On replies and pushes: what it is. */
  reply?: RespKind;
  /** On replies that are errors: the first word, such as `NOSCRIPT`. */
  error?: string;
  /** On commands that count: the flight of this connection they belong to, from 1. */
  flight?: number;
  /** Its length on the wire. */
  bytes: number;
  /** When it was read, on the clock of `performance.now()`, in milliseconds. */
  at: number;
  /**
   * What became of it; `held` turns into `forwarded` on release, and nothing is forwarded into a hole. `cut` is half
   * delivered.
   */
  fate: "forwarded" | "held" | "dropped" | "cut";
}

/** The last entries, with waiting for those to come. Memory is bounded: the oldest make room. */
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

  /** An entry is new or has changed: shows it to those who wait. */
  look(entry: RespEntry): void {
    for (const look of [...this.#waiting]) look(entry);
  }

  clear(): void {
    this.#entries = [];
  }

  /** The first entry that fits, past or to come. */
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
