import type { HoldfastError } from "@holdfast/core";
import { joinPath } from "@holdfast/zk-protocol";
import { leaseBase } from "../layout/queue-order.js";
import { mutexRule } from "../layout/queue-rules.js";
import { type AttemptListener, TakingBack } from "./attempt.js";
import type { CreateSettings } from "./create-settings.js";
import { requestFailure } from "./failures.js";
import { Hold } from "./hold.js";
import type { Children } from "./node-search.js";
import { type OwnNode, OwnNodeWatch } from "./own-node-watch.js";
import { PermitGate, type PermitsThereAre } from "./permit-gate.js";
import { PermitTaking } from "./permit-taking.js";
import { ProtectedCreate } from "./protected-create.js";
import { QueuePlace } from "./queue-place.js";
import { SessionAttempt } from "./session-attempt.js";
import type { SessionDesk } from "./session-desk.js";

export interface SemaphoreSpec {
  readonly lockName: string;
  readonly path: string;
  readonly data: Uint8Array;
  readonly permits: number;
  readonly limit: PermitsThereAre;
  readonly mayWait: boolean;
  readonly revocable: boolean;
}

/** The children of a semaphore's path (Curator's `InterProcessSemaphoreV2`): a mutex, and the permits. */
export function semaphorePaths(path: string): { readonly queue: string; readonly leases: string } {
  return { queue: joinPath(path, "locks"), leases: joinPath(path, "leases") };
}

/**
 * Permits of a semaphore on the nodes of Curator's `InterProcessSemaphoreV2`, on one session.
 *
 * Whoever heads the queue under `locks`, and nobody else, may put leases under `leases`; it waits there for room and
 * then takes all its permits in one transaction, to be checked once more behind it. Where Curator's waiting head keeps a
 * lease in its hands, ours has none before there is room.
 */
export class SemaphoreAttempt extends SessionAttempt<Hold> {
  readonly #spec: SemaphoreSpec;
  readonly #queue: string;
  readonly #gate: PermitGate;
  readonly #taking: PermitTaking;
  readonly #entry: ProtectedCreate;
  #node: OwnNode | null = null;
  #place: QueuePlace | null = null;
  #ownWatch: OwnNodeWatch | null = null;
  #waited = false;

  constructor(
    desk: SessionDesk,
    settings: CreateSettings,
    spec: SemaphoreSpec,
    listener: AttemptListener<Hold>,
    roundTripsBefore: number,
  ) {
    super(desk, settings, listener, roundTripsBefore);
    const { lockName, path, data, permits, limit } = spec;
    const { queue, leases } = semaphorePaths(path);
    this.#spec = spec;
    this.#queue = queue;
    this.#gate = new PermitGate(
      desk,
      { lockName, leases, permits, limit },
      {
        open: () => this.#take(),
        full: () => this.#wait(),
        changed: () => listener.notified(),
        failed: (error) => this.fail(error),
      },
    );
    this.#taking = new PermitTaking(
      desk,
      settings,
      { lockName, leases, data, permits },
      {
        limit: () => this.#gate.limit,
        accepts: (node) => this.checkNumber(lockName, leases, node, { bases: [leaseBase] }),
        taken: (nodes) => this.#grant(nodes),
        full: () => {
          this.#gate.forget();
          this.#wait();
        },
        missing: (lease) => this.evicted(lockName, lease),
        failed: (error) => this.fail(error),
      },
    );
    this.#entry = new ProtectedCreate(
      desk,
      settings,
      {
        lockName,
        parent: queue,
        base: mutexRule.base,
        data,
        siblings: [leases],
        readAlong: () => this.#gate.readAlong(),
      },
      {
        created: (node, listing) => this.#entered(node, listing),
        failed: (error) => this.fail(error),
      },
    );
  }

  override get roundTrips(): number {
    const place = this.#place?.roundTrips ?? 0;
    return this.#entry.roundTrips + place + this.#gate.roundTrips + this.#taking.roundTrips;
  }

  override get queued(): boolean {
    return this.#node !== null;
  }

  override start(): void {
    this.#entry.start();
  }

  override drop(): void {
    super.drop();
    this.#place?.leave();
    this.#ownWatch?.stop();
    this.#gate.stop();
    this.#taking.stop();
  }

  override withdraw(gone: (refused: HoldfastError | null) => void): void {
    this.drop();
    const back = new TakingBack(this.desk, this.#spec.lockName, gone);
    this.desk.session.batch(() => {
      back.create(this.#entry);
      this.#taking.takeBack(back);
      if (this.#node !== null) back.node(this.#node.path);
      back.end();
    });
  }

  // ---- the queue

  #entered(node: OwnNode, listing: Children): void {
    if (this.over) return;
    const { lockName, mayWait } = this.#spec;
    this.#node = node;
    if (!this.checkNumber(lockName, this.#queue, node, mutexRule)) return;
    let atOnce = true;
    this.#place = new QueuePlace(
      this.desk,
      { lockName, parent: this.#queue, rule: mutexRule, mayWait },
      node,
      {
        granted: (watch) => this.#head(watch, atOnce),
        unavailable: () => this.unavailable(),
        failed: (error) => this.fail(error),
        waiting: () => this.listener.waiting(),
        notified: () => this.listener.notified(),
      },
    );
    this.#place.start(listing);
    atOnce = false;
  }

  /** `atOnce`: the leases were read in the same write as the queue. */
  #head(watch: OwnNodeWatch | null, atOnce: boolean): void {
    if (this.over) return;
    this.#watchOwn(watch ?? new OwnNodeWatch(this.desk, this.#node as OwnNode, neverMind));
    if (!atOnce) {
      this.#waited = true;
      this.#gate.forget();
    }
    this.#gate.ask();
  }

  /** Somebody who deletes the head's node makes another one the head: then nothing may be taken any more. */
  #watchOwn(watch: OwnNodeWatch): void {
    this.#ownWatch = watch;
    watch.listener = {
      ...neverMind,
      gone: () => this.evicted(this.#spec.lockName, (this.#node as OwnNode).path),
    };
  }

  // ---- at the head

  #wait(): void {
    if (this.over) return;
    if (!this.#spec.mayWait) return this.unavailable();
    this.#waited = true;
    this.listener.waiting();
    this.desk.session.batch(() => {
      this.#ownWatch?.arm();
      this.#gate.watch();
    });
  }

  #take(): void {
    if (this.over) return;
    this.#gate.close();
    this.#taking.take();
  }

  #grant(nodes: readonly [OwnNode, ...OwnNode[]]): void {
    const { lockName, data, revocable } = this.#spec;
    const roundTrips = this.roundTripsBefore + this.roundTrips;
    this.drop();
    const hold = new Hold(this.desk, {
      lockName,
      data,
      nodes,
      watches: [],
      token: highestCzxid(nodes),
      permitIds: nodes.map(({ path }) => path),
      grantedAtMs: this.runtime.nowMs(),
      roundTrips,
      contended: this.#waited || (this.#place?.contended ?? false),
      revocable,
      // The queue goes on without us, and the grant does not wait for it: the delete is repeated until it is answered.
      besides: this.#leaveQueue(),
    });
    this.listener.granted(hold);
  }

  #leaveQueue(): Promise<void> {
    const { session, deletions } = this.desk;
    const { path } = this.#node as OwnNode;
    const left = new Promise<void>((resolve, reject) => {
      deletions.delete(path, (_outcome, error) => {
        if (error === null) resolve();
        else reject(requestFailure(`taking ${path} off the queue`, error, session, this.#spec.lockName));
      });
    });
    // The release tells, whenever that is.
    left.catch(() => {});
    return left;
  }
}

const neverMind = { gone: () => {}, revokeAsked: () => {} };

function highestCzxid(nodes: readonly OwnNode[]): bigint {
  let highest = 0n;
  for (const { czxid } of nodes) if (czxid > highest) highest = czxid;
  return highest;
}
