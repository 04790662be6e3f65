import { TestServerError } from "../../errors.js";
import { isNamed } from "./resp-budget.js";
import type { RespEntry } from "./resp-entry.js";
import type { RespKind } from "./resp-value.js";

/** Which commands, replies or messages a rule acts on. A property that is left out matches everything. */
export interface RespMatch {
  /**
   * The command, in upper or lower case; a family (`SCRIPT`) stands for all its members. On messages: `message`,
   * `pmessage`, `smessage`, `invalidate`.
   */
  name?: string | readonly string[];
  /** The whole first key or channel, or an expression that it must match. */
  key?: string | RegExp;
  /** SHA-1 digest of the script that is called. */
  script?: string;
  /** On replies: the kind of value. */
  reply?: RespKind;
  /** On replies that are errors: the first word. */
  error?: string;
  /** Number of the connection, as in the trace. */
  connection?: number;
  /** Which match from now on is the first that the rule acts on; default 1. */
  nth?: number;
  /** On how many matches it acts; default 1, for messages Infinity. */
  times?: number;
}

/**
 * What follows the loss of a command or a reply. Replies carry no number: if one is missing, a client takes each later
 * reply for the answer to the command before. No network loses a part of a stream and goes on. So a loss normally ends
 * the connection, or everything that it carries in that direction.
 *
 * - `cut`: the connection ends, on both sides in order.
 * - `reset`: the same by RST.
 * - `silence`: nothing more comes in that direction; the connection stays open.
 * - `go-on`: the stream goes on as if nothing had happened. For messages, which answer no command, this is harmless.
 */
export type RespAfterLoss = "cut" | "reset" | "silence" | "go-on";

/**
 * When a connection is cut, seen from one command:
 *
 * - `before`: the server never gets it.
 * - `mid-command`: the server has half of it.
 * - `sent`: the server gets all of it; it may or may not answer into the closed connection.
 * - `applied`: the server has answered, and the answer is lost. So only the server knows the outcome.
 * - `mid-reply`: the client has half of the answer.
 * - `replied`: the client has the whole answer, and then the connection ends.
 */
export type RespCutPoint = (typeof cutPoints)[number];

export const cutPoints = ["before", "mid-command", "sent", "applied", "mid-reply", "replied"] as const;

export type RespAction =
  | { readonly do: "hold" }
  | { readonly do: "delay"; readonly delayMs: number }
  | { readonly do: "drop"; readonly after: RespAfterLoss }
  | { readonly do: "refuse"; readonly answer: string }
  | { readonly do: "cut"; readonly at: RespCutPoint; readonly reset: boolean };

/** A rule that was given to a proxy; it ends by itself when its `times` are used up. */
export class RespRule {
  /** What the rule does to what matches. */
  readonly action: RespAction;
  readonly #name: string;
  readonly #fits: (entry: RespEntry) => boolean;
  readonly #hits: RespEntry[] = [];
  readonly #held = new Set<() => void>();
  readonly #waiting = new Set<() => void>();
  #before: number;
  #left: number;

  constructor(name: string, kind: RespEntry["kind"], match: RespMatch, action: RespAction) {
    const { nth = 1, times = kind === "push" ? Number.POSITIVE_INFINITY : 1 } = match;
    if (!(Number.isInteger(nth) && nth >= 1)) throw new RangeError(`${name}: nth is 1 or more, not ${nth}`);
    if (!(times >= 1)) throw new RangeError(`${name}: times is 1 or more, not ${times}`);
    if (action.do === "delay" && !(action.delayMs >= 0)) {
      throw new RangeError(`${name}: delayMs is 0 or more, not ${action.delayMs}`);
    }
    this.#name = name;
    this.#fits = matcher(kind, match);
    this.#before = nth - 1;
    this.#left = times;
    this.action = action;
  }

  /** The entries that it has acted on, oldest first. */
  get hits(): readonly RespEntry[] {
    return this.#hits;
  }

  /** Whether the rule acts on nothing more. */
  get over(): boolean {
    return this.#left <= 0;
  }

  /** Whether anything waits for the rule to release it. */
  get holding(): boolean {
    return this.#held.size > 0;
  }

  /** Resolves with the first entry that it acts on. @throws TestServerError after `withinMs` (default 10,000). */
  hit(options: { withinMs?: number } = {}): Promise<RespEntry> {
    const withinMs = options.withinMs ?? 10_000;
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      const look = (): void => {
        const first = this.#hits[0];
        if (first === undefined) return;
        finish();
        resolve(first);
      };
      const timer = setTimeout(() => {
        finish();
        reject(new TestServerError(`${this.#name}: nothing to ${this.action.do} within ${withinMs} ms`));
      }, withinMs);
      this.#waiting.add(look);
      look();
    });
  }

  /** Releases what is held or delayed, and ends the rule. */
  release(): void {
    this.#left = 0;
    for (const release of [...this.#held]) release();
  }

  /** For the proxy: whether the rule acts on this entry. It counts the entry. */
  takes(entry: RespEntry): boolean {
    if (this.over || !this.#fits(entry)) return false;
    if (this.#before > 0) {
      this.#before--;
      return false;
    }
    this.#left--;
    this.#hits.push(entry);
    for (const look of [...this.#waiting]) look();
    return true;
  }

  /** For the proxy: takes a callback for the time when the rule releases. It is called once. */
  keep(goOn: () => void): void {
    let timer: NodeJS.Timeout | undefined;
    const release = (): void => {
      clearTimeout(timer);
      if (this.#held.delete(release)) goOn();
    };
    this.#held.add(release);
    if (this.action.do === "delay") timer = setTimeout(release, this.action.delayMs);
  }
}

function matcher(kind: RespEntry["kind"], match: RespMatch): (entry: RespEntry) => boolean {
  const given = match.name === undefined ? undefined : [match.name].flat();
  // The names of messages are in small letters.
  const names = given && new Set(given.map((name) => (kind === "push" ? name : name.toUpperCase())));
  return (entry) =>
    entry.kind === kind &&
    (names === undefined || isNamed(entry.name, names)) &&
    (match.script === undefined || entry.script === match.script.toLowerCase()) &&
    (match.reply === undefined || entry.reply === match.reply) &&
    (match.error === undefined || entry.error === match.error) &&
    (match.connection === undefined || entry.connection === match.connection) &&
    fitsKey(match.key, entry.key);
}

function fitsKey(wanted: string | RegExp | undefined, key: string | undefined): boolean {
  if (wanted === undefined) return true;
  if (key === undefined) return false;
  // A copy without state: an expression with the flag g would continue where it stopped.
  return typeof wanted === "string"
    ? wanted === key
    : new RegExp(wanted.source, wanted.flags.replace(/[gy]/g, "")).test(key);
}
