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
import { checkClusterName } from "../layout/names.js";
import type { RedisDesk } from "../recipes/desk.js";
import { mutexLock } from "../recipes/mutex.js";
import { QueuedAttempt, type QueuedRequest } from "../recipes/queued-attempt.js";
import type { Recipe } from "../recipes/recipe.js";
import { checkLease } from "./lease.js";
import { recipesOf } from "./recipes.js";

export interface DriverSettings {
  readonly keyPrefix: string;
  readonly cluster: boolean;
  readonly closeWaitMs: Millis;
}

/** Kinds that are no grants: the provider makes them itself. */
const rendezvous: readonly PrimitiveKind[] = ["count-down-latch", "barrier", "double-barrier"];

/** Redisson's locks as core's driver: what each kind does is in its recipe. */
export class RedisDriver implements LockDriver {
  readonly capabilities: Capabilities;
  readonly #desk: RedisDesk;
  readonly #settings: DriverSettings;
  readonly #recipes: ReadonlyMap<PrimitiveKind, Recipe>;

  constructor(desk: RedisDesk, settings: DriverSettings) {
    this.#desk = desk;
    this.#settings = settings;
    this.#recipes = recipesOf(desk);
    this.capabilities = {
      backend: "redis",
      lease: "ttl",
      fencing: "best-effort",
      fairness: "none",
      push: true,
      primitives: new Set([...this.#recipes.keys(), ...rendezvous]),
    };
  }

  checkName(name: string): void {
    if (this.#settings.cluster) checkClusterName(this.keyOf(name), "lock");
  }

  /** A latch derives a channel of another form. */
  checkLatchName(name: string): void {
    if (this.#settings.cluster) checkClusterName(this.keyOf(name), "latch");
  }

  /** The name as it is in Redis. */
  keyOf(name: string): string {
    return this.#settings.keyPrefix + name;
  }

  attempt(requests: readonly [GrantRequest, ...GrantRequest[]], listener: AttemptListener): Attempt {
    for (const { kind, name, leaseMs } of requests) checkLease(`${kind} "${name}": leaseMs`, leaseMs);
    if (requests.length > 1) return this.#attemptTogether(requests, listener);
    const [request] = requests;
    return this.#recipe(request.kind, request.name).attempt(request, this.keyOf(request.name), listener);
  }

  /** Mutexes only, which are Redisson's plain locks; in a cluster, those of one slot. */
  jointGroup(kind: PrimitiveKind, name: string): number | null {
    if (kind !== "mutex") return null;
    return this.#desk.line.slotOf(this.keyOf(name)) ?? 0;
  }

  #attemptTogether(requests: readonly GrantRequest[], listener: AttemptListener): Attempt {
    const parts = new Map<string, QueuedRequest>();
    const groups = new Set<number>();
    for (const request of requests) {
      const { kind, name, mayWait } = request;
      const group = this.jointGroup(kind, name);
      if (group === null) throw unsupported(`a ${kind} cannot be acquired together with others`, name);
      groups.add(group);
      if (groups.size > 1) throw unsupported("locks of several slots cannot be acquired together", name);
      if (mayWait)
        throw unsupported("several locks on Redis can be taken at once, but not waited for at once", name);
      const key = this.keyOf(name);
      if (parts.has(key)) {
        throw new InvalidArgumentError(`several locks at once: "${name}" is there twice`, { lockName: name });
      }
      parts.set(key, { lock: mutexLock(this.#desk, name, key), request });
    }
    return new QueuedAttempt(
      this.#desk,
      [...parts.values()] as unknown as [QueuedRequest, ...QueuedRequest[]],
      listener,
    );
  }

  inspect(kind: PrimitiveKind, name: string, options: InspectOptions, limit?: number): Promise<LockSnapshot> {
    return this.#recipe(kind, name).inspect(name, this.keyOf(name), options, limit);
  }

  async requestRevoke(kind: PrimitiveKind, name: string): Promise<boolean> {
    const recipe = this.#recipe(kind, name);
    if (recipe.requestRevoke === undefined) throw unsupported(`holders of a ${kind} cannot be asked`, name);
    return recipe.requestRevoke(name, this.keyOf(name));
  }

  /** Frees a lock under its holder. `false` when nobody held it. */
  async force(kind: PrimitiveKind, name: string): Promise<boolean> {
    const recipe = this.#recipe(kind, name);
    if (recipe.force === undefined) throw unsupported(`a ${kind} cannot be freed by force`, name);
    return recipe.force(name, this.keyOf(name));
  }

  watch(kind: PrimitiveKind, name: string, changed: () => void): () => void {
    const recipe = this.#recipe(kind, name);
    if (recipe.watch === undefined) throw unsupported(`changes of a ${kind} cannot be watched`, name);
    return recipe.watch(this.keyOf(name), changed);
  }

  /** A plain semaphore is a number, so a take of many permits is one subtraction. */
  mostPermits(kind: PrimitiveKind): number {
    return kind === "semaphore" ? 2 ** 31 - 1 : 10_000;
  }

  async limit(name: string, given: PermitLimit | null, kind: PrimitiveKind): Promise<number> {
    const recipe = this.#recipe(kind, name);
    if (typeof given === "object" && given !== null) throw unsupported("Redis keeps no such limit", name);
    const kept = await recipe.limit?.(name, this.keyOf(name));
    return kept ?? given ?? 0;
  }

  async announce(grant: Grant, label: string): Promise<void> {
    const recipe = this.#recipes.get("leader-election");
    if (recipe?.announce === undefined) throw unsupported("nothing can be announced", "");
    await recipe.announce(grant, label);
  }

  attemptBeside(
    write: Grant,
    read: Pick<GrantRequest, "leaseMs" | "label" | "revocable">,
    listener: AttemptListener,
  ): Attempt {
    const recipe = this.#recipes.get("read-write-lock");
    if (recipe?.attemptBeside === undefined) throw unsupported("a write cannot be downgraded", "");
    return recipe.attemptBeside(write, read, listener);
  }

  close(): Promise<void> {
    return this.#desk.close(this.#settings.closeWaitMs);
  }

  #recipe(kind: PrimitiveKind, name: string): Recipe {
    const recipe = this.#recipes.get(kind);
    if (recipe === undefined) throw unsupported(`${kind} is not there on Redis`, name);
    return recipe;
  }
}

function unsupported(message: string, name: string): UnsupportedError {
  return new UnsupportedError(message, { backend: "redis", lockName: name });
}
