import {
  type Capabilities,
  type Grant,
  type GrantRequest,
  type InspectOptions,
  InvalidArgumentError,
  type LockDriver,
  type LockSnapshot,
  type Millis,
  type PermitLimit,
  type PrimitiveKind,
  type Ticket,
  type TicketProgress,
  UnsupportedError,
} from "@holdfast/core";
import { candidateData, type ElectionLayout, nodeData } from "../layout/node-data.js";
import { latchRule, mutexRule, type QueueRule, readRule, writeRule } from "../layout/queue-rules.js";
import { announce } from "../recipes/announce.js";
import { checkChroot } from "../recipes/chroot.js";
import type { CreateSettings } from "../recipes/create-settings.js";
import { downgrade } from "../recipes/downgrade.js";
import type { Hold } from "../recipes/hold.js";
import { inspectPath } from "../recipes/inspect.js";
import { requestNaive } from "../recipes/naive-mutex.js";
import { fetchCount } from "../recipes/permit-count.js";
import { requestPlace } from "../recipes/queue-lock.js";
import { requestAll } from "../recipes/request-all.js";
import type { QueueParts } from "../recipes/request-all-attempt.js";
import { requestRevoke } from "../recipes/revoke.js";
import { permitsThereAre, requestPermits } from "../recipes/semaphore.js";
import type { SessionLine } from "../recipes/session-line.js";
import { watchQueue } from "../recipes/watch-queue.js";

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

/** Kinds whose grants are places in a queue right below the path. */
const queued: ReadonlySet<PrimitiveKind> = new Set([
  "mutex",
  "reentrant-mutex",
  "read-write-lock",
  "reentrant-read-write-lock",
]);

const silent: TicketProgress = {
  waiting: () => {},
  notified: () => {},
  requeued: () => {},
  sequenceHigh: () => {},
};

/** Curator's recipes as core's driver. */
export class ZooKeeperDriver implements LockDriver {
  readonly capabilities: Capabilities = capabilities;
  readonly #line: SessionLine;
  readonly #options: DriverOptions;

  constructor(line: SessionLine, options: DriverOptions) {
    this.#line = line;
    this.#options = options;
  }

  checkName(name: string): void {
    this.#options.paths.pathOf(name);
  }

  request(request: GrantRequest, progress: TicketProgress): Ticket {
    if (!this.capabilities.primitives.has(request.kind)) {
      throw new UnsupportedError(`${request.kind} is not there on ZooKeeper yet`, { backend: "zookeeper" });
    }
    const { kind, mayWait, revocable } = request;
    const common = {
      lockName: request.name,
      path: this.#pathOf(request.name),
      data: this.#dataOf(request),
      mayWait,
      revocable,
    };
    if (kind === "naive-mutex") return requestNaive(this.#line, this.#options, common, progress);
    if (kind === "semaphore" || kind === "semaphore-mutex") {
      const limit = permitsThereAre(request.limit, this.#pathOf);
      const spec = { ...common, permits: request.permits, limit };
      return requestPermits(this.#line, this.#options, spec, progress);
    }
    const spec = {
      ...common,
      parent: common.path,
      rule: ruleOf(request),
      endsWhenSuspended: kind === "leader-election" && this.#options.connectionPolicy === "standard",
    };
    return requestPlace(this.#line, this.#options, spec, progress);
  }

  requestAll(requests: readonly GrantRequest[], progress: TicketProgress = silent): Ticket<readonly Grant[]> {
    const parts = requests.map((request) => {
      const { name, kind, mayWait, revocable } = request;
      if (!queued.has(kind)) {
        throw new UnsupportedError(`a ${kind} cannot be acquired together with others in one transaction`, {
          backend: "zookeeper",
          lockName: name,
        });
      }
      const parent = this.#pathOf(name);
      return {
        lockName: name,
        parent,
        rule: ruleOf(request),
        data: this.#dataOf(request),
        mayWait,
        revocable,
      };
    });
    if (parts.length === 0) {
      throw new InvalidArgumentError("several locks at once: give at least one", { backend: "zookeeper" });
    }
    return requestAll(this.#line, this.#options, parts as unknown as QueueParts, progress);
  }

  /** Where no shared count keeps the limit, nobody does: then it is what the client was told. */
  async limit(name: string, given: PermitLimit | null): Promise<number> {
    const limit = permitsThereAre(given, this.#pathOf);
    if (typeof limit === "number") return limit;
    await this.#line.whenConnected();
    return fetchCount(name, limit.countPath, this.#line.desk.session);
  }

  readonly #pathOf = (name: string): string => this.#options.paths.pathOf(name);

  #dataOf({ kind, variant, label }: GrantRequest): Uint8Array {
    const { identity } = this.#options;
    if (kind === "leader-election") return candidateData(electionLayout(variant), identity, label);
    return nodeData(identity, label);
  }

  /** An empty label leaves no data in the node, whatever the layout: nobody shows anything then. */
  async announce(grant: Grant, label: string): Promise<void> {
    await announce(this.#options, grant as Hold, candidateData("latch", false, label));
  }

  watch(kind: PrimitiveKind, name: string, changed: () => void): () => void {
    if (kind !== "leader-election" && !queued.has(kind)) {
      throw new UnsupportedError(`changes of a ${kind} cannot be watched`, {
        backend: "zookeeper",
        lockName: name,
      });
    }
    return watchQueue(this.#line, this.#options.paths.pathOf(name), changed);
  }

  downgrade(write: Grant, { revocable }: Pick<GrantRequest, "revocable">): Promise<Grant> {
    return downgrade(this.#options, write as Hold, revocable);
  }

  async requestRevoke(kind: PrimitiveKind, name: string): Promise<boolean> {
    const path = this.#options.paths.pathOf(name);
    await this.#line.whenConnected();
    const asked = await requestRevoke(this.#line.desk.session, kind, name, path);
    if (!asked) await this.#checkChroot(name);
    return asked;
  }

  async inspect(
    kind: PrimitiveKind,
    name: string,
    options: InspectOptions,
    limit?: number,
  ): Promise<LockSnapshot> {
    const path = this.#options.paths.pathOf(name);
    options.signal?.throwIfAborted();
    await this.#line.whenConnected(options.signal === undefined ? {} : { signal: options.signal });
    const spec = { kind, lockName: name, path, limit };
    const snapshot = await inspectPath(this.#line.desk, this.#options.runtime, spec, options);
    if (snapshot.kind === null) await this.#checkChroot(name);
    return snapshot;
  }

  /** Nothing there may be a lock that nobody uses, or a chroot that is wrong. */
  #checkChroot(name: string): Promise<void> {
    return checkChroot(this.#options.paths.chroot, this.#line.desk.session, name);
  }

  close(): Promise<void> {
    return this.#line.close(this.#options.closeWaitMs);
  }
}
