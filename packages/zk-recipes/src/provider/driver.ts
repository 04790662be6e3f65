import {
  type Capabilities,
  type InspectOptions,
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
import { candidateData, type ElectionLayout, nodeData } from "../layout/node-data.js";
import { latchRule, mutexRule, type QueueRule, readRule, writeRule } from "../layout/queue-rules.js";
import { checkChroot } from "../recipes/create/chroot.js";
import type { CreateSettings } from "../recipes/create/create-settings.js";
import { announce } from "../recipes/grant/announce.js";
import type { ZooKeeperGrant } from "../recipes/grant/zookeeper-grant.js";
import { inspectPath } from "../recipes/inspect/inspect.js";
import { requestRevoke } from "../recipes/inspect/revoke.js";
import { NaiveAttempt } from "../recipes/naive/naive-attempt.js";
import { DowngradeAttempt } from "../recipes/queue/downgrade-attempt.js";
import {
  checkDistinct,
  QueueAttempt,
  type QueueSpec,
  type QueueSpecs,
} from "../recipes/queue/queue-attempt.js";
import { watchQueue } from "../recipes/queue/watch-queue.js";
import { fetchCount, type PermitCount } from "../recipes/semaphore/permit-count.js";
import { checkBatch, SemaphoreAttempt } from "../recipes/semaphore/semaphore-attempt.js";
import type { SessionAttempt } from "../recipes/session-attempt.js";
import type { SessionSequence } from "../recipes/session-sequence.js";

export const capabilities: Capabilities = {
  backend: "zookeeper",
  lease: "session",
  fencing: "durable",
  fairness: "fifo",
  push: true,
  primitives: new Set<PrimitiveKind>([
    "mutex",
    "reentrant-mutex",
    "read-write-lock",
    "reentrant-read-write-lock",
    "count-down-latch",
    "barrier",
    "double-barrier",
    "record",
    "shared-count",
    "shared-value",
    "atomic-long",
    "group-membership",
    "leader-election",
    "semaphore",
    "semaphore-mutex",
    "naive-mutex",
  ]),
};

export interface DriverOptions extends CreateSettings {
  readonly identity: boolean;
  readonly closeWaitMs: Millis;
  readonly connectionPolicy: "session" | "standard";
  readonly keepAskMs: Millis;
  /** The session is the provider's own, and ends with the provider. */
  readonly ownsSession: boolean;
}

function electionLayout(variant: string | null): ElectionLayout {
  return variant === "selector" ? "selector" : "latch";
}

function ruleOf({ kind, mode, variant }: GrantRequest): QueueRule {
  if (kind === "leader-election") return electionLayout(variant) === "latch" ? latchRule : mutexRule;
  if (kind === "read-write-lock" || kind === "reentrant-read-write-lock") {
    return mode === "exclusive" ? writeRule : readRule;
  }
  return mutexRule;
}

/** Kinds with a queue right below the path of the lock. */
const queued: ReadonlySet<PrimitiveKind> = new Set([
  "mutex",
  "reentrant-mutex",
  "read-write-lock",
  "reentrant-read-write-lock",
]);

/** The queued kinds whose locks can be requested together, in one attempt. */
const joint: ReadonlySet<PrimitiveKind> = new Set(["mutex", "read-write-lock"]);

/** Curator's recipes as core's driver. */
export class ZooKeeperDriver implements LockDriver {
  readonly capabilities: Capabilities = capabilities;
  readonly keeps = true;
  readonly closeReleasesAll: boolean;
  readonly #sessions: SessionSequence;
  readonly #options: DriverOptions;
  /** The data of a queue node whose request has no label. */
  readonly #plainData: Uint8Array;

  constructor(sessions: SessionSequence, options: DriverOptions) {
    this.#sessions = sessions;
    this.#options = options;
    this.closeReleasesAll = options.ownsSession;
    this.#plainData = nodeData(options.identity, null);
  }

  checkName(name: string): void {
    this.#pathOf(name);
  }

  attempt(requests: readonly [GrantRequest, ...GrantRequest[]], listener: AttemptListener): Attempt {
    return started(
      requests.length === 1 ? this.#one(requests[0], listener) : this.#several(requests, listener),
    );
  }

  #one(request: GrantRequest, listener: AttemptListener): SessionAttempt {
    const { kind, name, mayWait, revocable, permits } = request;
    if (!this.capabilities.primitives.has(kind)) {
      throw new UnsupportedError(`${kind} is not there on ZooKeeper yet`, { backend: "zookeeper" });
    }
    const { context } = this.#sessions;
    const settings = this.#options;
    if (kind !== "naive-mutex" && kind !== "semaphore" && kind !== "semaphore-mutex") {
      return new QueueAttempt(context, settings, [this.#queueSpec(request)], listener);
    }
    const path = this.#pathOf(name);
    const spec = { lockName: name, path, data: this.#dataOf(request), mayWait, revocable };
    if (kind === "naive-mutex") return new NaiveAttempt(context, settings, spec, listener);
    const limited = { ...spec, permits, limit: this.#countOf(request.limit) };
    checkBatch(limited, settings);
    return new SemaphoreAttempt(context, settings, limited, listener);
  }

  #several(requests: readonly GrantRequest[], listener: AttemptListener): SessionAttempt {
    for (const { kind, name } of requests) {
      if (queued.has(kind)) continue;
      throw new UnsupportedError(`a ${kind} cannot be acquired together with others in one transaction`, {
        backend: "zookeeper",
        lockName: name,
      });
    }
    // `keepAskMs` 0: a request that stayed behind a kept node in one queue would keep other clients out of another lock
    // that is free.
    const specs = requests.map((request) => ({
      ...this.#queueSpec(request),
      keepAskMs: 0,
    })) as unknown as QueueSpecs;
    checkDistinct(specs);
    return new QueueAttempt(this.#sessions.context, this.#options, specs, listener);
  }

  #queueSpec(request: GrantRequest): QueueSpec {
    const { kind, name, mayWait, revocable, keepable } = request;
    return {
      keepable,
      keepAskMs: this.#options.keepAskMs,
      lockName: name,
      parent: this.#pathOf(name),
      rule: ruleOf(request),
      data: this.#dataOf(request),
      mayWait,
      revocable,
      endsWhenSuspended: kind === "leader-election" && this.#options.connectionPolicy === "standard",
    };
  }

  jointGroup(kind: PrimitiveKind): number | null {
    return joint.has(kind) ? 0 : null;
  }

  attemptBeside(
    write: Grant,
    { revocable }: Pick<GrantRequest, "revocable">,
    listener: AttemptListener,
  ): Attempt {
    return started(new DowngradeAttempt(this.#options, write as ZooKeeperGrant, revocable, listener));
  }

  /**
   * The limit as the shared count has it. Without a shared count no server keeps the limit, and the client's own number
   * is the answer.
   */
  async limit(name: string, given: PermitLimit | null): Promise<number> {
    const limit = this.#countOf(given);
    if (typeof limit === "number") return limit;
    await this.#sessions.whenConnected();
    return fetchCount(name, limit.countPath, this.#sessions.context.session);
  }

  #pathOf(name: string): string {
    return this.#options.paths.pathOf(name);
  }

  /**
   * The permits: as given, or by the path of the shared count. Without a limit it is a mutex on a semaphore's nodes,
   * which has 1 permit.
   */
  #countOf(limit: PermitLimit | null): PermitCount {
    if (limit === null) return 1;
    return typeof limit === "number" ? limit : { countPath: this.#pathOf(limit.countedBy) };
  }

  #dataOf({ kind, variant, label }: GrantRequest): Uint8Array {
    const { identity } = this.#options;
    if (kind === "leader-election") return candidateData(electionLayout(variant), identity, label);
    return label === null ? this.#plainData : nodeData(identity, label);
  }

  /** With an empty label the node has no data in either layout, so no participant shows a label. */
  async announce(grant: Grant, label: string): Promise<void> {
    await announce(this.#options, grant as ZooKeeperGrant, candidateData("latch", false, label));
  }

  watch(kind: PrimitiveKind, name: string, changed: () => void): () => void {
    if (kind !== "leader-election" && !queued.has(kind)) {
      throw new UnsupportedError(`changes of a ${kind} cannot be watched`, {
        backend: "zookeeper",
        lockName: name,
      });
    }
    return watchQueue(this.#sessions, this.#pathOf(name), changed);
  }

  async requestRevoke(kind: PrimitiveKind, name: string): Promise<boolean> {
    const path = this.#pathOf(name);
    await this.#sessions.whenConnected();
    const asked = await requestRevoke(this.#sessions.context.session, { kind, lockName: name, path });
    if (!asked) await this.#checkChroot(name);
    return asked;
  }

  async inspect(
    kind: PrimitiveKind,
    name: string,
    options: InspectOptions,
    limit?: number,
  ): Promise<LockSnapshot> {
    const path = this.#pathOf(name);
    options.signal?.throwIfAborted();
    await this.#sessions.whenConnected(options.signal === undefined ? {} : { signal: options.signal });
    const spec = { kind, lockName: name, path, limit };
    const snapshot = await inspectPath(this.#sessions.context, spec, options);
    if (snapshot.kind === null) await this.#checkChroot(name);
    return snapshot;
  }

  /** The lock was not found: it may be unused, or the chroot may be wrong. */
  #checkChroot(name: string): Promise<void> {
    return checkChroot(this.#options.paths.chroot, this.#sessions.context.session, name);
  }

  close(): Promise<void> {
    return this.#sessions.close(this.#options.closeWaitMs);
  }
}

function started(attempt: SessionAttempt): Attempt {
  attempt.start();
  return attempt;
}
