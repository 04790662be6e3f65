import type { HoldfastError } from "@holdfast/core";
import { saysNoNode } from "../session/errors.js";
import type { RequestError } from "../session/types.js";
import { type AttemptListener, TakingBack } from "./attempt.js";
import type { CreateSettings } from "./create-settings.js";
import { isFinal, requestFailure } from "./failures.js";
import type { Hold } from "./hold.js";
import { JointCreate } from "./joint-create.js";
import type { Children } from "./node-search.js";
import { type OwnNode, OwnNodeWatch } from "./own-node-watch.js";
import type { NodePart } from "./protected-nodes.js";
import { holdOf, type QueueSpec } from "./queue-attempt.js";
import { QueuePlace } from "./queue-place.js";
import { SessionAttempt } from "./session-attempt.js";
import type { SessionDesk } from "./session-desk.js";

export type QueueParts = readonly [QueueSpec, ...QueueSpec[]];

/** A part of the whole, once its node is there. */
interface Seat {
  readonly part: QueueSpec;
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
export class RequestAllAttempt extends SessionAttempt<readonly Hold[]> {
  readonly #parts: QueueParts;
  readonly #create: JointCreate;
  #seats: readonly Seat[] = [];
  /** The listings behind the create have been heard. */
  #started = false;
  #checks = 0;
  #checking = false;

  constructor(
    desk: SessionDesk,
    settings: CreateSettings,
    parts: QueueParts,
    listener: AttemptListener<readonly Hold[]>,
    roundTripsBefore: number,
  ) {
    super(desk, settings, listener, roundTripsBefore);
    this.#parts = parts;
    this.#create = new JointCreate(desk, settings, parts.map(asNodePart) as [NodePart, ...NodePart[]], {
      created: (nodes, listings) => this.#created(nodes, listings),
      failed: (error) => this.fail(error),
    });
  }

  /** The longest of the parts: they wait beside each other. */
  override get roundTrips(): number {
    const waits = this.#seats.map(({ place }) => place.roundTrips);
    return this.#create.roundTrips + Math.max(0, ...waits) + this.#checks;
  }

  override get queued(): boolean {
    return this.#seats.length > 0;
  }

  override start(): void {
    this.#create.start();
  }

  override drop(): void {
    super.drop();
    for (const { place, turn } of this.#seats) {
      place.leave();
      turn?.watch?.stop();
    }
  }

  override withdraw(gone: (refused: HoldfastError | null) => void): void {
    this.drop();
    const { lockName } = this.#parts[0];
    const back = new TakingBack(this.desk, lockName, gone);
    this.desk.session.batch(() => {
      back.create(this.#create);
      for (const { node } of this.#seats) back.node(node.path);
      back.end();
    });
  }

  #created(nodes: readonly OwnNode[], listings: ReadonlyMap<string, Children>): void {
    if (this.over) return;
    this.#seats = nodes.map((node, index) => this.#seat(this.#parts[index] as QueueSpec, node));
    for (const { part, node } of this.#seats) {
      if (!this.checkNumber(part.lockName, part.parent, node, part.rule)) return;
    }
    this.desk.session.batch(() => {
      for (const { part, place } of this.#seats) {
        if (!this.over) place.start(listings.get(part.parent) as Children);
      }
      this.#started = true;
      this.#progressed();
    });
  }

  #seat(part: QueueSpec, node: OwnNode): Seat {
    const place = new QueuePlace(this.desk, part, node, {
      granted: (watch) => this.#turnCame(seat, watch),
      unavailable: () => this.unavailable(),
      failed: (error) => this.fail(error),
      waiting: () => this.listener.waiting(),
      notified: () => this.listener.notified(),
    });
    const seat: Seat = { part, node, place, turn: null };
    return seat;
  }

  #turnCame(seat: Seat, watch: OwnNodeWatch | null): void {
    if (this.over) return;
    seat.turn = { connection: this.desk.session.connection, watch };
    if (watch !== null) watch.listener = this.#whileOthersWait(seat);
    this.#progressed();
  }

  /** Grants when all turns have come; until then, the nodes whose turn has come are watched for their end. */
  #progressed(): void {
    if (this.over || !this.#started) return;
    if (this.#seats.every(({ turn }) => turn !== null)) return this.#allCame();
    for (const seat of this.#seats) {
      if (seat.turn === null || seat.turn.watch !== null) continue;
      const watch = new OwnNodeWatch(this.desk, seat.node, this.#whileOthersWait(seat));
      seat.turn = { ...seat.turn, watch };
      watch.arm();
    }
  }

  #whileOthersWait({ part, node }: Seat): OwnNodeWatch["listener"] {
    return { gone: () => this.evicted(part.lockName, node.path), revokeAsked: () => {} };
  }

  /**
   * The last turn has come, on a session whose lease is ahead, or its place would not have told. What was seen of the
   * others counts if it was over this connection, and their nodes were watched since; else all are looked at once more.
   */
  #allCame(): void {
    const { session } = this.desk;
    if (this.over) return;
    const sure = this.#seats.every(({ turn }) => {
      return turn?.connection === session.connection && (turn.watch === null || turn.watch.trusted);
    });
    if (sure) this.#grant();
    else this.#lookAtAll();
  }

  #lookAtAll(): void {
    if (this.over || this.#checking) return;
    const { session } = this.desk;
    let open = this.#seats.length;
    let missing: Seat | null = null;
    let trouble: RequestError | null = null;
    this.#checking = true;
    this.#checks++;
    session.batch(() => {
      for (const seat of this.#seats) {
        session.send("exists", { path: seat.node.path, watch: false }, (outcome) => {
          if (outcome.ok ? outcome.value.stat.czxid !== seat.node.czxid : saysNoNode(outcome.error)) {
            missing = seat;
          } else if (!outcome.ok) trouble = outcome.error;
          open -= 1;
          if (open === 0) this.#lookedAtAll(missing, trouble);
        });
      }
    });
  }

  #lookedAtAll(missing: Seat | null, trouble: RequestError | null): void {
    this.#checking = false;
    if (this.over) return;
    if (missing !== null) return this.evicted(missing.part.lockName, missing.node.path);
    const { lockName } = this.#parts[0];
    if (trouble === null) {
      if (this.desk.leaseAhead) return this.#grant();
      return this.desk.whenUsable(() => this.#lookAtAll());
    }
    if (!isFinal(trouble)) return this.desk.again(trouble, () => this.#lookAtAll());
    this.fail(requestFailure("looking at the own queue nodes", trouble, this.desk.session, lockName));
  }

  #grant(): void {
    const roundTrips = this.roundTripsBefore + this.roundTrips;
    const grantedAtMs = this.runtime.nowMs();
    this.over = true;
    const holds = this.#seats.map(({ part, node, place: { contended }, turn }) =>
      holdOf(this.desk, part, node, turn?.watch ?? null, { roundTrips, contended, grantedAtMs }),
    );
    this.listener.granted(holds);
  }
}

function asNodePart({ lockName, parent, rule, data }: QueueSpec): NodePart {
  return { lockName, parent, base: rule.base, data };
}
