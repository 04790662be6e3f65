import type { Millis } from "@holdfast/core";
import type { Grant, Request, Samples } from "./protocol.js";

/** One lock as one owner sees it. It is acquired and released alternately. */
export interface BenchLock {
  acquire(): Promise<void>;
  release(): Promise<void>;
}

/** One session or connection. */
export interface BenchClient {
  /** `contended`: several owners want this lock. */
  lock(name: string, contended: boolean): BenchLock;
  close(): Promise<void>;
}

/** A peer that runs in Node.js. */
export interface NodePeer {
  /** The versions of its libraries. */
  readonly versions: Readonly<Record<string, string>>;
  /** `server` is `host:port`. Resolves when the client is connected. */
  connect(server: string): Promise<BenchClient>;
}

type Loop = Extract<Request, { do: "loop" }>;
type Queue = Extract<Request, { do: "queue" }>;

/** The work of owners with the locks of one peer, and its timing. `Turns.java` and `kazoo_peer.py` do the same. */
export class Turns {
  readonly #clients: readonly BenchClient[];
  #queue: { holder: BenchLock; record: Recorder; served: Promise<void>[] } | undefined;

  constructor(clients: readonly BenchClient[]) {
    this.#clients = clients;
  }

  async loop({ name, owners, locks, forMs }: Loop): Promise<Samples> {
    const contended = owners > locks;
    const record = new Recorder();
    const owned = range(owners).map((i) => this.#client(i).lock(`${name}-${i % locks}`, contended));
    const startedMs = performance.now();
    const untilMs = startedMs + forMs;
    await Promise.all(
      owned.map(async (lock, owner) => {
        do {
          if (contended) await record.turn(lock, owner);
          else await record.pair(lock);
        } while (performance.now() < untilMs);
      }),
    );
    return record.samples(startedMs);
  }

  async queue({ name, owners }: Queue): Promise<void> {
    const record = new Recorder();
    const holder = this.#client(0).lock(name, true);
    await record.acquire(holder, 0);
    const served = range(owners).map((i) => record.turn(this.#client(i + 1).lock(name, true), i + 1));
    for (const each of served) each.catch(() => {}); // reported by `drain`
    this.#queue = { holder, record, served };
  }

  async drain(): Promise<Samples> {
    if (this.#queue === undefined) throw new Error("there is no queue to drain");
    const { holder, record, served } = this.#queue;
    this.#queue = undefined;
    const startedMs = performance.now();
    await record.release(holder);
    await Promise.all(served);
    return record.samples(startedMs);
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  #client(index: number): BenchClient {
    return this.#clients[index % this.#clients.length] as BenchClient;
  }
}

interface Turn {
  readonly call: number;
  readonly owner: number;
  readonly grantedMs: Millis;
  releasedMs: Millis;
}

class Recorder {
  readonly #pairsMs: Millis[] = [];
  readonly #turns: Turn[] = [];
  #operations = 0;
  #calls = 0;

  async pair(lock: BenchLock): Promise<void> {
    const calledMs = performance.now();
    await lock.acquire();
    await lock.release();
    this.#pairsMs.push(performance.now() - calledMs);
    this.#operations++;
  }

  /** One turn of an owner for which others wait. */
  async turn(lock: BenchLock, owner: number): Promise<void> {
    await this.acquire(lock, owner);
    await this.release(lock);
    this.#operations++;
  }

  async acquire(lock: BenchLock, owner: number): Promise<void> {
    const call = this.#calls++;
    await lock.acquire();
    this.#turns.push({ call, owner, grantedMs: performance.now(), releasedMs: Number.NaN });
  }

  /** Releases for the owner that was granted last, because all others wait for it. */
  async release(lock: BenchLock): Promise<void> {
    (this.#turns.at(-1) as Turn).releasedMs = performance.now();
    await lock.release();
  }

  samples(startedMs: Millis): Samples {
    return {
      operations: this.#operations,
      tookMs: performance.now() - startedMs,
      latenciesUs: this.#pairsMs.map(microseconds),
      grants: this.#turns.map(
        ({ call, owner, grantedMs, releasedMs }): Grant => [
          call,
          owner,
          microseconds(grantedMs - startedMs),
          microseconds(releasedMs - startedMs),
        ],
      ),
    };
  }
}

/** To a tenth of a microsecond. */
function microseconds(ms: Millis): number {
  return Math.round(ms * 10_000) / 10;
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
