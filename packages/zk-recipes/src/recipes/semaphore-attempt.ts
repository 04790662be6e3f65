import type { HoldfastError, Millis, TicketProgress } from "@holdfast/core";
import { joinPath } from "@holdfast/zk-protocol";
import { leaseBase, sequenceWarnFrom } from "../layout/queue-order.js";
import { mutexRule } from "../layout/queue-rules.js";
import { type Attempt, type AttemptListener, TakingBack } from "./attempt.js";
import { eviction, isPassing, requestFailure } from "./failures.js";
import { Hold } from "./hold.js";
import { JointCreate, type JointPart } from "./joint-create.js";
import { type OwnNode, OwnNodeWatch } from "./own-node-watch.js";
import { PermitGate, type PermitsThereAre } from "./permit-gate.js";
import { type Children, type CreateSettings, ProtectedCreate } from "./protected-create.js";
import { QueuePlace } from "./queue-place.js";
import { checkSequence } from "./queue-view.js";
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

const listAgainMs: Millis = 250;

/**
 * Permits of a semaphore on the nodes of Curator's `InterProcessSemaphoreV2`, on one session.
 *
 * Whoever heads the queue under `locks`, and nobody else, may put leases under `leases`; it waits there for room and
 * then takes all its permits in one transaction. The sum is checked again behind the create: that is what keeps the limit
 * when somebody has deleted the head's queue node and a second head is at work. Where Curator's waiting head keeps a lease in
 * its hands, ours has none before there is room.
 */
export class SemaphoreAttempt implements Attempt {
  readonly #desk: SessionDesk;
  readonly #settings: CreateSettings;
  readonly #spec: SemaphoreSpec;
  readonly #listener: AttemptListener<Hold>;
  readonly #progress: Pick<TicketProgress, "sequenceHigh">;
  readonly #roundTripsBefore: number;
  readonly #queue: string;
  readonly #leases: string;
  readonly #gate: PermitGate;
  readonly #entry: ProtectedCreate;
  #node: OwnNode | null = null;
  #place: QueuePlace | null = null;
  #ownWatch: OwnNodeWatch | null = null;
  #lease: JointCreate | null = null;
  /** Made and not granted. */
  #taken: readonly OwnNode[] = [];
  /** Made in vain and not deleted yet. */
  readonly #returning = new Set<string>();
  /** Of lease creates that came to nothing, and of listings behind them. */
  #leaseTrips = 0;
  #waited = false;
  #over = false;

  constructor(
    desk: SessionDesk,
    settings: CreateSettings,
    spec: SemaphoreSpec,
    listener: AttemptListener<Hold>,
    progress: Pick<TicketProgress, "sequenceHigh">,
    roundTripsBefore: number,
  ) {
    const { lockName, path, data, permits, limit } = spec;
    const { queue, leases } = semaphorePaths(path);
    this.#desk = desk;
    this.#settings = settings;
    this.#spec = spec;
    this.#listener = listener;
    this.#progress = progress;
    this.#roundTripsBefore = roundTripsBefore;
    this.#queue = queue;
    this.#leases = leases;
    this.#gate = new PermitGate(
      desk,
      settings.runtime,
      { lockName, leases, permits, limit },
      {
        open: () => this.#take(),
        full: () => this.#wait(),
        changed: () => listener.notified(),
        failed: (error) => this.#fail(error),
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
        failed: (error) => this.#fail(error),
      },
    );
  }

  get roundTrips(): number {
    const { roundTrips } = this.#gate;
    const lease = this.#lease?.roundTrips ?? 0;
    return this.#entry.roundTrips + (this.#place?.roundTrips ?? 0) + roundTrips + lease + this.#leaseTrips;
  }

  get queued(): boolean {
    return this.#node !== null;
  }

  start(): void {
    this.#entry.start();
  }

  drop(): void {
    this.#over = true;
    this.#place?.leave();
    this.#ownWatch?.stop();
    this.#gate.stop();
  }

  withdraw(gone: (refused: HoldfastError | null) => void): void {
    const { session } = this.#desk;
    this.drop();
    const back = new TakingBack(this.#desk, this.#spec.lockName, gone);
    session.batch(() => {
      back.create(this.#entry);
      back.create(this.#lease);
      for (const { path } of this.#taken) back.node(path);
      for (const path of this.#returning) back.node(path);
      if (this.#node !== null) back.node(this.#node.path);
      back.end();
    });
  }

  // ---- the queue

  #entered(node: OwnNode, listing: Children): void {
    if (this.#over) return;
    const { lockName, mayWait } = this.#spec;
    this.#node = node;
    if (!this.#checkNumber(this.#queue, node, mutexRule.bases)) return;
    let atOnce = true;
    this.#place = new QueuePlace(
      this.#desk,
      this.#settings.runtime,
      { lockName, parent: this.#queue, rule: mutexRule, mayWait },
      node,
      {
        granted: (watch) => this.#head(watch, atOnce),
        unavailable: () => this.#unavailable(),
        failed: (error) => this.#fail(error),
        notified: () => this.#listener.notified(),
      },
    );
    this.#place.start(listing);
    atOnce = false;
  }

  /** `atOnce`: the leases were read in the same write as the queue. */
  #head(watch: OwnNodeWatch | null, atOnce: boolean): void {
    if (this.#over) return;
    this.#watchOwn(watch ?? new OwnNodeWatch(this.#desk, this.#node as OwnNode, neverMind));
    if (!atOnce) {
      this.#waited = true;
      this.#gate.forget();
    }
    this.#gate.ask();
  }

  /** Somebody who deletes the head's node makes another one the head: then nothing may be taken any more. */
  #watchOwn(watch: OwnNodeWatch): void {
    this.#ownWatch = watch;
    watch.listener = { ...neverMind, gone: () => this.#evicted((this.#node as OwnNode).path) };
  }

  // ---- at the head

  #wait(): void {
    if (this.#over) return;
    if (!this.#spec.mayWait) return this.#unavailable();
    this.#waited = true;
    this.#desk.session.batch(() => {
      this.#ownWatch?.arm();
      this.#gate.watch();
    });
  }

  #take(): void {
    if (this.#over) return;
    const { lockName, data, permits } = this.#spec;
    const part: JointPart = { lockName, parent: this.#leases, base: leaseBase, data };
    const parts = Array.from({ length: permits }, () => part) as [JointPart, ...JointPart[]];
    this.#gate.close();
    this.#leaseTrips += this.#lease?.roundTrips ?? 0;
    this.#lease = new JointCreate(this.#desk, this.#settings, parts, {
      created: (nodes, listings) => {
        this.#taken = nodes;
        for (const node of nodes) if (!this.#checkNumber(this.#leases, node, [leaseBase])) return;
        this.#judge(listings.get(this.#leases) as Children);
      },
      failed: (error) => this.#fail(error),
    });
    this.#lease.start();
  }

  /** A listing from behind the create: whether what we have taken is within the limit. */
  #judge(listing: Children): void {
    if (this.#over) return;
    if (!listing.ok) {
      const { error } = listing;
      if (error.name !== "ZooKeeperError") return this.#desk.whenUsable(() => this.#listAgain());
      if (isPassing(error)) {
        this.#settings.runtime.setTimer(listAgainMs, () => this.#listAgain());
        return;
      }
      const { lockName } = this.#spec;
      return this.#fail(requestFailure(`listing ${this.#leases}`, error, this.#desk.session, lockName));
    }
    const { children } = listing.value;
    this.#desk.holds.heardOf(this.#leases, children);
    const listed = new Set(children);
    const missing = this.#taken.find(({ name }) => !listed.has(name));
    if (missing !== undefined) return this.#evicted(missing.path);
    // With a count that has changed meanwhile, and is not read yet, it is not known whether there is room.
    if (children.length > (this.#gate.limit ?? 0)) return this.#giveBack();
    // Nobody is granted on a session in doubt: what was listed may be long gone.
    if (this.#leaseAhead()) this.#grant();
    else this.#desk.whenUsable(() => this.#listAgain());
  }

  #listAgain(): void {
    if (this.#over) return;
    this.#leaseTrips++;
    this.#desk.session.send("getChildren2", { path: this.#leases, watch: false }, (listing) =>
      this.#judge(listing),
    );
  }

  #leaseAhead(): boolean {
    const { session } = this.#desk;
    return session.state === "connected" && this.#settings.runtime.nowMs() < session.leaseUntilMs();
  }

  /** Somebody else has taken some too: ours go, and the wait goes on behind the deletes. */
  #giveBack(): void {
    const taken = this.#taken;
    this.#taken = [];
    this.#desk.session.batch(() => {
      for (const { path } of taken) this.#return(path);
      this.#gate.forget();
      this.#wait();
    });
  }

  #return(path: string): void {
    this.#returning.add(path);
    this.#desk.deletions.delete(path, (_outcome, error) => {
      this.#returning.delete(path);
      if (error === null) return;
      const { lockName } = this.#spec;
      this.#fail(requestFailure(`deleting ${path}`, error, this.#desk.session, lockName));
    });
  }

  #grant(): void {
    const [first, ...rest] = this.#taken as readonly [OwnNode, ...OwnNode[]];
    const nodes: [OwnNode, ...OwnNode[]] = [first, ...rest];
    const { lockName, data, revocable } = this.#spec;
    const roundTrips = this.#roundTripsBefore + this.roundTrips;
    this.drop();
    const hold = new Hold(this.#desk, {
      lockName,
      data,
      nodes,
      watches: [],
      token: highestCzxid(nodes),
      permitIds: nodes.map(({ path }) => path),
      grantedAtMs: this.#settings.runtime.nowMs(),
      roundTrips,
      contended: this.#waited || (this.#place?.contended ?? false),
      revocable,
      // The queue goes on without us, and the grant does not wait for it: the delete is repeated until it is answered.
      besides: this.#leaveQueue(),
    });
    this.#listener.granted(hold);
  }

  #leaveQueue(): Promise<void> {
    const { session, deletions } = this.#desk;
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

  // ---- ends

  #checkNumber(parent: string, node: OwnNode, bases: readonly string[]): boolean {
    try {
      const sequence = checkSequence(this.#spec.lockName, parent, node.name, { bases });
      if (sequence >= sequenceWarnFrom) this.#progress.sequenceHigh(sequence);
      return true;
    } catch (conflict) {
      this.#fail(conflict as HoldfastError);
      return false;
    }
  }

  /** Deleted by somebody, or gone with the session: only an answer that passed through the leader tells which. */
  #evicted(path: string): void {
    this.#desk.session.prove((outcome) => {
      if (this.#over) return;
      if (!outcome.ok) return this.#desk.whenUsable(() => this.#evicted(path));
      this.#fail(eviction(this.#spec.lockName, path));
    });
  }

  #unavailable(): void {
    if (this.#over) return;
    this.drop();
    this.#listener.unavailable();
  }

  #fail(error: HoldfastError): void {
    if (this.#over) return;
    this.drop();
    this.#listener.failed(error);
  }
}

const neverMind = { gone: () => {}, revokeAsked: () => {} };

function highestCzxid(nodes: readonly OwnNode[]): bigint {
  let highest = 0n;
  for (const { czxid } of nodes) if (czxid > highest) highest = czxid;
  return highest;
}
