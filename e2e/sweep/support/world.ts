import { fullJitterRetry, type Millis } from "@holdfast/core";
import { seededRandom } from "@holdfast/core/testing";
import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import type { Recipe } from "../recipes.js";
import { contenders } from "./contenders.js";
import { DrivenClock } from "./driven-clock.js";
import { WireRest } from "./wire-rest.js";
import { Witness } from "./witness.js";

/** The time-out of all sessions. The server's tick is 500 ms. */
export const sessionTimeoutMs: Millis = 4_000;

export interface Client {
  readonly label: string;
  readonly locks: ZooKeeperLocks;
  /** The id of the session that it had when it was opened; 0n if the server had none. */
  readonly session: bigint;
}

export interface LockInUse {
  readonly path: string;
  readonly recipe: Recipe;
}

/**
 * A server and clients over real sockets. Time moves only when all of them are at rest: waits of seconds take no real time, and
 * a seed gives the same run again.
 */
export class World implements AsyncDisposable {
  readonly seed: number;
  readonly clock: DrivenClock;
  readonly server: EmbeddedZooKeeper;
  readonly witness: Witness;
  /** Everything that happened, in order. */
  readonly lines: string[];
  readonly random: () => number;
  readonly clients: Client[] = [];
  readonly #rest: WireRest;
  readonly #conditions = new Set<() => void>();
  #fail: (error: Error) => void = () => {};
  #limitMs = Number.POSITIVE_INFINITY;
  #stopped = false;

  static async start(seed: number): Promise<World> {
    const clock = new DrivenClock();
    const rest = new WireRest();
    return new World(seed, clock, rest, await startEmbeddedZooKeeper({ clock, seed, tickTimeMs: 500 }));
  }

  private constructor(seed: number, clock: DrivenClock, rest: WireRest, server: EmbeddedZooKeeper) {
    this.seed = seed;
    this.clock = clock;
    this.server = server;
    this.random = seededRandom(seed);
    this.#rest = rest;
    this.lines = [];
    this.witness = new Witness(server, clock, (line) => this.log(line));
    this.#turn();
  }

  log(line: string): void {
    this.lines.push(`${(this.clock.nowMs() - 1_000).toFixed(0).padStart(6)} ${line}`);
  }

  /** Opens a connected provider with its own session. */
  async open(label: string, options: ZooKeeperLocksOptions = {}): Promise<Client> {
    const runtime = this.clock.runtime(this.seed * 1_000 + this.clients.length + 1);
    const before = new Set(this.server.sessions().map(({ id }) => id));
    const locks = zookeeperLocks({
      connect: this.server.connectString,
      sessionTimeoutMs,
      runtime,
      retry: fullJitterRetry({ random: runtime.random }),
      ...options,
    });
    this.witness.watch(label, locks);
    await locks.ready();
    const ours = this.server.sessions().find(({ id }) => !before.has(id));
    const client: Client = { label, locks, session: ours?.id ?? 0n };
    this.clients.push(client);
    return client;
  }

  /** Rejects when `work` has not ended after `limitMs` of this world's time. */
  async within<T>(limitMs: Millis, what: string, work: Promise<T>): Promise<T> {
    this.#limitMs = this.clock.nowMs() + limitMs;
    const failed = new Promise<never>((_, reject) => {
      this.#fail = (error) => reject(new Error(`${what}: ${error.message}\n${this.server.describe()}`));
    });
    try {
      return await Promise.race([work, failed]);
    } finally {
      this.#limitMs = Number.POSITIVE_INFINITY;
      this.#fail = () => {};
    }
  }

  sleep(ms: Millis): Promise<void> {
    return new Promise((resolve) => this.clock.at(this.clock.nowMs() + ms, resolve));
  }

  after(ms: Millis, act: () => void): void {
    this.clock.at(this.clock.nowMs() + ms, act);
  }

  /** Whether `condition` came true within `limitMs`. It is checked in every turn of the loop. */
  until(condition: () => boolean, limitMs: Millis): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (met: boolean): void => {
        this.#conditions.delete(look);
        cancel();
        resolve(met);
      };
      const look = (): void => {
        if (condition()) end(true);
      };
      const cancel = this.clock.at(this.clock.nowMs() + limitMs, () => end(false));
      this.#conditions.add(look);
      look();
    });
  }

  queued(path: string): number {
    return contenders(this.server, path).length;
  }

  /**
   * Call it when all clients are done. Heals all faults, and expects that no node is left, that the next client gets the locks,
   * and that all sessions end.
   */
  async finish(locks: readonly LockInUse[]): Promise<void> {
    const { server, witness } = this;
    server.faults.clear();
    server.resume();
    const limitMs = 3 * sessionTimeoutMs;
    const empty = await this.until(() => locks.every(({ path }) => this.queued(path) === 0), limitMs);
    if (!empty) witness.violation(`left behind:\n${server.describe()}`);
    await this.within(limitMs, "the locks are to be had again", this.#probe(locks));
    await this.within(limitMs, "the providers close", this.#close());
    if (!(await this.until(() => server.sessions().length === 0, limitMs))) {
      witness.violation(`${server.sessions().length} sessions are left`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#rest[Symbol.dispose]();
    await this.server.stop();
  }

  async #probe(inUse: readonly LockInUse[]): Promise<void> {
    const { locks } = await this.open("probe");
    for (const { path, recipe } of inUse) {
      const handle = await recipe.of(locks, path).acquire();
      this.witness.givesBack("probe", handle);
      await handle.release();
    }
  }

  async #close(): Promise<void> {
    await Promise.all(this.clients.map(({ locks }) => locks.close()));
  }

  #turn(): void {
    setImmediate(() => {
      if (this.#stopped) return;
      this.witness.look();
      for (const look of [...this.#conditions]) look();
      if (this.#rest.atRest()) this.#moveOn();
      this.#turn();
    });
  }

  #moveOn(): void {
    this.#rest.disturbed();
    this.witness.allIsHeard();
    if (!this.clock.step()) this.#fail(new Error("nothing is due any more"));
    else if (this.clock.nowMs() > this.#limitMs) this.#fail(new Error("not within its time"));
  }
}
