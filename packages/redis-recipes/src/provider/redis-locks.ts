import type {
  AcquireOptions,
  Barrier,
  CountDownLatch,
  DoubleBarrier,
  LockProvider,
  Mutex,
  Semaphore,
} from "@holdfast/core";
import {
  BarrierView,
  backendCall,
  CountDownLatchView,
  DoubleBarrierView,
  DriverProvider,
  EventHub,
  type ProviderParts,
} from "@holdfast/core/internal";
import { IoredisLine } from "../client/ioredis-line.js";
import { requestMeter } from "../client/request-meter.js";
import { isCluster, type RedisTarget } from "../client/target.js";
import { warnProcess } from "../client/warnings.js";
import { RedisBarrier } from "../recipes/barrier/barrier.js";
import { RedisDoubleBarrier } from "../recipes/barrier/double-barrier.js";
import { RedisDesk } from "../recipes/desk.js";
import { IdentityRecord } from "../recipes/identity-record.js";
import { RedisLatch } from "../recipes/latch/latch.js";
import { checkLimit, setPermitLimit } from "../recipes/permit/permit-limit.js";
import { SteadyRuns } from "../recipes/steady-runs.js";
import { RedisDriver } from "./driver.js";
import { type RedisLocksOptions, resolveOptions } from "./options.js";

/** Permits with ids and leases of their own, renewed by default. Permits of a process that dies come back when their lease ends. */
export interface PermitSemaphore extends Semaphore {
  /** `false` when a limit is already stored. */
  trySetLimit(limit: number): Promise<boolean>;
  /** Changes the limit for all clients. With fewer permits than are held, nothing is granted until enough have come back. */
  setLimit(limit: number): Promise<void>;
}

/** Locks on Redis, on the keys of Redisson, and what Redis has beside those that every backend has. */
export interface RedisLocks extends LockProvider {
  /** Redisson's fair queue: arrival order across Java too. */
  fairMutex(name: string, options?: AcquireOptions): Mutex;
  /** No pub/sub: polls with growing, jittered delays. */
  spinMutex(name: string, options?: AcquireOptions): Mutex;
  /**
   * Redisson's `RPermitExpirableSemaphore`. Each permit has a lease, so that those of a process that dies come back. The first who asks
   * stores `limit`; where another one is stored, acquiring rejects with `LayoutConflictError`: give that one, or change it with
   * `setLimit()`. `limit()` tells the stored one.
   */
  semaphore(name: string, limit: number, options?: AcquireOptions): PermitSemaphore;
  /** As `semaphore`, with whatever limit is stored. Where none is, a request waits until one is set. */
  permitSemaphore(name: string, options?: AcquireOptions): PermitSemaphore;
  /**
   * Redisson's `RSemaphore`: one number, and nothing else. What that loses: **the permits of a process that dies stay taken for good**,
   * until `RSemaphore.addPermits` adds them again; and no limit is stored, only how many are free. `limit` is what the number is set
   * to where there is none yet, and is not checked later: clients with different limits share the first one's, and `limit()` and
   * `inspect()` tell the caller's own. For names that Java uses with `RSemaphore`; everywhere else take `semaphore`.
   */
  plainSemaphore(name: string, limit: number, options?: AcquireOptions): Semaphore;
}

/** How long `close()` waits for the connections to end. */
const closeWaitMs = 1_000;

/**
 * Locks on Redis that exclude Redisson's `RLock` and its siblings (3.17 and later) on the same names. Returns at once and connects
 * in the background: `ready()` waits for it. One server, a master that sentinels name, or a cluster.
 *
 * Throws `InvalidArgumentError` for unknown options and values that cannot be right. Needs Redis 7.0 or later.
 *
 * @example
 * ```ts
 * await using locks = redisLocks({ url: "redis://localhost:6379" });
 * await locks.mutex("orders/42").withLock({ waitMs: 2_000 }, (lock, { signal }) => charge(order, lock.token, signal));
 * ```
 */
export function redisLocks(options: RedisLocksOptions): RedisLocks {
  const resolved = resolveOptions(options);
  const { common, target, replicas, acks, waitTimeoutMs, shardedPubSub, dialTimeoutMs, commandTimeoutMs } =
    resolved;
  const { runtime, connectTimeoutMs } = common;
  const id = runtime.randomId();
  const events = new EventHub({ provider: id, backend: "redis", runtime });
  const cluster = clusterName(target);
  const line = new IoredisLine({
    target,
    runtime,
    connectTimeoutMs,
    policy: { replicas, acks, waitTimeoutMs },
    times: { dialTimeoutMs, commandTimeoutMs },
    shardedPubSub,
    meter: requestMeter(events),
    warn: (message, code) => {
      warnProcess(message, code);
      // Later, so that warnings of this very call find those who listen from its return on.
      queueMicrotask(() => events.emit("server-warning", { code, message }));
    },
    onState: (state) => {
      // Holds first, so that whoever looks at a handle when told of the state finds it told too.
      desk.stateChanged(state);
      if (events.has("session-state")) events.emit("session-state", { state, timeoutMs: 0, cluster });
    },
  });
  const desk = new RedisDesk({
    line,
    runtime,
    settings: resolved,
    onUnknownGrant: (grant) => events.emit("unknown-grant", grant),
  });
  if (common.identity) desk.tellWhoItIs(new IdentityRecord(desk));
  const driver = new RedisDriver(desk, {
    keyPrefix: resolved.keyPrefix,
    cluster: isCluster(target),
    closeWaitMs,
  });
  const parts = {
    id,
    driver,
    link: line,
    events,
    options: common,
    defaultLeaseMs: resolved.leaseMs,
  };
  return new RedisProvider(parts, desk, driver);
}

/** What the events call it. */
function clusterName(target: RedisTarget): string {
  switch (target.kind) {
    case "single":
      return `${target.address.host}:${target.address.port}`;
    case "sentinel":
      return target.masterName;
    case "cluster":
      return target.nodes.map(({ host, port }) => `${host}:${port}`).join(",");
    default:
      return "client";
  }
}

const desks = new WeakMap<LockProvider, RedisDesk>();

/** What is behind a provider of ours, for whoever looks at it from inside; `undefined` for any other. */
export function deskOf(provider: LockProvider): RedisDesk | undefined {
  return desks.get(provider);
}

export class RedisProvider extends DriverProvider implements RedisLocks {
  readonly #desk: RedisDesk;
  readonly #driver: RedisDriver;
  readonly #runs: SteadyRuns;

  constructor(parts: ProviderParts, desk: RedisDesk, driver: RedisDriver) {
    super(parts);
    this.#desk = desk;
    this.#driver = driver;
    desks.set(this, desk);
    this.#runs = new SteadyRuns(this.engine, desk.line, desk.rooms);
  }

  fairMutex(name: string, options?: AcquireOptions): Mutex {
    return this.mutexOfKind("fair-mutex", name, options);
  }

  spinMutex(name: string, options?: AcquireOptions): Mutex {
    return this.mutexOfKind("spin-mutex", name, options);
  }

  override semaphore(name: string, limit: number, options?: AcquireOptions): PermitSemaphore {
    return this.#withSetters(this.semaphoreOfKind("permit-semaphore", name, limit, options));
  }

  permitSemaphore(name: string, options?: AcquireOptions): PermitSemaphore {
    return this.#withSetters(this.semaphoreOfKind("permit-semaphore", name, null, options));
  }

  plainSemaphore(name: string, limit: number, options?: AcquireOptions): Semaphore {
    return this.semaphoreOfKind("semaphore", name, limit, options);
  }

  #withSetters(semaphore: Semaphore): PermitSemaphore {
    const { name } = semaphore;
    const { engine } = this;
    const change = (method: string, limit: number, onlyIfUnset: boolean): Promise<boolean> => {
      checkLimit(method, name, limit);
      const key = this.#driver.keyOf(name);
      return backendCall(engine, name, () => setPermitLimit(this.#runs, name, key, { limit, onlyIfUnset }));
    };
    return Object.assign(semaphore, {
      trySetLimit: async (limit: number) => await change("trySetLimit", limit, true),
      setLimit: async (limit: number) => {
        await change("setLimit", limit, false);
      },
    });
  }

  override countDownLatch(name: string): CountDownLatch {
    this.checkNamed("count-down-latch", name);
    this.#driver.checkLatchName(name);
    const key = this.#driver.keyOf(name);
    return new CountDownLatchView(this.engine, name, () => new RedisLatch(this.#runs, name, key));
  }

  override barrier(name: string): Barrier {
    this.checkNamed("barrier", name);
    const key = this.#driver.keyOf(name);
    return new BarrierView(this.engine, name, () => new RedisBarrier(this.#runs, key));
  }

  override doubleBarrier(name: string, parties: number): DoubleBarrier {
    this.checkNamed("double-barrier", name);
    const member = () => this.#desk.freshOwner();
    const store = new RedisDoubleBarrier(this.#runs, this.#driver.keyOf(name), member, this.#desk.settings);
    return new DoubleBarrierView(this.engine, name, parties, store);
  }
}
