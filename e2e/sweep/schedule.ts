import { HoldfastError } from "@holdfast/core";
import type { ZooKeeperLocksOptions } from "@holdfast/zk-recipes";
import { endings, eventFaults, type FaultKind, handshakeFaults, requestFaults } from "./fault-kinds.js";
import { drawRecipe, type Held, type Lockable, mutex, permits, readWriteLock } from "./recipes.js";
import { permitsLabel } from "./support/believers.js";
import { contenders } from "./support/contenders.js";
import { type Client, type LockInUse, World } from "./support/world.js";

export interface ScheduleResult {
  readonly violations: string[];
  readonly lines: readonly string[];
  readonly faults: number;
  readonly grants: number;
  readonly lent: number;
}

/** Locks are kept for their next owner. Clients then come back more often, so that there is a next owner. */
const keeping: ZooKeeperLocksOptions = { keepMs: 400, maxKeepMs: 3_000, fenceBy: "token-and-turn" };

/** The longest time that a schedule may take from its start, in its own time. */
const limitMs = 180_000;
/** A fault happens at one of this many first requests. */
const horizon = 90;

/** Without the kinds after which a recipe may rightly be stuck or refuse for good. Only the sweep tries those. */
const drawnRequestFaults = requestFaults.filter(({ refuses }) => refuses === undefined);

/** The errors that a caller may get in an outage; every other error is a violation. */
const excusable = new Set([
  "AcquireTimeoutError",
  "AbortError",
  "LockLostError",
  "NotHeldError",
  "ProviderClosedError",
  "BackendError",
]);

/**
 * Runs many clients, locks and faults, all drawn from one seed. Faults happen at counted requests, never at a fixed time, and
 * time moves only when everything is at rest. So the seed gives the same run again.
 */
export async function runSchedule(seed: number, { kept = false } = {}): Promise<ScheduleResult> {
  await using world = await World.start(seed);
  const schedule = new Schedule(world, kept);
  try {
    await world.within(limitMs, "somebody waits for ever", schedule.run());
    await world.finish(schedule.locks);
  } catch (error) {
    world.witness.violation(error instanceof Error ? error.message : String(error));
  }
  const { violations, grants, lent } = world.witness;
  return { violations, lines: world.lines, faults: schedule.faults, grants, lent };
}

class Schedule {
  readonly locks: readonly LockInUse[];
  readonly paths: readonly string[];
  faults = 0;
  readonly #world: World;
  readonly #random: () => number;
  readonly #kept: boolean;

  constructor(world: World, kept: boolean) {
    this.#world = world;
    this.#kept = kept;
    this.#random = world.random;
    this.locks = Array.from({ length: 1 + this.#below(2) }, (_, index) => ({
      path: `/locks/${"ab"[index]}`,
      recipe: kept ? this.#pick([mutex, mutex, readWriteLock]) : drawRecipe(this.#random),
    }));
    this.paths = this.locks.map(({ path }) => path);
    for (const { path, recipe } of this.locks) {
      this.#world.log(`${path} is a ${recipe.name}`);
      if (recipe.limit !== undefined) world.witness.limits.set(path, recipe.limit);
    }
  }

  async run(): Promise<void> {
    const clients: Client[] = [];
    const providers = this.#kept ? 1 + this.#below(3) : 2 + this.#below(3);
    const options = this.#kept ? keeping : {};
    for (let index = 0; index < providers; index++) {
      clients.push(await this.#world.open("ABCD"[index] as string, options));
    }
    this.#armFaults();
    await Promise.all(
      clients.flatMap((client) =>
        Array.from({ length: this.#kept ? 1 : 1 + this.#below(2) }, async (_, index) => {
          await this.#world.sleep(this.#below(3));
          const times = this.#kept ? 5 + this.#below(8) : 2 + this.#below(4);
          for (let left = times; left > 0; left--) await this.#operate(client, index);
        }),
      ),
    );
    this.#world.log("all have done their work");
  }

  #armFaults(): void {
    for (let left = 2 + this.#below(4); left > 0; left--) {
      const drawn = this.#random();
      if (drawn < 0.15) this.#arm(this.#pick(endings), { nth: 1 + this.#below(horizon) });
      else if (drawn < 0.75) this.#arm(this.#pick(drawnRequestFaults), { nth: 1 + this.#below(horizon) });
      else if (drawn < 0.87) {
        this.#arm(this.#pick(eventFaults), { op: "event", nth: 1 + this.#below(horizon / 4) });
      } else this.#arm(this.#pick(handshakeFaults), { op: "connect", nth: 1 + this.#below(4) });
    }
    if (this.#random() < 0.2) this.#armEviction();
  }

  #arm(kind: FaultKind, match: { nth: number; op?: "event" | "connect" }): void {
    const fault = kind.arm(this.#world, match, this.paths);
    void fault.reached().then((hit) => {
      this.faults += 1;
      this.#world.log(`FAULT ${hit.target} of ${hit.session.toString(16)} ${kind.name}`);
    });
  }

  /** Deletes nodes of holders or waiters by hand: one, or one and up to two behind it, in either order. */
  #armEviction(): void {
    const { faults, operator } = this.#world.server;
    const call = (): void => {
      const nodes = this.paths.flatMap((path) => contenders(this.#world.server, path));
      if (nodes.length === 0) return;
      const from = this.#below(nodes.length);
      const gone = nodes.slice(from, from + 1 + this.#below(3));
      for (const node of this.#random() < 0.5 ? gone : gone.reverse()) {
        this.#world.log(`FAULT ${node.path} is deleted by hand`);
        this.#world.witness.forcedNode(node);
        operator.delete(node.path);
      }
    };
    faults.on({ nth: 1 + this.#below(horizon) }, { do: "run", at: "prep", call });
  }

  async #operate(client: Client, worker: number): Promise<void> {
    const { path, recipe } = this.#pick(this.locks);
    const lock = this.#lockOf(client, { path, recipe });
    const drawn = this.#random();
    this.#world.log(`${client.label}${worker} ${path} draws ${drawn.toFixed(2)}`);
    if (drawn < 0.4) await this.#hold(client, () => lock.acquire());
    else if (drawn < 0.5) await this.#hold(client, () => lock.acquire({ waitMs: 1 + this.#below(400) }));
    else if (drawn < 0.6) await this.#hold(client, () => lock.tryAcquire());
    else if (drawn < 0.75) await this.#hold(client, () => this.#callOff(client, path, lock));
    else if (drawn < 0.85) await this.#special(client, { path, recipe });
    else if (drawn < 0.92) await this.#hold(client, () => lock.acquire({ revocable: true }));
    else if (drawn < 0.97) await this.#excused(async () => lock.requestRevoke?.());
    else await this.#world.sleep(this.#below(1_000));
  }

  /** The lock to use. The side of a read-write lock and the number of permits are drawn. */
  #lockOf({ locks }: Client, { path, recipe }: LockInUse): Lockable {
    if (recipe === readWriteLock && this.#random() < 0.6) return locks.readWriteLock(path).read;
    if (recipe !== permits) return recipe.of(locks, path);
    const semaphore = locks.semaphore(path, permits.limit as number);
    const count = 1 + this.#below(permits.limit as number);
    const batch = { permits: count, label: permitsLabel(count) };
    return {
      acquire: (options) => semaphore.acquire({ ...options, ...batch }),
      tryAcquire: (options) => semaphore.tryAcquire({ ...options, ...batch }),
    };
  }

  /** Does what only this recipe can do. */
  async #special(client: Client, { path, recipe }: LockInUse): Promise<void> {
    if (recipe === mutex) await this.#enterTwice(client, path);
    else if (recipe === readWriteLock) await this.#downgrade(client, path);
    else await this.#hold(client, () => this.#lockOf(client, { path, recipe }).acquire());
  }

  async #downgrade(client: Client, path: string): Promise<void> {
    const { witness } = this.#world;
    const write = await this.#excused(() => client.locks.readWriteLock(path).write.acquire());
    if (write === null) return;
    await this.#work();
    witness.downgrades(client.label, write);
    await this.#hold(client, () => write.downgrade());
    witness.givesBack(client.label, write);
    await this.#excused(() => write.release());
  }

  /** An acquire that is aborted after some requests of any client, or at the moment of its grant. */
  async #callOff(client: Client, path: string, lock: Lockable): Promise<Held | null> {
    const patience = new AbortController();
    const { faults } = this.#world.server;
    const rule = faults.on(
      { nth: 1 + this.#below(8) },
      { do: "run", at: "frame", call: () => queueMicrotask(() => patience.abort()) },
    );
    const woken = client.locks.events.on("notified", ({ name }) => {
      if (name === path && this.#random() < 0.5) queueMicrotask(() => patience.abort());
    });
    const backstop = this.#world.sleep(2_000).then(() => patience.abort());
    try {
      return await lock.acquire({ signal: patience.signal });
    } finally {
      rule.release();
      woken[Symbol.dispose]();
      void backstop;
    }
  }

  async #hold(client: Client, take: () => Promise<Held | null>): Promise<void> {
    const handle = await this.#excused(take);
    if (handle === null) return;
    await this.#work();
    if (this.#random() < 0.1) await this.#excused(() => handle.confirm());
    this.#world.witness.givesBack(client.label, handle);
    const outcome = await this.#excused(() => handle.release());
    this.#world.witness.gaveBack(client.label, handle, outcome ?? "refused");
  }

  async #enterTwice(client: Client, path: string): Promise<void> {
    const mutex = client.locks.reentrantMutex(path);
    await this.#excused(() =>
      mutex.withLock({ onLoss: "ignore" }, async (lock) => {
        await this.#excused(() => mutex.withLock({ onLoss: "ignore" }, () => this.#work()));
        this.#world.witness.givesBack(client.label, lock);
      }),
    );
  }

  /** Uses the lock: mostly for a short time, sometimes until the own node is watched, seldom until a keep-alive was due. */
  async #work(): Promise<void> {
    const drawn = this.#random();
    if (drawn < 0.3) return;
    await this.#world.sleep(this.#below(drawn < 0.8 ? 30 : drawn < 0.95 ? 600 : 3_000));
  }

  async #excused<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      const { name } = error as Error;
      const evicted = name === "EvictedError" && this.#world.witness.evictions > 0;
      if (!(error instanceof HoldfastError) && name !== "AbortError") throw error;
      if (!excusable.has(name) && !evicted) this.#world.witness.violation(`rejected with ${String(error)}`);
      return null;
    }
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T;
  }
}
