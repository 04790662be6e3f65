import { type HoldfastError, ProviderClosedError, type Ticket, type TicketProgress } from "@holdfast/core";
import { sequenceWarnFrom } from "../layout/queue-order.js";
import type { QueueRule } from "../layout/queue-rules.js";
import { eviction, requestFailure } from "./failures.js";
import { Hold } from "./hold.js";
import type { OwnNode, OwnNodeWatch } from "./own-node-watch.js";
import { type Children, type CreateSettings, type CreateSpec, ProtectedCreate } from "./protected-create.js";
import { QueuePlace } from "./queue-place.js";
import { checkSequence } from "./queue-view.js";
import type { SessionDesk } from "./session-desk.js";
import type { SessionLine } from "./session-line.js";

export interface ContenderSpec extends Omit<CreateSpec, "base"> {
  readonly rule: QueueRule;
  readonly mayWait: boolean;
  readonly revocable: boolean;
  /** As in `HoldParts`. */
  readonly endsWhenSuspended?: boolean;
}

/**
 * One request for a lock, from its first node to a hold: a queue node on the present session, and another at the tail
 * of the queue each time a session ends under it.
 */
export class Contender implements Ticket<Hold> {
  readonly granted: Promise<Hold | null>;
  readonly #line: SessionLine;
  readonly #settings: CreateSettings;
  readonly #spec: ContenderSpec;
  readonly #progress: TicketProgress;
  #settle!: { resolve(hold: Hold | null): void; reject(error: unknown): void };
  #settled = false;
  #roundTrips = 0;
  /** Where the present node is, or is being made. */
  #desk: SessionDesk;
  #create: ProtectedCreate | null = null;
  #place: QueuePlace | null = null;
  #node: OwnNode | null = null;
  #leaving: Promise<void> | null = null;
  #hold: Hold | null = null;
  #notOver: () => void = () => {};
  #cancelled: Promise<void> | null = null;

  constructor(line: SessionLine, settings: CreateSettings, spec: ContenderSpec, progress: TicketProgress) {
    this.#line = line;
    this.#desk = line.desk;
    this.#settings = settings;
    this.#spec = spec;
    this.#progress = progress;
    this.granted = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#enter();
  }

  cancel(): Promise<void> {
    this.#cancelled ??= this.#withdraw();
    return this.#cancelled;
  }

  /** On the present session or the next that connects. How long that may take is core's to bound. */
  #enter(): void {
    const { desk } = this.#line;
    if (desk.session.state === "connected") return this.#enterOn(desk);
    this.#notOver = this.#line.onceConnected(
      () => this.#enter(),
      (error) => this.#reject(error),
    );
  }

  #enterOn(desk: SessionDesk): void {
    this.#desk = desk;
    this.#notOver = desk.whenOver(() => this.#sessionOver());
    this.#create = new ProtectedCreate(
      desk,
      this.#settings,
      { ...this.#spec, base: this.#spec.rule.base },
      {
        created: (node, listing) => this.#created(desk, node, listing),
        failed: (error) => {
          this.#notOver();
          this.#reject(error);
        },
      },
    );
    this.#create.start();
  }

  #created(desk: SessionDesk, node: OwnNode, listing: Children): void {
    const { lockName, parent, rule, mayWait } = this.#spec;
    this.#node = node;
    try {
      const sequence = checkSequence(lockName, parent, node.name, rule);
      if (sequence >= sequenceWarnFrom) this.#progress.sequenceHigh(sequence);
    } catch (conflict) {
      return this.#leaveQueue(() => this.#reject(conflict));
    }
    this.#place = new QueuePlace(desk, this.#settings.runtime, { lockName, parent, rule, mayWait }, node, {
      granted: (watch) => this.#grant(desk, node, watch),
      unavailable: () => this.#leaveQueue((refused) => this.#leftUngranted(refused)),
      failed: (error: HoldfastError) => this.#leaveQueue(() => this.#reject(error)),
      notified: () => this.#progress.notified(),
    });
    this.#place.start(listing);
  }

  #grant(desk: SessionDesk, node: OwnNode, watch: OwnNodeWatch | null): void {
    this.#notOver();
    this.#countRoundTrips();
    const hold = new Hold(desk, {
      lockName: this.#spec.lockName,
      data: this.#spec.data,
      nodes: [node],
      watches: watch === null ? [] : [watch],
      token: node.czxid,
      permitIds: [],
      grantedAtMs: this.#settings.runtime.nowMs(),
      roundTrips: this.#roundTrips,
      contended: this.#place?.contended ?? false,
      revocable: this.#spec.revocable,
      endsWhenSuspended: this.#spec.endsWhenSuspended ?? false,
    });
    this.#hold = hold;
    // Not before the rest of what has arrived was heard: the end of our own node may be in it.
    queueMicrotask(() => this.#handOver(desk, hold));
  }

  #handOver(desk: SessionDesk, hold: Hold): void {
    if (this.#cancelled !== null) return;
    if (!hold.over) return this.#resolve(hold);
    // Nobody has had it: what ended is a place in the queue.
    this.#hold = null;
    this.#create = null;
    this.#place = null;
    if (desk.over) return this.#sessionOver();
    this.#notOver = desk.whenOver(() => this.#sessionOver());
    this.#askWhy(desk);
  }

  /** Our node was deleted by somebody, or went with the session: only an answer that passed through the leader tells which. */
  #askWhy(desk: SessionDesk): void {
    desk.session.prove((outcome) => {
      if (this.#settled || this.#cancelled !== null || this.#desk !== desk) return;
      if (!outcome.ok) return desk.whenUsable(() => this.#askWhy(desk));
      const { path } = this.#node as OwnNode;
      this.#leaveQueue(() => this.#reject(eviction(this.#spec.lockName, path)));
    });
  }

  /**
   * Deletes our node and then tells, so that whoever is told finds the queue without it. When contact breaks it tells at
   * once: the delete goes on by itself. `refused`: the server said no for good, and the node stays as long as the session.
   */
  #leaveQueue(then: (refused: HoldfastError | null) => void): void {
    this.#notOver();
    const { session, deletions } = this.#desk;
    const { path } = this.#node as OwnNode;
    this.#node = null;
    const forgetState = session.onState(() => then(null));
    this.#leaving = new Promise((resolve, reject) => {
      deletions.delete(path, (_outcome, error) => {
        forgetState();
        const { lockName } = this.#spec;
        const refused =
          error === null ? null : requestFailure(`taking ${path} off the queue`, error, session, lockName);
        then(refused);
        if (refused === null) resolve();
        else reject(refused);
      });
    });
    // For `cancel()`, which may never come.
    this.#leaving.catch(() => {});
  }

  #leftUngranted(refused: HoldfastError | null): void {
    if (refused === null) this.#resolve(null);
    else this.#reject(refused);
  }

  /** Our node is gone with its session, or will be: a place at the tail of the queue is all there is to have. */
  #sessionOver(): void {
    if (this.#settled || this.#cancelled !== null) return;
    this.#countRoundTrips();
    const queued = this.#node !== null;
    this.#place?.leave();
    this.#create = null;
    this.#place = null;
    this.#node = null;
    if (this.#line.closed) {
      const { lockName } = this.#spec;
      return this.#reject(
        new ProviderClosedError(`${lockName}: the provider was closed`, { lockName, backend: "zookeeper" }),
      );
    }
    if (queued) this.#progress.requeued("session-lost");
    this.#enter();
  }

  async #withdraw(): Promise<void> {
    this.#notOver();
    this.#place?.leave();
    try {
      if (this.#hold !== null) {
        await this.#hold.release();
      } else if (this.#node !== null) {
        this.#leaveQueue(() => {});
        await this.#leaving;
      } else if (this.#leaving !== null) {
        await this.#leaving;
      } else if (this.#create !== null) {
        const create = this.#create;
        await new Promise<void>((resolve) => create.abandon(resolve));
      }
    } finally {
      this.#resolve(null);
    }
  }

  #countRoundTrips(): void {
    this.#roundTrips += (this.#create?.roundTrips ?? 0) + (this.#place?.roundTrips ?? 0);
  }

  #resolve(hold: Hold | null): void {
    this.#settled = true;
    this.#settle.resolve(hold);
  }

  #reject(error: unknown): void {
    this.#settled = true;
    this.#settle.reject(error);
  }
}
