import {
  type AcquireOptions,
  type Barrier,
  type CandidacyOptions,
  type CountDownLatch,
  type DoubleBarrier,
  type FencingToken,
  InvalidArgumentError,
  type LeaderElection,
  type LockHandle,
  type LockProvider,
  type Mutex,
  type Semaphore,
  type SharedRecord,
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
import { nodeData } from "../layout/node-data.js";
import { RetryingRequests } from "../recipes/requests/retrying-requests.js";
import { SessionSequence } from "../recipes/session-sequence.js";
import { ZooKeeperBarrier } from "../rendezvous/barrier.js";
import { ZooKeeperDoubleBarrier } from "../rendezvous/double-barrier.js";
import { GroupView } from "../rendezvous/group.js";
import { ZooKeeperLatch } from "../rendezvous/latch.js";
import { zooKeeperRecord } from "../rendezvous/record.js";
import { adoptSession, openSession } from "../session/open-session.js";
import type { RequestMeter } from "../session/request-sender.js";
import type { ZooKeeperSession } from "../session/types.js";
import type { AtomicLong, GroupMembership, GuardedOp, SharedValue } from "../values/api.js";
import { AtomicLongView } from "../values/atomic-long.js";
import { guardedWrite } from "../values/guarded.js";
import { bytesCodec, countCodec, SharedValueView } from "../values/shared-value.js";
import { type DriverOptions, ZooKeeperDriver } from "./driver.js";
import { type ResolvedZooKeeperOptions, resolveOptions, type ZooKeeperLocksOptions } from "./options.js";

/** About the longest time for which events of very many locks may delay a timer of the process. */
const turnMs = 10;

/**
 * Locks on a ZooKeeper ensemble, in Apache Curator's layout, and the other primitives that ZooKeeper has. The methods
 * return at once, send nothing, and throw as those of `LockProvider`. A name that is not a legal path throws
 * `InvalidArgumentError`.
 */
export interface ZooKeeperLocks extends LockProvider<FencingToken> {
  /**
   * A mutex on the nodes of Curator's `InterProcessSemaphoreMutex`. Not re-entrant; fifo.
   */
  semaphoreMutex(name: string, options?: AcquireOptions): Mutex<FencingToken>;

  /**
   * A semaphore on the nodes of Curator's `InterProcessSemaphoreV2`. First come, first served, also for a request for
   * several permits, which are all taken in one transaction.
   *
   * ZooKeeper keeps no limit with the permits. Either every client passes the same number, from 1 to 2^31 - 1, or a
   * shared count keeps the limit and is passed instead (or any object with its `name`). When the count is raised, waiters
   * are granted at once. When it is lowered, that applies to later acquires only. A request for more permits than the
   * count has waits until the count is raised, and so do all requests behind it.
   *
   * `acquire` rejects with `LayoutConflictError` when no node has the name of the count, or when its data is not a count.
   * `acquire` of a `mutex()` on the path of a semaphore rejects. A semaphore on the path of a mutex does not notice the
   * mutex, as with Curator: `inspect()` shows what else is there.
   *
   * @example
   * ```ts
   * const limit = locks.sharedCount("printers/limit", 3);
   * await limit.get(); // creates the count where there is none
   * await using permit = await locks.semaphore("printers/permits", limit).acquire({ waitMs: 10_000 });
   * await print(permit.lost);
   * ```
   */
  semaphore(
    name: string,
    limit: number | { readonly name: string },
    options?: AcquireOptions,
  ): Semaphore<FencingToken>;

  /**
   * A mutex that is one ephemeral node of a fixed name. All waiters watch that node, and there is no order. Each release
   * wakes all waiters, and all but one in vain. This mutex exists to measure that cost; use `mutex()` for work.
   *
   * The node has the same name for every holder. When an operator deletes it by hand, the former holder may send its
   * release before it learns of that. Its delete then removes the node of the next holder, whose lock is `lost`. This
   * cannot happen with `mutex()`, where no two nodes have the same name.
   */
  naiveMutex(name: string, options?: AcquireOptions): Mutex<FencingToken>;

  /** A leader election, in the layout of Curator's `LeaderLatch` or of its `LeaderSelector`. */
  leaderElection(name: string, options?: ZooKeeperElectionOptions): LeaderElection<FencingToken>;

  /**
   * A signed whole number of 32 bits, on the node of Curator's `SharedCount`. `seed` is its value if there is no node
   * yet, and is not used otherwise.
   */
  sharedCount(name: string, seed: number): SharedValue<number>;

  /** Bytes on the node of Curator's `SharedValue`. `seed` is the value if there is no node yet, and is not used otherwise. */
  sharedValue(name: string, seed: Uint8Array): SharedValue<Uint8Array>;

  /** A signed whole number of 64 bits, on the node of Curator's `DistributedAtomicLong`. */
  atomicLong(name: string): AtomicLong;

  /** The present members of a group, on the nodes of Curator's `GroupMember`. */
  groupMembership(name: string): GroupMembership;

  /**
   * Writes nodes in one transaction that begins with a check of the lock's own node. Once the hold is over, ZooKeeper
   * itself refuses the whole transaction, even if this client still believes that it holds. It takes one request. With it
   * a lock needs no token for data that is kept in ZooKeeper. A provider that keeps locks (`keepMs`) gives this lock back
   * at its release.
   *
   * While the hold is in doubt, the call waits for contact. It rejects:
   * - with `LockLostError` when the hold is over, and then nothing was written;
   * - with `NotHeldError` after the release;
   * - with `BackendError` when the server refuses a step, with its code and path as `cause`, and then nothing was
   *   written;
   * - with a `BackendError` that is not retryable when the answer was lost, which its message says;
   * - with `UnsupportedError` for a `naiveMutex`;
   * - with `InvalidArgumentError` for invalid steps and for a handle of another provider.
   *
   * @example
   * ```ts
   * await locks.mutex("/orders/42/lock").withLock(async (lock) => {
   *   await locks.guarded(lock, [{ op: "set", path: "/orders/42/status", data: Buffer.from("sent") }]);
   * });
   * ```
   */
  guarded(lock: LockHandle, ops: readonly GuardedOp[]): Promise<void>;
}

/** The options of a leader election on ZooKeeper. */
export interface ZooKeeperElectionOptions extends CandidacyOptions {
  /**
   * The nodes that the candidates make: those of Curator's `LeaderLatch` (default), or those of its `LeaderSelector`,
   * which are the nodes of a mutex. All candidates for one name must agree: a candidate that finds the other form rejects
   * with `LayoutConflictError`. `leader()`, `participants()` and `observe()` read both forms. The label is the id that
   * Curator's participants show.
   */
  readonly layout?: "latch" | "selector";
}

/** How long `close()` waits for the server to confirm the end of the session. */
const closeWaitMs = 1_000;

/**
 * Locks on ZooKeeper that queue on the same nodes as Apache Curator's `InterProcessMutex` (5.5 and later; a mutex also
 * agrees with 5.4). Returns at once and connects in the background: `ready()` waits for the connection.
 *
 * Throws `InvalidArgumentError` for unknown options and for impossible values. Needs ZooKeeper 3.5.1 or later.
 *
 * @example
 * ```ts
 * import { zookeeperLocks } from "@holdfast/zk-recipes";
 *
 * await using locks = zookeeperLocks({ connect: "zk1:2181,zk2:2181,zk3:2181" });
 * await locks.mutex("orders/42").withLock({ waitMs: 2_000 }, async (lock, { signal }) => {
 *   await charge(order, { fence: lock.token, signal });
 * });
 * ```
 */
export function zookeeperLocks(options: ZooKeeperLocksOptions): ZooKeeperLocks {
  const resolved = resolveOptions(options);
  const { common } = resolved;
  const events = new EventHub({
    provider: common.runtime.randomId(),
    backend: "zookeeper",
    runtime: common.runtime,
  });
  const cluster = options.connect ?? "client";
  const sessions = new SessionSequence({
    runtime: common.runtime,
    connectTimeoutMs: common.connectTimeoutMs,
    renewable: resolved.client === null,
    watchesUnread: resolved.client === null && resolved.openNodes,
    open: () => open(resolved, events),
    onState: (session, state) => {
      if (events.has("session-state")) {
        events.emit("session-state", { state, timeoutMs: session.timeoutMs, cluster });
      }
    },
  });
  const settings: DriverOptions = {
    paths: resolved.paths,
    runtime: common.runtime,
    retry: common.retry,
    identity: common.identity,
    aclOf: resolved.aclOf,
    closeWaitMs,
    connectionPolicy: resolved.connectionPolicy,
    keepAskMs: common.keepAskMs,
    ownsSession: resolved.client === null,
  };
  const driver = new ZooKeeperDriver(sessions, settings);
  return new ZooKeeperProvider({ driver, link: sessions, events, options: common }, sessions, settings);
}

class ZooKeeperProvider extends DriverProvider<FencingToken> implements ZooKeeperLocks {
  readonly #calls: RetryingRequests;
  readonly #identity: boolean;

  constructor(parts: ProviderParts, sessions: SessionSequence, settings: DriverOptions) {
    super(parts);
    this.#calls = new RetryingRequests(this.engine, sessions, settings);
    this.#identity = settings.identity;
  }

  override countDownLatch(name: string): CountDownLatch {
    this.checkNamed("count-down-latch", name);
    return new CountDownLatchView(this.engine, name, () => new ZooKeeperLatch(this.#calls, name));
  }

  override barrier(name: string): Barrier {
    this.checkNamed("barrier", name);
    const store = () => new ZooKeeperBarrier(this.#calls, name, nodeData(this.#identity, null));
    return new BarrierView(this.engine, name, store);
  }

  override doubleBarrier(name: string, parties: number): DoubleBarrier {
    this.checkNamed("double-barrier", name);
    const store = new ZooKeeperDoubleBarrier(this.#calls, name, nodeData(this.#identity, null));
    return new DoubleBarrierView(this.engine, name, parties, store);
  }

  override record(name: string): SharedRecord {
    this.checkNamed("record", name);
    return new RecordView(this.engine, name, zooKeeperRecord(this.#calls, name));
  }

  sharedCount(name: string, seed: number): SharedValue<number> {
    this.checkNamed("shared-count", name);
    return new SharedValueView(this.#calls, name, countCodec.encode("sharedCount: seed", seed), countCodec);
  }

  sharedValue(name: string, seed: Uint8Array): SharedValue<Uint8Array> {
    this.checkNamed("shared-value", name);
    return new SharedValueView(this.#calls, name, bytesCodec.encode("sharedValue: seed", seed), bytesCodec);
  }

  atomicLong(name: string): AtomicLong {
    this.checkNamed("atomic-long", name);
    return new AtomicLongView(this.#calls, name);
  }

  groupMembership(name: string): GroupMembership {
    this.checkNamed("group-membership", name);
    return new GroupView(this.#calls, name, nodeData(this.#identity, null));
  }

  async guarded(lock: LockHandle, ops: readonly GuardedOp[]): Promise<void> {
    await backendCall(this.engine, lock?.name, () => guardedWrite(this.#calls, lock, ops));
  }

  semaphoreMutex(name: string, options?: AcquireOptions): Mutex<FencingToken> {
    return this.mutexOfKind("semaphore-mutex", name, options);
  }

  naiveMutex(name: string, options?: AcquireOptions): Mutex<FencingToken> {
    return this.mutexOfKind("naive-mutex", name, options);
  }

  override semaphore(
    name: string,
    limit: number | { readonly name: string },
    options?: AcquireOptions,
  ): Semaphore<FencingToken> {
    const counted = typeof limit === "object" && limit !== null;
    if (!counted) return this.semaphoreOfKind("semaphore", name, limit, options);
    this.engine.driver.checkName?.(limit.name);
    return this.semaphoreOfKind("semaphore", name, { countedBy: limit.name }, options);
  }

  override leaderElection(
    name: string,
    options: ZooKeeperElectionOptions = {},
  ): LeaderElection<FencingToken> {
    // Core refuses options that are no object.
    if (typeof options !== "object" || options === null) return super.leaderElection(name, options);
    const { layout, ...others } = options;
    if (layout !== undefined && layout !== "latch" && layout !== "selector") {
      throw new InvalidArgumentError(
        `leaderElection: layout must be "latch" or "selector"; got ${String(layout)}`,
      );
    }
    return this.electionOfVariant(layout ?? "latch", name, others);
  }
}

function open(resolved: ResolvedZooKeeperOptions, events: EventHub): ZooKeeperSession {
  const { common, client, target, leaseProof } = resolved;
  const meter: RequestMeter = {
    get wanted() {
      return events.has("request-settled");
    },
    settled: ({ op, tookMs, outcome }) => {
      const unknown = outcome === "outcome-unknown" || outcome === "session-lost";
      events.emit("request-settled", {
        op,
        tookMs,
        outcome: outcome === "ok" ? "ok" : unknown ? "unknown" : "error",
      });
    },
  };
  const { runtime, connectTimeoutMs } = common;
  const shared = { runtime, connectTimeoutMs, leaseProof, meter };
  if (client !== null) return adoptSession(client, shared);
  return openSession({
    ...shared,
    servers: target?.servers ?? [],
    sessionTimeoutMs: resolved.sessionTimeoutMs,
    auth: resolved.auth,
    tls: resolved.tls,
    turnMs,
  });
}
