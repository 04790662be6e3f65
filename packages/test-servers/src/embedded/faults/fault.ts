import { Gate } from "../gate.js";
import type { FaultAction, FaultHit } from "./actions.js";
import { type FaultMatch, type FaultSubject, matches } from "./match.js";

/** A rule in force, and the times at which it has happened. */
export class Fault {
  /** What it happens to. */
  readonly match: FaultMatch;
  /** What it does. */
  readonly action: FaultAction;
  /** In the order in which they happened. */
  readonly hits: FaultHit[] = [];
  readonly #remove: (fault: Fault) => void;
  readonly #gates = new Set<Gate>();
  readonly #waiting: { readonly count: number; resolve(hit: FaultHit): void }[] = [];
  #matched = 0;
  #released = false;

  constructor(match: FaultMatch, action: FaultAction, remove: (fault: Fault) => void) {
    const { nth = 1, times = 1 } = match;
    if (!Number.isInteger(nth) || nth < 1) throw new RangeError(`nth counts from 1: ${nth}`);
    if (!(times >= 1)) throw new RangeError(`times must be at least 1: ${times}`);
    this.match = match;
    this.action = action;
    this.#remove = remove;
  }

  /** Whether the fault happens to `subject`. It counts matches: call it once for each request, handshake or event. */
  takes(subject: FaultSubject): boolean {
    if (!matches(this.match, subject)) return false;
    const { nth = 1, times = 1 } = this.match;
    this.#matched += 1;
    return this.#matched >= nth && this.#matched < nth + times;
  }

  /** For the server: records that the fault has happened. */
  happened(hit: FaultHit): void {
    this.hits.push(hit);
    for (const waiting of [...this.#waiting]) {
      if (this.hits.length < waiting.count) continue;
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.resolve(hit);
    }
  }

  /** Resolves when the fault has happened `count` times; default 1. */
  async reached(count = 1): Promise<FaultHit> {
    return this.hits[count - 1] ?? new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }

  /** A gate for something that has to wait. It is open from the start if the rule was released before its turn came. */
  gate(): Gate {
    const gate = new Gate();
    if (this.#released) {
      gate.open();
      return gate;
    }
    this.#gates.add(gate);
    gate.onOpen(() => this.#gates.delete(gate));
    return gate;
  }

  /** Lets everything continue that waits for this rule, and removes the rule. */
  release(): void {
    this.#released = true;
    this.#remove(this);
    for (const gate of [...this.#gates]) gate.open();
  }
}
