import type { HoldfastError } from "@holdfast/core";
import type { QueueRule } from "../layout/queue-rules.js";
import { type AttemptListener, TakingBack } from "./attempt.js";
import type { CreateSettings } from "./create-settings.js";
import { Hold } from "./hold.js";
import type { Children } from "./node-search.js";
import type { OwnNode, OwnNodeWatch } from "./own-node-watch.js";
import { ProtectedCreate } from "./protected-create.js";
import { QueuePlace } from "./queue-place.js";
import { SessionAttempt } from "./session-attempt.js";
import type { SessionDesk } from "./session-desk.js";

/** One queue to stand in. */
export interface QueueSpec {
  readonly lockName: string;
  /** The lock's path, parent of the node. */
  readonly parent: string;
  readonly rule: QueueRule;
  readonly data: Uint8Array;
  readonly mayWait: boolean;
  readonly revocable: boolean;
  /** As in `HoldParts`. */
  readonly endsWhenSuspended?: boolean;
}

/** A place in one queue, whose head holds: mutex, read and write lock, leadership. */
export class QueueAttempt extends SessionAttempt<Hold> {
  readonly #spec: QueueSpec;
  readonly #create: ProtectedCreate;
  #node: OwnNode | null = null;
  #place: QueuePlace | null = null;

  constructor(
    desk: SessionDesk,
    settings: CreateSettings,
    spec: QueueSpec,
    listener: AttemptListener<Hold>,
    roundTripsBefore: number,
  ) {
    super(desk, settings, listener, roundTripsBefore);
    this.#spec = spec;
    this.#create = new ProtectedCreate(
      desk,
      settings,
      { ...spec, base: spec.rule.base },
      {
        created: (node, listing) => this.#created(node, listing),
        failed: (error) => this.fail(error),
      },
    );
  }

  override get roundTrips(): number {
    return this.#create.roundTrips + (this.#place?.roundTrips ?? 0);
  }

  override get queued(): boolean {
    return this.#node !== null;
  }

  override start(): void {
    this.#create.start();
  }

  override drop(): void {
    super.drop();
    this.#place?.leave();
  }

  override withdraw(gone: (refused: HoldfastError | null) => void): void {
    this.drop();
    const back = new TakingBack(this.desk, this.#spec.lockName, gone);
    this.desk.session.batch(() => {
      back.create(this.#create);
      if (this.#node !== null) back.node(this.#node.path);
      back.end();
    });
  }

  #created(node: OwnNode, listing: Children): void {
    if (this.over) return;
    const { lockName, parent, rule } = this.#spec;
    this.#node = node;
    if (!this.checkNumber(lockName, parent, node, rule)) return;
    const place = new QueuePlace(this.desk, this.#spec, node, {
      granted: (watch) => this.#grant(node, place, watch),
      unavailable: () => this.unavailable(),
      failed: (error) => this.fail(error),
      waiting: () => this.listener.waiting(),
      notified: () => this.listener.notified(),
    });
    this.#place = place;
    place.start(listing);
  }

  #grant(node: OwnNode, place: QueuePlace, watch: OwnNodeWatch | null): void {
    this.over = true;
    const roundTrips = this.roundTripsBefore + this.roundTrips;
    const { contended } = place;
    const grantedAtMs = this.runtime.nowMs();
    this.listener.granted(holdOf(this.desk, this.#spec, node, watch, { roundTrips, contended, grantedAtMs }));
  }
}

/** The hold of whoever has come to the head of a queue. `watch`: as armed by the place; the hold goes on with it. */
export function holdOf(
  desk: SessionDesk,
  { lockName, data, revocable, endsWhenSuspended = false }: QueueSpec,
  node: OwnNode,
  watch: OwnNodeWatch | null,
  wait: { readonly roundTrips: number; readonly contended: boolean; readonly grantedAtMs: number },
): Hold {
  return new Hold(desk, {
    ...wait,
    lockName,
    data,
    nodes: [node],
    watches: watch === null ? [] : [watch],
    token: node.czxid,
    permitIds: [],
    revocable,
    endsWhenSuspended,
  });
}
