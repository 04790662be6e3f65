import type { HistoryRecord } from "../../history/record.js";

/** What the simulated recipe looks at; each can be taken away to make a mutant. */
export type Guard =
  | "watch the predecessor"
  | "look again after waking"
  | "release only one's own"
  | "tokens from the server"
  | "tell of a lost session"
  | "promise less than the lease"
  | "check tokens at the resource"
  | "wake the next"
  | "serve in order"
  | "count permits"
  | "readers wait for writers"
  | "free at the outermost release"
  | "report one's own count"
  | "give up in time"
  | "take back what was given up"
  | "open at the last countdown"
  | "refuse only what is held"
  | "serve after a fault";

interface Entry {
  readonly p: string;
  readonly op: number;
  readonly key: string;
  readonly mode: "read" | "write";
  readonly permits: number;
  readonly watchers: Entry[];
  readonly onEnd: (granted: boolean) => void;
  token: number;
  settled: boolean;
  gone: boolean;
}

const keys = {
  mutex: { kind: "fair", fair: true, fenced: true },
  rw: { kind: "read-write", fenced: true },
  permits: { kind: "semaphore", limit: 3 },
  nested: { kind: "reentrant" },
  latch: { kind: "latch", count: 5 },
} as const;
type Key = keyof typeof keys;

const networkMs = 1;
const workEndsMs = 13_000;
const faultsEndMs = 6_000;
const endsMs = 17_000;

/** A queue lock with sessions on a virtual clock: the same seed gives the same history. */
export function simulate(seed: number, without: Guard | null = null): HistoryRecord[] {
  return new Simulation(seed, without).run();
}

class Simulation {
  readonly #records: HistoryRecord[] = [];
  readonly #events: { at: number; n: number; then: () => void }[] = [];
  readonly #queues = new Map<string, Entry[]>();
  readonly #without: Guard | null;
  readonly #highest = new Map<string, number>();
  readonly #local = new Map<string, number>();
  #random: number;
  #now = 0;
  #n = 0;
  #op = 0;
  #token = 0;
  #values = 0;
  #counted = 0;
  #faulted = false;
  readonly #awaiting: { p: string; op: number }[] = [];
  readonly #holders = new Map<Entry, (value: "lost") => void>();

  constructor(seed: number, without: Guard | null) {
    this.#random = seed * 2_654_435_761 + 1;
    this.#without = without;
    const about: Record<string, unknown> = {};
    for (const [key, meta] of Object.entries(keys))
      about[key] = { backend: "zookeeper", leaseMs: 1_000, ...meta };
    const scenario = without === null ? "simulated" : `simulated without: ${without}`;
    this.#add({
      type: "meta",
      v: 1,
      run: `s${seed}`,
      seed,
      scenario,
      keys: about,
      versions: {},
      capabilities: [],
    });
    for (const key of Object.keys(keys)) this.#queues.set(key, []);
  }

  run(): HistoryRecord[] {
    for (let worker = 0; worker < 6; worker++) {
      const p = `w${worker}#0`;
      this.#add({ type: "worker", p, f: "start" });
      this.#in(worker, () => this.#work(p));
    }
    // A refusal without a reason is told from an unlucky one only where there were no faults.
    const faulty = this.#has("refuse only what is held");
    for (let at = 500; faulty && at < faultsEndMs; at += 500) this.#in(at, () => this.#loseSession());
    for (let at = 5; at < workEndsMs; at += 5) this.#in(at, () => this.#look(false));
    this.#in(100, () => this.#latch());
    this.#in(endsMs, () => this.#look(true));
    for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
      this.#now = next.at;
      next.then();
    }
    return this.#records;
  }

  #work(p: string): void {
    if (this.#now >= workEndsMs) return;
    const key = (["mutex", "mutex", "mutex", "rw", "permits", "nested"] as const)[this.#draw(6)] ?? "mutex";
    const again = (): void => this.#in(2 + this.#draw(8), () => this.#work(p));
    if (key === "nested" && this.#draw(4) === 0) this.#try(p, key, again);
    else this.#acquire(p, key, again);
  }

  #acquire(p: string, key: Key, again: () => void): void {
    const op = ++this.#op;
    const mode = key === "rw" && this.#draw(3) > 0 ? "read" : "write";
    const permits = key === "permits" ? 1 + this.#draw(2) : 1;
    const waitMs = this.#draw(4) === 0 ? 20 : -1;
    const thread = key === "nested" ? { thread: "t" } : {};
    const arg = { mode, permits, ...thread, ...(waitMs < 0 ? {} : { waitMs }) };
    this.#add({ type: "invoke", p, f: "acquire", key, op, arg });
    const entry: Entry = {
      p,
      op,
      key,
      mode,
      permits,
      watchers: [],
      token: 0,
      settled: false,
      gone: false,
      onEnd: (granted) => {
        if (granted) this.#hold(entry, again);
        else {
          this.#add({ type: "fail", p, f: "acquire", key, op });
          again();
        }
      },
    };
    this.#in(networkMs, () => this.#enqueue(entry));
    if (waitMs >= 0) this.#in(waitMs, () => this.#giveUp(entry));
  }

  #try(p: string, key: Key, again: () => void): void {
    const op = ++this.#op;
    this.#add({ type: "invoke", p, f: "try-acquire", key, op, arg: { thread: "t" } });
    this.#in(networkMs, () => {
      const queue = this.#queue(key);
      const free = this.#has("refuse only what is held") ? queue.length === 0 : false;
      const entry: Entry = {
        p,
        op,
        key,
        mode: "write",
        permits: 1,
        watchers: [],
        token: ++this.#token,
        settled: true,
        gone: false,
        onEnd: () => {},
      };
      if (free) queue.push(entry);
      this.#in(networkMs, () => {
        if (free) this.#hold(entry, again, "try-acquire");
        else {
          this.#add({ type: "fail", p, f: "try-acquire", key, op });
          again();
        }
      });
    });
  }

  #enqueue(entry: Entry): void {
    if (entry.settled) return;
    entry.token = ++this.#token;
    const queue = this.#queue(entry.key);
    if (!this.#has("serve in order") && entry.key === "mutex" && queue.length > 1) queue.splice(1, 0, entry);
    else queue.push(entry);
    this.#check(entry);
  }

  #check(entry: Entry): void {
    if (entry.settled || entry.gone) return;
    if (this.#faulted && this.#now >= faultsEndMs && !this.#has("serve after a fault")) return;
    const queue = this.#queue(entry.key);
    const before = queue.slice(0, queue.indexOf(entry));
    if (this.#free(entry, before)) this.#grant(entry);
    else if (entry.key === "permits" || entry.key === "rw")
      for (const other of before) other.watchers.push(entry);
    else if (this.#has("watch the predecessor")) before.at(-1)?.watchers.push(entry);
    else before[0]?.watchers.push(entry);
  }

  #free(entry: Entry, before: readonly Entry[]): boolean {
    if (entry.key === "permits") {
      const counts = this.#has("count permits");
      return (
        before.reduce((sum, { permits }) => sum + (counts ? permits : 1), counts ? entry.permits : 1) <= 3
      );
    }
    if (entry.key === "rw" && entry.mode === "read") {
      return !this.#has("readers wait for writers") || before.every(({ mode }) => mode === "read");
    }
    return before.length === 0;
  }

  #grant(entry: Entry): void {
    entry.settled = true;
    this.#in(networkMs, () => entry.onEnd(true));
  }

  #wake(entry: Entry): void {
    if (entry.settled || entry.gone) return;
    // The wrong node was watched and is not looked at again: what wakes it grants it.
    const looks = this.#has("look again after waking") && this.#has("watch the predecessor");
    if (looks || entry.key !== "mutex") this.#check(entry);
    else this.#grant(entry);
  }

  #remove(entry: Entry): void {
    if (entry.gone) return;
    entry.gone = true;
    const queue = this.#queue(entry.key);
    queue.splice(queue.indexOf(entry), 1);
    if (!this.#has("wake the next") && this.#draw(20) === 0) return;
    for (const watcher of entry.watchers) this.#in(networkMs, () => this.#wake(watcher));
  }

  #giveUp(entry: Entry): void {
    if (entry.settled) return;
    entry.settled = true;
    if (this.#has("take back what was given up")) this.#remove(entry);
    if (this.#has("give up in time")) entry.onEnd(false);
    else this.#in(2_000, () => entry.onEnd(false));
  }

  #hold(entry: Entry, again: () => void, f: "acquire" | "try-acquire" = "acquire"): void {
    const { p, key, op } = entry;
    const hold = `${p}:${op}`;
    if (!this.#has("tokens from the server")) {
      entry.token = (this.#local.get(p) ?? 0) + 1;
      this.#local.set(p, entry.token);
    }
    const token = key === "mutex" || key === "rw" ? { token: String(entry.token) } : {};
    const count = key === "nested" ? { count: 1 } : {};
    this.#add({ type: "ok", p, f, key, op, ret: { hold, ...token, ...count } });
    if (key === "nested" && this.#draw(2) === 0) return this.#nest(entry, hold, again);
    let over = false;
    const heldMs = 4 + this.#draw(12);
    this.#holders.set(entry, () => {
      over = true;
      this.#holders.delete(entry);
      this.#in(140, () => this.#write(entry, hold));
      this.#in(160, () => this.#release(entry, hold, again));
    });
    this.#in(2, () => over || this.#write(entry, hold));
    this.#in(heldMs, () => {
      if (over) return;
      this.#holders.delete(entry);
      this.#release(entry, hold, again);
    });
  }

  #nest(entry: Entry, outer: string, again: () => void): void {
    const { p, key } = entry;
    const inner = ++this.#op;
    const reported = this.#has("report one's own count") ? 2 : 1;
    this.#in(2, () => this.#add({ type: "invoke", p, f: "acquire", key, op: inner, arg: { thread: "t" } }));
    this.#in(3, () =>
      this.#add({
        type: "ok",
        p,
        f: "acquire",
        key,
        op: inner,
        ret: { hold: `${p}:${inner}`, count: reported },
      }),
    );
    const op = ++this.#op;
    this.#in(5, () => {
      this.#add({ type: "invoke", p, f: "release", key, op, hold: `${p}:${inner}` });
      if (!this.#has("free at the outermost release")) this.#remove(entry);
    });
    this.#in(6, () => this.#add({ type: "ok", p, f: "release", key, op, ret: { count: 1 } }));
    this.#in(14, () => this.#release(entry, outer, again));
  }

  #release(entry: Entry, hold: string, again: () => void): void {
    const { p, key } = entry;
    const op = ++this.#op;
    this.#add({ type: "invoke", p, f: "release", key, op, hold });
    this.#in(networkMs, () => {
      if (!entry.gone) this.#remove(entry);
      else if (!this.#has("release only one's own")) {
        const [other] = this.#queue(key);
        if (other !== undefined) this.#remove(other);
      }
      this.#in(networkMs, () => {
        this.#add({ type: "ok", p, f: "release", key, op, ret: key === "nested" ? { count: 0 } : {} });
        again();
      });
    });
  }

  #write(entry: Entry, hold: string): void {
    if (entry.key !== "mutex") return;
    const highest = this.#highest.get(entry.key) ?? 0;
    const accepted = !this.#has("check tokens at the resource") || entry.token >= highest;
    const read = this.#values;
    if (accepted) {
      this.#values += 1;
      this.#highest.set(entry.key, entry.token);
    }
    const token = String(entry.token);
    this.#add({
      type: "effect",
      p: "resource",
      key: entry.key,
      hold,
      token,
      accepted,
      read,
      value: this.#values,
    });
  }

  /** The holder's own deadline comes before the server lets go: it hears of its loss first. */
  #loseSession(): void {
    const [entry, lost] = [...this.#holders].find(([{ key }]) => key === "mutex") ?? [];
    if (entry === undefined || lost === undefined) {
      if (this.#now < faultsEndMs) this.#in(1, () => this.#loseSession());
      return;
    }
    this.#faulted = true;
    const { p, key, op } = entry;
    const hold = `${p}:${op}`;
    const promisedMs = this.#has("promise less than the lease") ? 40 : 150;
    const validUntil = (this.#now + promisedMs) * 1e6;
    this.#add({
      type: "fault",
      p: "nemesis",
      f: "session-loss",
      phase: "begin",
      target: p,
      evidence: { op },
    });
    this.#add({ type: "event", p, f: "extended", key, hold, validUntil });
    lost("lost");
    if (this.#has("tell of a lost session")) {
      this.#in(promisedMs, () =>
        this.#add({ type: "event", p, f: "lost", key, hold, cause: "session-expired" }),
      );
    }
    this.#in(50, () => {
      this.#remove(entry);
      this.#add({ type: "fault", p: "nemesis", f: "session-loss", phase: "end", target: p });
    });
  }

  #latch(): void {
    const key = "latch";
    for (const p of ["x0#0", "x1#0"]) {
      const op = ++this.#op;
      this.#add({ type: "invoke", p, f: "await", key, op });
      this.#awaiting.push({ p, op });
    }
    const opens = this.#has("open at the last countdown") ? 5 : 4;
    for (let n = 1; n <= 5; n++) {
      this.#in(n * 10, () => {
        const op = ++this.#op;
        this.#add({ type: "invoke", p: "y0#0", f: "count-down", key, op });
        this.#in(networkMs, () => {
          this.#add({ type: "ok", p: "y0#0", f: "count-down", key, op });
          if (++this.#counted !== opens) return;
          for (const { p, op: awaits } of this.#awaiting)
            this.#add({ type: "ok", p, f: "await", key, op: awaits });
        });
      });
    }
  }

  #look(last: boolean): void {
    for (const [key, entries] of this.#queues) {
      const queue = entries.filter(({ settled }) => !settled).map(({ p, op }) => `${p}:${op}`);
      const left = entries.map(({ p, op }) => `${p}:${op}`);
      if (key !== "mutex" && !last) continue;
      this.#add({
        type: "snapshot",
        p: "observer",
        key,
        state: { holders: [], queue, ...(last ? { left } : {}) },
      });
    }
  }

  #has(guard: Guard): boolean {
    return this.#without !== guard;
  }

  #queue(key: string): Entry[] {
    return this.#queues.get(key) ?? [];
  }

  #in(delayMs: number, then: () => void): void {
    const event = { at: this.#now + delayMs, n: ++this.#n, then };
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle]?.at ?? 0) <= event.at) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, event);
  }

  #draw(below: number): number {
    // A linear congruential generator: enough to vary a schedule, and the same everywhere.
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#random / 2 ** 32) * below);
  }

  #add(record: Record<string, unknown>): void {
    this.#records.push({
      i: this.#records.length,
      t: this.#now * 1e6,
      ...record,
    } as unknown as HistoryRecord);
  }
}
