import { clockNs, wentOn } from "../engine/clock.js";
import { whatIsWrong } from "../history/parse-record.js";
import type { EventRecord, InvokeRecord, Nanos, OutcomeRecord } from "../history/record.js";
import type { Unnumbered } from "../workload/protocol.js";

type Spoken = Unnumbered<InvokeRecord | OutcomeRecord | EventRecord>;

export interface ProtocolCheckOptions {
  /** The worker and its incarnation, as in its setup. */
  readonly p: string;
  readonly keys: readonly string[];
  /** Whether its client gives tokens, according to its answer to `about`. */
  readonly tokens: boolean;
  /** The names of the holds of all workers. */
  readonly named: Set<string>;
  /** The time of the run. */
  now(): Nanos;
}

interface Asked {
  readonly f: string;
  readonly key: string;
  readonly t: Nanos;
  readonly hold: string | undefined;
  readonly shares: boolean;
}

/**
 * The longest time from the stamp of a record to its arrival. An older stamp is from another clock, or counts from
 * another start.
 */
const lateNs = 5e9;
/** How long a worker may take to end what it had begun when `stop` arrived. */
const stopNs = 1e9;

/** Follows one worker line by line, and describes each violation of docs/worker-protocol.md. */
export class ProtocolCheck {
  /** Sentences, each with the line that it is about. */
  readonly problems: string[] = [];
  /** The records that are correct, to be judged. */
  readonly records: Spoken[] = [];
  readonly #options: ProtocolCheckOptions;
  readonly #open = new Map<number, Asked>();
  readonly #ops = new Set<number>();
  readonly #holds = new Set<string>();
  readonly #known = new Set<string>();
  /** The holds in read mode, which other readers may share. */
  readonly #shared = new Set<string>();
  #line = 0;
  #phase: "setup" | "ready" | "started" | "done" = "setup";
  #stoppedAt: Nanos | null = null;
  /** The time for which the process was stopped by SIGSTOP. */
  #still: { readonly from: Nanos; to: Nanos } | null = null;

  constructor(options: ProtocolCheckOptions) {
    this.#options = options;
  }

  /** Whether the worker has named this hold. A write at the resource must belong to a named hold. */
  knows(hold: string): boolean {
    return this.#known.has(hold);
  }

  get ready(): boolean {
    return this.#phase !== "setup";
  }

  get grants(): number {
    return this.#known.size;
  }

  started(): void {
    this.#phase = "started";
  }

  stopped(): void {
    this.#stoppedAt = this.#options.now();
  }

  /** The process stands still from now on. */
  stands(): void {
    this.#still = { from: this.#options.now(), to: Number.POSITIVE_INFINITY };
  }

  /** The process is about to go on. */
  goesOn(): void {
    if (this.#still !== null) this.#still.to = this.#options.now();
  }

  heard(word: unknown): void {
    this.#line += 1;
    if (this.#phase === "done") this.#wrong("it came after done, which is the last word", word);
    else if (typeof word !== "object" || word === null) this.#wrong("a line is one JSON object", word);
    else if ("say" in word) this.#said(word as { say: unknown; error?: unknown });
    else this.#record(word);
  }

  /** The process has exited. */
  ended(code: number | null, signal: string | null): void {
    if (this.#phase !== "done") this.#missing('it ended without {"say":"done"}');
    if (code !== 0) this.#missing(`it ended with ${code ?? signal}; after done it exits with 0`);
  }

  #said(word: { readonly say: unknown; readonly error?: unknown }): void {
    switch (word.say) {
      case "ready":
        if (this.#phase !== "setup") this.#wrong("ready is said once, in answer to setup", word);
        else this.#phase = "ready";
        break;
      case "failed":
        this.#wrong(`the worker gave up: ${String(word.error)}`, undefined);
        break;
      case "done":
        if (this.#stoppedAt === null) this.#wrong("done answers stop, which was not said yet", word);
        for (const [op, { f, key }] of this.#open)
          this.#missing(`${f} of ${key} (op ${op}) has no ok, fail or info, and done was said`);
        if (this.#holds.size > 0)
          this.#missing(
            `done was said and ${[...this.#holds].join(", ")} not released: what is held at stop is given back first`,
          );
        this.#phase = "done";
        break;
      default:
        this.#wrong("a worker says about, ready, done or failed", word);
    }
  }

  #record(word: object): void {
    const wrong = this.#shape(word) ?? this.#sequence(word as Spoken);
    if (wrong !== null) {
      this.#wrong(wrong, word);
      return;
    }
    this.records.push(word as Spoken);
  }

  #shape(word: object): string | null {
    const { type, p, key, t } = word as Partial<Spoken>;
    if (!["invoke", "ok", "fail", "info", "event"].includes(String(type)))
      return `type is invoke, ok, fail, info or event; not ${String(type)}`;
    if (this.#phase !== "started") return "a record came before start was said";
    const wrong = whatIsWrong({ i: 0, ...word });
    if (wrong !== null) return wrong;
    if (p !== this.#options.p) return `p is ${this.#options.p}, as setup says; not ${p}`;
    if (!this.#options.keys.includes(String(key)))
      return `key is an id of setup.keys (${this.#options.keys.join(", ")}), and not the name of the key; not ${key}`;
    if (this.#still !== null && Number(t) > this.#still.from + clockNs && Number(t) < this.#still.to)
      return `it ${wentOn}`;
    const now = this.#options.now();
    if (Number(t) > now + clockNs || Number(t) < now - lateNs) {
      return `t is ${t}, and the run is at ${Math.round(now)}: t is CLOCK_MONOTONIC in nanoseconds less clockBase, taken when it happens`;
    }
    return null;
  }

  #sequence(word: Spoken): string | null {
    if (word.type === "event") {
      if (word.hold !== undefined && !this.#known.has(word.hold))
        return `no acquire was granted as hold ${word.hold}`;
      if (word.f === "lost" && word.hold === undefined) return "lost names the hold that is over";
      return word.f === "extended" && word.validUntil === undefined ? "extended needs validUntil" : null;
    }
    return word.type === "invoke" ? this.#asks(word) : this.#ends(word);
  }

  #asks({ f, key, op, t, hold, arg }: Unnumbered<InvokeRecord>): string | null {
    if (this.#ops.has(op)) return `op ${op} was used before: each operation has a number of its own`;
    this.#ops.add(op);
    if (isAcquire(f)) {
      if (this.#stoppedAt !== null && t > this.#stoppedAt + stopNs)
        return "an acquire was begun after stop was said";
    } else if (f === "release" || f === "write" || f === "downgrade") {
      if (hold === undefined) return `${f} names its hold`;
      if (!this.#known.has(hold)) return `no acquire was granted as hold ${hold}`;
      if (!this.#holds.has(hold)) return `hold ${hold} was released before`;
      if (f === "write" && this.#shared.has(hold))
        return "a read writes nothing: other readers may be inside";
      // From here on the hold counts as given back, whatever the answer is.
      if (f !== "write") this.#holds.delete(hold);
    }
    this.#open.set(op, { f, key, t, hold, shares: arg?.mode === "read" || f === "downgrade" });
    return null;
  }

  #ends({ type, f, key, op, t, ret }: Unnumbered<OutcomeRecord>): string | null {
    const asked = this.#open.get(op);
    if (asked === undefined) return `op ${op} has no invoke that is open`;
    this.#open.delete(op);
    if (asked.f !== f || asked.key !== key) return `op ${op} was asked as ${asked.f} of ${asked.key}`;
    if (t < asked.t) return `t is before that of its invoke, ${asked.t}`;
    if (type !== "ok" || !(isAcquire(f) || f === "downgrade")) return null;
    const hold = ret?.hold;
    if (hold === undefined) return "a grant names its hold in ret.hold";
    if (this.#options.named.has(hold))
      return `hold ${hold} was granted before: each grant has a name of its own, whichever worker gets it`;
    this.#options.named.add(hold);
    this.#known.add(hold);
    this.#holds.add(hold);
    if (asked.shares) this.#shared.add(hold);
    if (this.#options.tokens && ret?.token === undefined)
      return "provides.tokens is true: a grant has its token in ret.token, as decimal text";
    return null;
  }

  #wrong(why: string, word: unknown): void {
    const text = word === undefined ? "" : `\n    ${JSON.stringify(word).slice(0, 300)}`;
    this.problems.push(`${this.#options.p}, line ${this.#line}: ${why}${text}`);
  }

  #missing(why: string): void {
    this.problems.push(`${this.#options.p}, after line ${this.#line}: ${why}`);
  }
}

const isAcquire = (f: string): boolean => f === "acquire" || f === "try-acquire";
