import {
  type Capabilities,
  type InspectOptions,
  InvalidArgumentError,
  type LockSnapshot,
  type Millis,
  type PrimitiveKind,
  UnsupportedError,
} from "@holdfast/core";
import type {
  Attempt,
  AttemptListener,
  Grant,
  GrantRequest,
  LockDriver,
  PermitLimit,
} from "@holdfast/core/driver";
import { RecentMap } from "@holdfast/core/internal";
import { ofLock } from "../client/errors.js";
import { checkClusterName } from "../layout/names.js";
import type { RedisClientState } from "../recipes/attempts/client-state.js";
import { PolledAttempt, type PolledRequest } from "../recipes/attempts/polled-attempt.js";
import { QueuedAttempt, type QueuedRequest } from "../recipes/attempts/queued-attempt.js";
import type { RedisGrant } from "../recipes/grants/redis-grant.js";
import type { FieldsKind, LockKeys, RedisKind } from "../recipes/kinds/kind.js";
import { redisKinds } from "../recipes/kinds/table.js";
import { inspectLock, inspectPermits, permitLimit } from "../recipes/operators/inspect.js";
import { forceRelease, requestRevoke } from "../recipes/operators/revoke-and-force.js";
import { announce } from "../recipes/queue/election-labels.js";
import { QueuedLock } from "../recipes/queue/queued-lock.js";
import { checkLease } from "./options.js";

export interface DriverSettings {
  readonly keyPrefix: string;
  readonly cluster: boolean;
  readonly closeWaitMs: Millis;
}

/** One lock: the record of its kind, and its names in Redis. */
interface Lock {
  readonly kind: PrimitiveKind;
  /** The name as the caller gave it. */
  readonly name: string;
  readonly record: RedisKind;
  readonly keys: LockKeys;
  /** Set for kinds that have a queue of ours. */
  readonly queued: QueuedLock | undefined;
}

/** Kinds that are not granted, so that the driver has no attempt for them: the provider makes them itself. */
const rendezvous: readonly PrimitiveKind[] = ["count-down-latch", "barrier", "double-barrier", "record"];
/** For how many locks of each kind the names are kept, the most recent ones; they take about 1 KB for each lock. */
const rememberedLocks = 250;

/** Redisson's locks as a driver for core. What each kind does is in its record. */
export class RedisDriver implements LockDriver {
  readonly capabilities: Capabilities = {
    backend: "redis",
    lease: "ttl",
    fencing: "best-effort",
    fairness: "none",
    push: true,
    primitives: new Set([...redisKinds.keys(), ...rendezvous]),
  };
  readonly keeps = true;
  readonly #client: RedisClientState;
  readonly #settings: DriverSettings;
  readonly #locks = new Map<PrimitiveKind, RecentMap<string, Lock>>();

  constructor(client: RedisClientState, settings: DriverSettings) {
    this.#client = client;
    this.#settings = settings;
  }

  checkName(name: string): void {
    if (this.#settings.cluster) checkClusterName(this.keyOf(name), "lock");
  }

  /** A latch derives a channel of another form, so its names have a check of their own. */
  checkLatchName(name: string): void {
    if (this.#settings.cluster) checkClusterName(this.keyOf(name), "latch");
  }

  /** The name as Redis has it. */
  keyOf(name: string): string {
    return this.#settings.keyPrefix + name;
  }

  attempt(requests: readonly [GrantRequest, ...GrantRequest[]], listener: AttemptListener): Attempt {
    for (const { kind, name, leaseMs } of requests) checkLease(`${kind} "${name}": leaseMs`, leaseMs);
    if (requests.length > 1) return this.#attemptTogether(requests, listener);
    const [request] = requests;
    const lock = this.#lock(request.kind, request.name);
    if (lock.queued !== undefined && request.mode === "exclusive")
      return new QueuedAttempt(this.#client, [{ lock: lock.queued, request }], listener);
    return this.#poll(lock, request, listener);
  }

  #poll(lock: Lock, request: PolledRequest, listener: AttemptListener, beside?: RedisGrant): Attempt {
    const { name, keys, kind } = lock;
    const scripts = lock.record.polled;
    if (scripts === undefined) throw unsupported(`a ${kind} cannot be shared`, name);
    return new PolledAttempt(this.#client, { name, keys, scripts }, request, listener, beside);
  }

  /** Several mutexes can be acquired together, since they are Redisson's plain locks; in a cluster, only those of one slot. */
  jointGroup(kind: PrimitiveKind, name: string): number | null {
    if (kind !== "mutex") return null;
    return this.#client.line.slotOf(this.keyOf(name)) ?? 0;
  }

  #attemptTogether(requests: readonly GrantRequest[], listener: AttemptListener): Attempt {
    const parts = new Map<string, QueuedRequest>();
    const groups = new Set<number>();
    for (const request of requests) {
      const { kind, name, mayWait } = request;
      const group = this.jointGroup(kind, name);
      const lock = this.#lock(kind, name).queued;
      if (group === null || lock === undefined)
        throw unsupported(`a ${kind} cannot be acquired together with others`, name);
      groups.add(group);
      if (groups.size > 1) throw unsupported("locks of several slots cannot be acquired together", name);
      if (mayWait)
        throw unsupported("several locks on Redis can be taken at once, but not waited for at once", name);
      if (parts.has(name))
        throw new InvalidArgumentError(`several locks at once: "${name}" is there twice`, { lockName: name });
      parts.set(name, { lock, request });
    }
    const [first, ...others] = parts.values();
    return new QueuedAttempt(this.#client, [first as QueuedRequest, ...others], listener);
  }

  /**
   * The read has the same owner as the write, as Redisson's layout requires. The write ends by its own release, which wakes
   * waiting readers.
   */
  attemptBeside(
    write: Grant,
    read: Pick<GrantRequest, "leaseMs" | "label" | "revocable">,
    listener: AttemptListener,
  ): Attempt {
    const grant = write as RedisGrant;
    const request = { ...read, permits: 1, limit: null, mayWait: false };
    return this.#poll(this.#lock("read-write-lock", grant.spec.lock.name), request, listener, grant);
  }

  async inspect(
    kind: PrimitiveKind,
    name: string,
    options: InspectOptions,
    limit = 0,
  ): Promise<LockSnapshot> {
    const lock = this.#lock(kind, name);
    if (lock.record.look === undefined) return await inspectPermits(this.#client, lock, options, limit);
    return await inspectLock(this.#client, lock.record as FieldsKind, lock, options);
  }

  async requestRevoke(kind: PrimitiveKind, name: string): Promise<boolean> {
    const lock = this.#lock(kind, name);
    return await requestRevoke(this.#client.requests, lock.record, lock);
  }

  /** Frees a lock although it is held. `false` when it was free. */
  async force(kind: PrimitiveKind, name: string): Promise<boolean> {
    const lock = this.#lock(kind, name);
    if (lock.record.force === undefined) throw unsupported(`a ${kind} cannot be freed by force`, name);
    return await forceRelease(this.#client.requests, lock.record as FieldsKind, lock);
  }

  watch(kind: PrimitiveKind, name: string, changed: () => void): () => void {
    const { changes } = this.#lock(kind, name).keys;
    if (changes === "") throw unsupported(`changes of a ${kind} cannot be watched`, name);
    return this.#client.channelWaiters.watch(changes, "plain", changed);
  }

  /** A plain semaphore is a number, so a take of many permits is one subtraction. */
  mostPermits(kind: PrimitiveKind): number {
    return kind === "semaphore" ? 2 ** 31 - 1 : 10_000;
  }

  async limit(name: string, given: PermitLimit | null, kind: PrimitiveKind): Promise<number> {
    if (typeof given === "object" && given !== null) throw unsupported("Redis keeps no such limit", name);
    if (kind !== "permit-semaphore") return given ?? 0;
    return (await permitLimit(this.#client.requests, name, this.keyOf(name))) ?? given ?? 0;
  }

  async announce(grant: Grant, label: string): Promise<void> {
    const own = grant as RedisGrant;
    await announce(this.#client.requests, this.#lock("leader-election", own.spec.lock.name).keys, own, label);
  }

  close(): Promise<void> {
    return this.#client.close(this.#settings.closeWaitMs);
  }

  #lock(kind: PrimitiveKind, name: string): Lock {
    const known = this.#locks.get(kind)?.get(name);
    if (known !== undefined) return known;
    const record = redisKinds.get(kind);
    if (record === undefined) throw unsupported(`${kind} is not there on Redis`, name);
    const keys = record.keysOf(this.keyOf(name));
    const queued = record.queued && new QueuedLock(name, keys, record.queued, this.#client.requests);
    const lock = { kind, name, record, keys, queued };
    const remembered = this.#locks.get(kind) ?? new RecentMap<string, Lock>(rememberedLocks);
    this.#locks.set(kind, remembered);
    remembered.set(name, lock);
    return lock;
  }
}

function unsupported(message: string, name: string): UnsupportedError {
  return new UnsupportedError(message, ofLock(name));
}
