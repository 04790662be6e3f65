import type { WatchEventType } from "@holdfast/zk-protocol";
import { TestServerError } from "../errors.js";
import type { TracedOp, TraceEntry } from "./trace.js";

/** Which frames a rule acts on. A property that is left out matches everything. */
export interface FrameMatch {
  /** The operation of a request or of the reply to it. */
  op?: TracedOp | readonly TracedOp[];
  /** The whole path, or an expression that it must match. */
  path?: string | RegExp;
  /** Number of the connection, as in the trace. */
  connection?: number;
  /** Which matching frame from now on is the first that the rule acts on; default 1. */
  nth?: number;
  /** On how many matching frames it acts; default 1, for events Infinity. */
  times?: number;
}

/** How a frame is held, and what ends it. */
export interface HoldOptions {
  /**
   * What ends the hold besides `release()`: the next ping that the client sends on the connection, or a promise that
   * settles.
   */
  until?: "ping" | PromiseLike<unknown>;
  /**
   * Holds back only this frame and lets later frames overtake it. A real server never does that; it shows whether a
   * client relies on the order. Default false: everything behind the frame in its direction waits too.
   */
  alone?: boolean;
}

/** What follows the loss of a frame; by default the connection goes on. */
export interface DropOptions {
  /** Then ends the connection, both ends in order: for the client, the answer was lost on the way. */
  thenCut?: boolean;
  /** Then drops everything else in that direction on that connection, as if the network went silent. */
  thenSilence?: boolean;
}

/** Which events a rule acts on. A property that is left out matches all. */
export interface EventMatch extends Omit<FrameMatch, "op"> {
  /** The type of the event. */
  type?: WatchEventType;
}

export type RuleAction = { hold: HoldOptions } | { drop: DropOptions };

/** A rule that was given to a proxy. It ends by itself when its `times` are used up. */
export class FrameRule {
  /** What the rule does to what matches. */
  readonly action: "hold" | "drop";
  /** How it holds; without meaning in a rule that drops. */
  readonly hold: HoldOptions;
  /** How it drops; without meaning in a rule that holds. */
  readonly drop: DropOptions;
  readonly #name: string;
  readonly #fits: (entry: TraceEntry) => boolean;
  readonly #acted: TraceEntry[] = [];
  readonly #held = new Set<{ connection: number; release: () => void }>();
  readonly #waiting = new Set<() => void>();
  #before: number;
  #left: number;

  constructor(name: string, fits: (entry: TraceEntry) => boolean, match: FrameMatch, what: RuleAction) {
    const { nth = 1, times = 1 } = match;
    if (!(Number.isInteger(nth) && nth >= 1)) throw new RangeError(`${name}: nth is 1 or more, not ${nth}`);
    if (!(times >= 1)) throw new RangeError(`${name}: times is 1 or more, not ${times}`);
    this.#name = name;
    this.#fits = fits;
    this.#before = nth - 1;
    this.#left = times;
    this.action = "hold" in what ? "hold" : "drop";
    this.hold = "hold" in what ? what.hold : {};
    this.drop = "drop" in what ? what.drop : {};
    const { until } = this.hold;
    if (until !== undefined && until !== "ping") {
      const release = (): void => this.release();
      until.then(release, release);
    }
  }

  /** The frames that it has acted on, oldest first. */
  get hits(): readonly TraceEntry[] {
    return this.#acted;
  }

  /** Whether the rule acts on nothing more. */
  get over(): boolean {
    return this.#left <= 0;
  }

  /**
   * Resolves with the first frame that it acts on. @throws TestServerError after `withinMs` (default 10,000), and if
   * the rule is released before.
   */
  hit(options: { withinMs?: number } = {}): Promise<TraceEntry> {
    const withinMs = options.withinMs ?? 10_000;
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const first = this.#acted[0];
        if (first === undefined && !this.over) return;
        finish();
        if (first !== undefined) resolve(first);
        else
          reject(new TestServerError(`${this.#name}: released before there was a frame to ${this.action}`));
      };
      const timer = setTimeout(() => {
        finish();
        reject(new TestServerError(`${this.#name}: no frame to ${this.action} within ${withinMs} ms`));
      }, withinMs);
      const finish = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** Releases what is held, and ends the rule. */
  release(): void {
    this.#left = 0;
    this.#releaseHeld();
    for (const look of [...this.#waiting]) look();
  }

  /** For the proxy: whether the rule acts on this frame. It counts the frame. */
  takes(entry: TraceEntry): boolean {
    if (this.over || !this.#fits(entry)) return false;
    if (this.#before > 0) {
      this.#before--;
      return false;
    }
    this.#left--;
    this.#acted.push(entry);
    for (const look of [...this.#waiting]) look();
    return true;
  }

  /** For the proxy: takes the callback that releases a frame that it holds. */
  keep(connection: number, release: () => void): void {
    this.#held.add({ connection, release });
  }

  /** For the proxy: a ping was seen. */
  pinged(connection: number): void {
    if (this.hold.until === "ping") this.#releaseHeld(connection);
  }

  #releaseHeld(connection?: number): void {
    for (const held of [...this.#held]) {
      if (connection !== undefined && held.connection !== connection) continue;
      this.#held.delete(held);
      held.release();
    }
  }
}

/** Makes the predicate of a rule. */
export function matcher(
  kind: TraceEntry["kind"],
  match: FrameMatch & EventMatch,
): (entry: TraceEntry) => boolean {
  const ops = match.op === undefined ? undefined : new Set<TracedOp>([match.op].flat() as TracedOp[]);
  return (entry) =>
    entry.kind === kind &&
    (ops === undefined || ops.has(entry.op)) &&
    (match.type === undefined || entry.event === match.type) &&
    (match.connection === undefined || entry.connection === match.connection) &&
    fitsPath(match.path, entry.path);
}

function fitsPath(wanted: string | RegExp | undefined, path: string | undefined): boolean {
  if (wanted === undefined) return true;
  if (path === undefined) return false;
  // A copy without state: an expression with the flag g would continue where it stopped.
  return typeof wanted === "string"
    ? wanted === path
    : new RegExp(wanted.source, wanted.flags.replace(/[gy]/g, "")).test(path);
}
