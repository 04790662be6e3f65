import type { HoldfastError, Millis, TicketProgress } from "@holdfast/core";
import { errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";
import { sequenceWarnFrom } from "../layout/queue-order.js";
import type { QueueRule } from "../layout/queue-rules.js";
import { type Attempt, type AttemptListener, TakingBack } from "./attempt.js";
import { eviction, isPassing, requestFailure } from "./failures.js";
import { Hold } from "./hold.js";
import { JointCreate, type JointPart } from "./joint-create.js";
import { type OwnNode, OwnNodeWatch } from "./own-node-watch.js";
import type { Children, CreateSettings } from "./protected-create.js";
import { QueuePlace } from "./queue-place.js";
import { checkSequence } from "./queue-view.js";
import type { SessionDesk } from "./session-desk.js";

/** One queue to stand in. */
export interface QueuePart {
  readonly lockName: string;
  readonly parent: string;
  readonly rule: QueueRule;
  readonly data: Uint8Array;
  readonly mayWait: boolean;
  readonly revocable: boolean;
}

export type QueueParts = readonly [QueuePart, ...QueuePart[]];

/** A part of the whole, once its node is there. */
interface Seat {
  readonly part: QueuePart;
  readonly node: OwnNode;
  readonly place: QueuePlace;
  /** Its turn has come: over which connection that was seen, and the watch that has told of the node's end since. */
  turn: { readonly connection: number; readonly watch: OwnNodeWatch | null } | null;
}

/**
 * Several locks of one session at once: a place in every queue in one transaction, then a wait in all of them, and a grant
 * when the last turn has come. Two clients that pipelined single creates could each come first on one path and wait for
 * the other for ever; transactions are in the same order on all paths.
 */
export class RequestAllAttempt implements Attempt {
  readonly #desk: SessionDesk;
  readonly #settings: CreateSettings;
  readonly #parts: QueueParts;
  readonly #listener: AttemptListener<readonly Hold[]>;
  readonly #progress: Pick<TicketProgress, "sequenceHigh">;
  readonly #roundTripsBefore: number;
  readonly #create: JointCreate;
  #seats: readonly Seat[] = [];
  /** The listings behind the create have been heard. */
  #started = false;
  #checks = 0;
  #checking = false;
  #over = false;

  constructor(
    desk: SessionDesk,
    settings: CreateSettings,
    parts: QueueParts,
    listener: AttemptListener<readonly Hold[]>,
    progress: Pick<TicketProgress, "sequenceHigh">,
    roundTripsBefore: number,
  ) {
    this.#desk = desk;
    this.#settings = settings;
    this.#parts = parts;
    this.#listener = listener;
    this.#progress = progress;
    this.#roundTripsBefore = roundTripsBefore;
    this.#create = new JointCreate(desk, settings, parts.map(asJointPart) as [JointPart, ...JointPart[]], {
      created: (nodes, listings) => this.#created(nodes, listings),
      failed: (error) => this.#fail(error),
    });
  }

  /** The longest of the parts: they wait beside each other. */
  get roundTrips(): number {
    const waits = this.#seats.map(({ place }) => place.roundTrips);
    return this.#create.roundTrips + Math.max(0, ...waits) + this.#checks;
  }

  get queued(): boolean {
    return this.#seats.length > 0;
  }

  start(): void {
    this.#create.start();
  }

  drop(): void {
    this.#over = true;
    for (const { place, turn } of this.#seats) {
      place.leave();
      turn?.watch?.stop();
    }
  }

  withdraw(gone: (refused: HoldfastError | null) => void): void {
    this.drop();
    const { lockName } = this.#parts[0];
    const back = new TakingBack(this.#desk, lockName, gone);
    this.#desk.session.batch(() => {
      back.create(this.#create);
      for (const { node } of this.#seats) back.node(node.path);
      back.end();
    });
  }

  #created(nodes: readonly OwnNode[], listings: ReadonlyMap<string, Children>): void {
    if (this.#over) return;
    this.#seats = nodes.map((node, index) => this.#seat(this.#parts[index] as QueuePart, node));
    for (const { part, node } of this.#seats) if (!this.#checkNumber(part, node)) return;
    this.#desk.session.batch(() => {
      for (const { part, place } of this.#seats) {
        if (!this.#over) place.start(listings.get(part.parent) as Children);
      }
      this.#started = true;
      this.#progressed();
    });
  }

  #seat(part: QueuePart, node: OwnNode): Seat {
    const place = new QueuePlace(this.#desk, this.#settings.runtime, part, node, {
      granted: (watch) => this.#turnCame(seat, watch),
      unavailable: () => this.#unavailable(),
      failed: (error) => this.#fail(error),
      notified: () => this.#listener.notified(),
    });
    const seat: Seat = { part, node, place, turn: null };
    return seat;
  }

  #turnCame(seat: Seat, watch: OwnNodeWatch | null): void {
    if (this.#over) return;
    seat.turn = { connection: this.#desk.session.connection, watch };
    if (watch !== null) watch.listener = this.#whileOthersWait(seat);
    this.#progressed();
  }

  /** Grants when all turns have come; until then, the nodes whose turn has come are watched for their end. */
  #progressed(): void {
    if (this.#over || !this.#started) return;
    if (this.#seats.every(({ turn }) => turn !== null)) return this.#allCame();
    for (const seat of this.#seats) {
      if (seat.turn === null || seat.turn.watch !== null) continue;
      const watch = new OwnNodeWatch(this.#desk, seat.node, this.#whileOthersWait(seat));
      seat.turn = { ...seat.turn, watch };
      watch.arm();
    }
  }

  #whileOthersWait({ part, node }: Seat): OwnNodeWatch["listener"] {
    return { gone: () => this.#evicted(part.lockName, node.path), revokeAsked: () => {} };
  }

  /**
   * The last turn has come, on a session whose lease is ahead, or its place would not have told. What was seen of the
   * others counts if it was over this connection, and their nodes were watched since; else all are looked at once more.
   */
  #allCame(): void {
    const { session } = this.#desk;
    if (this.#over) return;
    const sure = this.#seats.every(({ turn }) => {
      return turn?.connection === session.connection && (turn.watch === null || turn.watch.trusted);
    });
    if (sure) this.#grant();
    else this.#lookAtAll();
  }

  #lookAtAll(): void {
    if (this.#over || this.#checking) return;
    const { session } = this.#desk;
    let open = this.#seats.length;
    let missing: Seat | null = null;
    let trouble: Error | null = null;
    this.#checking = true;
    this.#checks++;
    session.batch(() => {
      for (const seat of this.#seats) {
        session.send("exists", { path: seat.node.path, watch: false }, (outcome) => {
          if (outcome.ok ? outcome.value.stat.czxid !== seat.node.czxid : isNoNode(outcome.error)) {
            missing = seat;
          } else if (!outcome.ok) trouble = outcome.error;
          open -= 1;
          if (open === 0) this.#lookedAtAll(missing, trouble);
        });
      }
    });
  }

  #lookedAtAll(missing: Seat | null, trouble: Error | null): void {
    this.#checking = false;
    if (this.#over) return;
    if (missing !== null) return this.#evicted(missing.part.lockName, missing.node.path);
    const { lockName } = this.#parts[0];
    if (trouble === null) {
      if (this.#leaseAhead()) return this.#grant();
      return this.#desk.whenUsable(() => this.#lookAtAll());
    }
    if (trouble.name !== "ZooKeeperError") return this.#desk.whenUsable(() => this.#lookAtAll());
    if (isPassing(trouble)) {
      this.#settings.runtime.setTimer(lookAgainMs, () => this.#lookAtAll());
      return;
    }
    this.#fail(requestFailure("looking at the own queue nodes", trouble, this.#desk.session, lockName));
  }

  #leaseAhead(): boolean {
    const { session } = this.#desk;
    return session.state === "connected" && this.#settings.runtime.nowMs() < session.leaseUntilMs();
  }

  #grant(): void {
    const { runtime } = this.#settings;
    const roundTrips = this.#roundTripsBefore + this.roundTrips;
    this.#over = true;
    const holds = this.#seats.map(({ part, node, place, turn }) => {
      const { watch = null } = turn ?? {};
      return new Hold(this.#desk, {
        lockName: part.lockName,
        data: part.data,
        nodes: [node],
        watches: watch === null ? [] : [watch],
        token: node.czxid,
        permitIds: [],
        grantedAtMs: runtime.nowMs(),
        roundTrips,
        contended: place.contended,
        revocable: part.revocable,
      });
    });
    this.#listener.granted(holds);
  }

  #checkNumber({ lockName, parent, rule }: QueuePart, node: OwnNode): boolean {
    try {
      const sequence = checkSequence(lockName, parent, node.name, rule);
      if (sequence >= sequenceWarnFrom) this.#progress.sequenceHigh(sequence);
      return true;
    } catch (conflict) {
      this.#fail(conflict as HoldfastError);
      return false;
    }
  }

  /** Deleted by somebody, or gone with the session: only an answer that passed through the leader tells which. */
  #evicted(lockName: string, path: string): void {
    this.#desk.session.prove((outcome) => {
      if (this.#over) return;
      if (!outcome.ok) return this.#desk.whenUsable(() => this.#evicted(lockName, path));
      this.#fail(eviction(lockName, path));
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

const lookAgainMs: Millis = 250;

function isNoNode(error: Error): boolean {
  return error instanceof ZooKeeperError && error.code === errorCodes.NoNode;
}

function asJointPart({ lockName, parent, rule, data }: QueuePart): JointPart {
  return { lockName, parent, base: rule.base, data };
}
