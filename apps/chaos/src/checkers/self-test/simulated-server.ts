import { faultsEndMs, networkMs, type SimulatedWorld } from "./simulated-world.js";

export const keys = {
  mutex: { kind: "fair", fair: true, fenced: true },
  rw: { kind: "read-write", fenced: true },
  permits: { kind: "semaphore", limit: 3 },
  nested: { kind: "reentrant" },
  latch: { kind: "latch", count: 5 },
} as const;
export type Key = keyof typeof keys;

/** An entry of a queue, and a callback for its grant or refusal. */
export interface Entry {
  readonly p: string;
  readonly op: number;
  readonly key: Key;
  mode: "read" | "write";
  readonly permits: number;
  readonly watchers: Entry[];
  readonly onEnd: (granted: boolean) => void;
  token: number;
  /** Granted or given up, so that it is not checked any more. */
  settled: boolean;
  gone: boolean;
}

export const entryOf = (
  about: Pick<Entry, "p" | "op" | "key" | "onEnd">,
  more: Partial<Entry> = {},
): Entry => ({
  mode: "write",
  permits: 1,
  watchers: [],
  token: 0,
  settled: false,
  gone: false,
  ...about,
  ...more,
});

/** The queues of all keys, as nodes that watch the nodes before them. */
export class SimulatedServer {
  readonly #world: SimulatedWorld;
  readonly #queues = new Map<Key, Entry[]>();
  #token = 0;
  faulted = false;

  constructor(world: SimulatedWorld) {
    this.#world = world;
    for (const key of Object.keys(keys)) this.#queues.set(key as Key, []);
  }

  get queues(): ReadonlyMap<Key, readonly Entry[]> {
    return this.#queues;
  }

  nextToken(): number {
    return ++this.#token;
  }

  queue(key: Key): Entry[] {
    return this.#queues.get(key) ?? [];
  }

  enqueue(entry: Entry): void {
    if (entry.settled) return;
    entry.token = this.nextToken();
    const queue = this.queue(entry.key);
    if (!this.#world.has("serve in order") && entry.key === "mutex" && queue.length > 1)
      queue.splice(1, 0, entry);
    else queue.push(entry);
    this.#check(entry);
  }

  remove(entry: Entry): void {
    if (entry.gone) return;
    entry.gone = true;
    const queue = this.queue(entry.key);
    queue.splice(queue.indexOf(entry), 1);
    if (!this.#world.has("wake the next") && this.#world.draw(20) === 0) return;
    for (const watcher of entry.watchers) this.#world.in(networkMs, () => this.#wake(watcher));
  }

  /** Turns a write into a read in its place. The entries that watch it check again. */
  lower(entry: Entry): void {
    entry.mode = "read";
    for (const watcher of entry.watchers) this.#world.in(networkMs, () => this.#wake(watcher));
  }

  #check(entry: Entry): void {
    if (entry.settled || entry.gone) return;
    const world = this.#world;
    if (this.faulted && world.nowMs >= faultsEndMs && !world.has("serve after a fault")) return;
    const queue = this.queue(entry.key);
    const before = queue.slice(0, queue.indexOf(entry));
    if (this.#free(entry, before)) this.#grant(entry);
    else if (entry.key === "permits" || entry.key === "rw")
      for (const other of before) other.watchers.push(entry);
    else if (world.has("watch the predecessor")) before.at(-1)?.watchers.push(entry);
    else before[0]?.watchers.push(entry);
  }

  #free(entry: Entry, before: readonly Entry[]): boolean {
    if (entry.key === "permits") {
      const counts = this.#world.has("count permits");
      return (
        before.reduce((sum, { permits }) => sum + (counts ? permits : 1), counts ? entry.permits : 1) <= 3
      );
    }
    if (entry.key === "rw" && entry.mode === "read") {
      return !this.#world.has("readers wait for writers") || before.every(({ mode }) => mode === "read");
    }
    return before.length === 0;
  }

  #grant(entry: Entry): void {
    entry.settled = true;
    this.#world.in(networkMs, () => entry.onEnd(true));
  }

  #wake(entry: Entry): void {
    if (entry.settled || entry.gone) return;
    // If the wrong node was watched, the entry is not checked again: the wake-up grants it.
    const looks = this.#world.has("look again after waking") && this.#world.has("watch the predecessor");
    if (looks || entry.key !== "mutex") this.#check(entry);
    else this.#grant(entry);
  }
}
