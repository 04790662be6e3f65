import {
  type Capabilities,
  type GrantRequest,
  type InspectOptions,
  type LockDriver,
  type LockSnapshot,
  type Millis,
  type PrimitiveKind,
  type Ticket,
  type TicketProgress,
  UnsupportedError,
} from "@holdfast/core";
import { nodeData } from "../layout/node-data.js";
import { mutexBase } from "../layout/queue-order.js";
import { checkChroot } from "../recipes/chroot.js";
import { Contender } from "../recipes/contender.js";
import { inspectQueue } from "../recipes/inspect.js";
import type { CreateSettings } from "../recipes/protected-create.js";
import { requestRevoke } from "../recipes/revoke.js";
import type { SessionLine } from "../recipes/session-line.js";

export const capabilities: Capabilities = {
  backend: "zookeeper",
  lease: "session",
  fencing: "durable",
  fairness: "fifo",
  push: true,
  primitives: new Set<PrimitiveKind>(["mutex", "reentrant-mutex"]),
};

export interface DriverOptions extends CreateSettings {
  readonly identity: boolean;
  readonly closeWaitMs: Millis;
}

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
    return new Contender(
      this.#line,
      this.#options,
      {
        lockName: request.name,
        parent: this.#options.paths.pathOf(request.name),
        base: mutexBase,
        data: nodeData(this.#options.identity, request.label),
        mayWait: request.mayWait,
        revocable: request.revocable,
      },
      progress,
    );
  }

  async requestRevoke(_kind: PrimitiveKind, name: string): Promise<boolean> {
    const path = this.#options.paths.pathOf(name);
    await this.#line.whenConnected();
    const asked = await requestRevoke(this.#line.desk.session, name, path);
    if (!asked) await this.#checkChroot(name);
    return asked;
  }

  async inspect(_kind: PrimitiveKind, name: string, options: InspectOptions): Promise<LockSnapshot> {
    const path = this.#options.paths.pathOf(name);
    options.signal?.throwIfAborted();
    await this.#line.whenConnected(options.signal === undefined ? {} : { signal: options.signal });
    const snapshot = await inspectQueue(this.#line.desk, this.#options.runtime, name, path, options);
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
