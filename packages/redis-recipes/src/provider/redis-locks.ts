import type {
  AcquireOptions,
  Barrier,
  CountDownLatch,
  DoubleBarrier,
  FencingToken,
  LockProvider,
  Mutex,
  Semaphore,
  SharedRecord,
} from "@holdfast/core";
import {
  BarrierView,
  backendCall,
  CountDownLatchView,
  DoubleBarrierView,
  DriverProvider,
  EventHub,
  type ProviderParts,
  RecordView,
} from "@holdfast/core/internal";
import { IoredisLine } from "../client/ioredis-line.js";
import { requestMeter } from "../client/request-meter.js";
import { isCluster, type RedisTarget } from "../client/target.js";
import { warnProcess } from "../client/warnings.js";
import { RedisClientState } from "../recipes/attempts/client-state.js";
import { redisBarrier } from "../recipes/barrier/barrier.js";
import { redisDoubleBarrier } from "../recipes/barrier/double-barrier.js";
import { redisLatch } from "../recipes/latch/latch.js";
import { keepIdentity } from "../recipes/operators/identity-record.js";
import { checkLimit, setPermitLimit } from "../recipes/permits/permit-limit.js";
import { redisRecord } from "../recipes/record/record.js";
import { RetryingRequests } from "../recipes/requests/retrying-requests.js";
import { RedisDriver } from "./driver.js";
import { type RedisLocksOptions, resolveOptions } from "./options.js";

/**
 * A semaphore whose permits each have an id and a lease, which is renewed by default. When a process dies, its permits are free
 * again at the end of their leases.
 */
export interface PermitSemaphore extends Semaphore<FencingToken> {
  /**
   * Stores the limit, a whole number from 0 to 2^31 - 1, where none is stored yet. Resolves to `false`, and changes nothing, if a
   * limit is stored.
   *
   * Rejects with `InvalidArgumentError` for another number, with `LayoutConflictError` if the key holds something else, and with
   * `ProviderClosedError`. Rejects with `BackendError` if there is no connection within `connectTimeoutMs`, if the server
   * refuses, or if the answer was lost (that one is not retryable).
   */
  trySetLimit(limit: number): Promise<boolean>;
  /**
   * Changes the limit for all clients; a whole number from 0 to 2^31 - 1. If the limit is below the number of held permits,
   * nothing is granted until enough of them were given back. Rejects as `trySetLimit()`. A lost answer is no error where the limit
   * is the wanted one afterwards.
   * @example
   * ```ts
   * import { redisLocks } from "@holdfast/redis-recipes";
   *
   * await using locks = redisLocks({ url: "redis://localhost:6379" });
   * await locks.permitSemaphore("printers").setLimit(5);
   * ```
   */
  setLimit(limit: number): Promise<void>;
}

/**
 * Locks on Redis, on the keys of Redisson, and further primitives that Redis has beside the locks of every backend. The methods
 * return at once, send nothing, and throw as those of `LockProvider`.
 */
export interface RedisLocks extends LockProvider<FencingToken> {
  /**
   * A mutex that is granted in the order of arrival, with Java clients in the same queue. Redisson: `RLock` of `getFairLock()`.
   */
  fairMutex(name: string, options?: AcquireOptions): Mutex<FencingToken>;
  /** A mutex whose waiters ask again after growing random delays, and do not wait for messages. Redisson: `getSpinLock()`. */
  spinMutex(name: string, options?: AcquireOptions): Mutex<FencingToken>;
  /**
   * Redisson's `RPermitExpirableSemaphore`. Each permit has a lease, so that the permits of a process that dies are free again.
   * The first acquire stores `limit`. If another limit is stored, an acquire rejects with `LayoutConflictError`: pass the stored
   * limit, or change it with `setLimit()`. `limit()` resolves with the stored one.
   */
  semaphore(name: string, limit: number, options?: AcquireOptions): PermitSemaphore;
  /** Like `semaphore`, with the limit that is stored. While none is stored, a request waits until a client sets one. */
  permitSemaphore(name: string, options?: AcquireOptions): PermitSemaphore;
  /**
   * Redisson's `RSemaphore`: one number of free permits, and nothing else. So **the permits of a process that dies stay taken for
   * good**, until `RSemaphore.addPermits` adds them again. No limit is stored either: the first client sets the number to its
   * `limit`. The `limit` of later clients is not compared with that number, although their `limit()` and `inspect()` show it. Use
   * this for names that Java uses with `RSemaphore`, and `semaphore` for all others.
   */
  plainSemaphore(name: string, limit: number, options?: AcquireOptions): Semaphore<FencingToken>;
}

/** How long `close()` waits until the connections have ended. */
const closeWaitMs = 1_000;

/**
 * Locks on Redis that exclude Redisson's `RLock` and its siblings (3.17 and later) on the same names. Returns at once and
 * connects in the background; `ready()` waits for the connection. Works with one server, a master that sentinels name, or a
 * cluster.
 *
 * Throws `InvalidArgumentError` for unknown options and for values that cannot be right. Needs Redis 7.0 or later.
 *
 * @example
 * ```ts
 * import { redisLocks } from "@holdfast/redis-recipes";
 *
 * await using locks = redisLocks({ url: "redis://localhost:6379" });
 * await locks.mutex("orders/42").withLock({ waitMs: 2_000 }, async (lock, { signal }) => {
 *   await charge(order, { fence: lock.token, signal });
 * });
 * ```
 */
export function redisLocks(options: RedisLocksOptions): RedisLocks {
  const resolved = resolveOptions(options);
  const { common, target, replicas, acks, waitTimeoutMs, shardedPubSub, dialTimeoutMs, commandTimeoutMs } =
    resolved;
  const { runtime, connectTimeoutMs } = common;
  const events = new EventHub({ provider: runtime.randomId(), backend: "redis", runtime });
  const cluster = clusterName(target);
  const line: IoredisLine = new IoredisLine({
    target,
    runtime,
    connectTimeoutMs,
    policy: { replicas, acks, waitTimeoutMs },
    times: { dialTimeoutMs, commandTimeoutMs },
    shardedPubSub,
    holding: () => client.holds.size > 0,
    meter: requestMeter(events),
    warn: (message, code) => {
      warnProcess(message, code);
      // Emit later, so that listeners that are added right after this call are notified of its warnings too.
      queueMicrotask(() => events.emit("server-warning", { code, message }));
    },
    onState: (state) => {
      // Notify the holds first, so that a listener of the state that looks at a handle already finds it uncertain.
      client.stateChanged(state);
      if (events.has("session-state")) events.emit("session-state", { state, timeoutMs: 0, cluster });
    },
  });
  const client: RedisClientState = new RedisClientState({
    line,
    runtime,
    settings: resolved,
    onUnknownGrant: (grant) => events.emit("unknown-grant", grant),
  });
  if (common.identity) client.onClose(keepIdentity(line, runtime, client.owners.uuid));
  const driver = new RedisDriver(client, {
    keyPrefix: resolved.keyPrefix,
    cluster: isCluster(target),
    closeWaitMs,
  });
  const parts = { driver, link: line, events, options: common, defaultLeaseMs: resolved.leaseMs };
  return new RedisProvider(parts, client, driver);
}

/** The name of the target in events. */
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

const clientStates = new WeakMap<LockProvider, RedisClientState>();

/** The internals of a provider of ours, for tools that inspect it; `undefined` for any other provider. */
export function clientStateOf(provider: LockProvider): RedisClientState | undefined {
  return clientStates.get(provider);
}

export class RedisProvider extends DriverProvider<FencingToken> implements RedisLocks {
  readonly #client: RedisClientState;
  readonly #driver: RedisDriver;
  readonly #runs: RetryingRequests;

  constructor(parts: ProviderParts, client: RedisClientState, driver: RedisDriver) {
    super(parts);
    this.#client = client;
    this.#driver = driver;
    clientStates.set(this, client);
    this.#runs = new RetryingRequests(this.engine, client.requests, client.channelWaiters);
  }

  fairMutex(name: string, options?: AcquireOptions): Mutex<FencingToken> {
    return this.mutexOfKind("fair-mutex", name, options);
  }

  spinMutex(name: string, options?: AcquireOptions): Mutex<FencingToken> {
    return this.mutexOfKind("spin-mutex", name, options);
  }

  override semaphore(name: string, limit: number, options?: AcquireOptions): PermitSemaphore {
    return this.#withSetters(this.semaphoreOfKind("permit-semaphore", name, limit, options));
  }

  permitSemaphore(name: string, options?: AcquireOptions): PermitSemaphore {
    return this.#withSetters(this.semaphoreOfKind("permit-semaphore", name, null, options));
  }

  plainSemaphore(name: string, limit: number, options?: AcquireOptions): Semaphore<FencingToken> {
    return this.semaphoreOfKind("semaphore", name, limit, options);
  }

  #withSetters(semaphore: Semaphore<FencingToken>): PermitSemaphore {
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
    return new CountDownLatchView(this.engine, name, () => redisLatch(this.#runs, name, key));
  }

  override barrier(name: string): Barrier {
    this.checkNamed("barrier", name);
    const key = this.#driver.keyOf(name);
    return new BarrierView(this.engine, name, () => redisBarrier(this.#runs, key));
  }

  override record(name: string): SharedRecord {
    this.checkNamed("record", name);
    return new RecordView(this.engine, name, redisRecord(this.#runs, this.#driver.keyOf(name)));
  }

  override doubleBarrier(name: string, parties: number): DoubleBarrier {
    this.checkNamed("double-barrier", name);
    const member = () => this.#client.owners.fresh();
    const store = redisDoubleBarrier(this.#runs, this.#driver.keyOf(name), member);
    return new DoubleBarrierView(this.engine, name, parties, store);
  }
}
