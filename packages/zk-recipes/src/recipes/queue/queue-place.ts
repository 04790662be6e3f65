import type { HoldfastError, Millis } from "@holdfast/core";
import { joinPath, type ResponseOf, type Stat, type ZooKeeperError } from "@holdfast/zk-protocol";
import { namesThatDecide } from "../../layout/queue-glance.js";
import { mayBeKept } from "../../layout/queue-order.js";
import { type QueueRule, type QueueView, viewQueue } from "../../layout/queue-rules.js";
import { saysNoNode } from "../../session/errors.js";
import type { RequestError } from "../../session/types.js";
import type { Children } from "../create/node-creates.js";
import type { NodePart } from "../create/protected-nodes.js";
import { type OwnNode, OwnNodeWatch } from "../grant/own-node-watch.js";
import { eviction, isFinal, requestFailure } from "../session/failures.js";
import type { Attended } from "../session/lasting.js";
import { NodeWatch } from "../session/node-watch.js";
import type { SessionContext } from "../session-context.js";
import { type NeighbourListener, NeighbourWatch } from "./neighbour-watch.js";

/** `parent`: the lock's path. */
export interface PlaceSpec extends Pick<NodePart, "lockName" | "parent"> {
  readonly rule: QueueRule;
  readonly mayWait: boolean;
  /** How long a request that may not wait stays behind a node that may be kept for no owner. Default: 0. */
  readonly keepAskMs?: Millis;
}

export interface PlaceListener<S extends PlaceSpec = PlaceSpec> {
  /** The place is first in the queue, on a session whose lease is ahead. */
  granted(place: QueuePlace<S>): void;
  /** The place is not first, and the request must not wait. */
  unavailable(): void;
  failed(error: HoldfastError): void;
  /** The place is not first: it waits for the node ahead. */
  waiting(): void;
  /** The node ahead has gone. */
  notified(): void;
}

/**
 * A queue node on its way to a grant, by Curator's rule for its kind. Each waiter watches the one node ahead that keeps
 * it waiting.
 *
 * When an event says that the node ahead is gone, a waiter that stands second may be granted without a listing. That is
 * so only if nothing can have happened that no event has reported: see `#mayTrust`. In every other case it lists. To know
 * in time that it stands second, it also watches the node two ahead, and lists in the background when that one goes. It
 * need not where the node ahead is of the same session, whose `turns` say that all nodes ahead of that one have gone. All
 * callbacks run in frame order.
 */
export class QueuePlace<S extends PlaceSpec = PlaceSpec> implements NeighbourListener, Attended {
  roundTrips = 0;
  contended = false;
  /** The `Stat` of the lock's path in the listing that granted; `null` after a grant by an event. */
  grantingStat: Stat | null = null;
  readonly spec: S;
  readonly node: OwnNode;
  /** The connection over which the place was seen first in the queue. */
  grantedOn: number | null = null;
  /** Made when the place has to wait. The grant takes it over. */
  ownWatch: OwnNodeWatch | null = null;
  readonly #context: SessionContext;
  readonly #listener: PlaceListener<S>;
  #predecessor: NeighbourWatch | null = null;
  #twoAhead: NeighbourWatch | null = null;
  /** The result of the last answered listing; `#seenOn` is its connection. */
  #seen: QueueView | null = null;
  #seenOn = 0;
  #listing = false;
  #left = false;
  /** Set while a request that may not wait stays behind a node that may be kept. */
  #endAsking: (() => void) | null = null;

  constructor(context: SessionContext, spec: S, node: OwnNode, listener: PlaceListener<S>) {
    this.#context = context;
    this.spec = spec;
    this.node = node;
    this.#listener = listener;
  }

  /** Stops watching, also the own node of a granted place. The caller deletes the node. */
  leave(): void {
    this.#end();
    this.ownWatch?.stop();
    this.#predecessor?.remove();
    this.#twoAhead?.remove();
  }

  #list(): void {
    if (this.#left || this.#listing) return;
    this.#listing = true;
    this.roundTrips++;
    this.#context.list(this.spec.parent, (outcome) => {
      this.#listing = false;
      this.listed(outcome);
    });
  }

  /** Takes a listing. The first one was read behind the create. */
  listed(outcome: Children): void {
    if (this.#left) return;
    if (!outcome.ok) return this.#listFailed(outcome.error);
    let view: QueueView;
    try {
      view = look(this.#context, this.spec, this.node, outcome.value);
    } catch (conflict) {
      return this.#fail(conflict as HoldfastError);
    }
    // A listener of a loss that the listing has shown may have withdrawn the attempt.
    if (this.#left) return;
    this.#seen = view;
    this.#seenOn = this.#context.session.connection;
    if (!view.present) return this.#ownNodeMissing();
    if (view.predecessor === null) {
      this.grantingStat = outcome.value.stat;
      // No grant on a session in doubt: a server that lags, or is cut off, still lists nodes that are gone.
      if (this.#context.leaseAhead) return this.#grant();
      return this.#context.whenLeased(() => this.#list());
    }
    const { mayWait } = this.spec;
    if (!mayWait && !this.#asksKeeper(view)) return this.#refused();
    this.contended = true;
    if (mayWait) this.#listener.waiting();
    this.#watchAhead(view);
  }

  #refused(): void {
    this.leave();
    this.#listener.unavailable();
  }

  /**
   * Whether to stay behind the node ahead for a moment, although the request may not wait. A kept lock looks held
   * although perhaps no owner has it. Our node behind it makes its provider give the lock up. If other clients wait in
   * between, one of them gets the lock.
   */
  #asksKeeper({ head, predecessor }: QueueView): boolean {
    const { keepAskMs = 0 } = this.spec;
    if (keepAskMs === 0 || predecessor === null || predecessor !== head || !mayBeKept(predecessor))
      return false;
    this.#endAsking ??= this.#context.runtime.setTimer(keepAskMs, () => this.#left || this.#refused(), {
      ref: true,
    });
    return true;
  }

  #listFailed(error: RequestError): void {
    if (saysNoNode(error)) return this.#ownNodeMissing();
    if (!isFinal(error)) return this.#context.again(error, () => this.#list());
    this.#failAt(`listing ${this.spec.parent}`, error);
  }

  /** Watches the own node first, then the nodes ahead, by one request or in one write. */
  #watchAhead(view: QueueView): void {
    const before = [this.#predecessor, this.#twoAhead];
    // The former node two ahead may be the predecessor now: its watch goes on, only its meaning changes.
    this.#predecessor = this.#neighbour(view.predecessor, before);
    const ours = this.#predecessor !== null && this.#isOwnSession(this.#predecessor);
    this.#twoAhead = this.#neighbour(ours ? null : view.twoAhead, before);
    for (const watch of before) {
      if (watch !== this.#predecessor && watch !== this.#twoAhead) watch?.stop();
    }
    // The watch remembers a revoke message, and the grant takes the watch over.
    this.ownWatch ??= new OwnNodeWatch(this.#context, this.node, { gone: () => this.#ownNodeMissing() });
    const watches = [this.ownWatch, this.#predecessor, this.#twoAhead].filter((watch) => watch !== null);
    if (this.#context.watchesUnread) {
      // What was written to the nodes ahead before our node was made does not matter.
      NodeWatch.armAll(this.#context, watches, this.node.czxid);
      this.#context.waits.add(this);
    } else {
      for (const watch of watches) watch.arm();
    }
    if (before[0] === null) this.roundTrips++;
  }

  /**
   * Reads the predecessor after a long wait, because its watch was armed without a read. A node that the session may not
   * read would never report its end; the read shows that.
   */
  attend(): void {
    const ahead = this.#predecessor;
    if (this.#left || ahead === null || ahead.owner !== null || this.#isOwnSession(ahead)) return;
    if (!ahead.readNow()) this.#context.waits.add(this);
  }

  #neighbour(name: string | null, known: readonly (NeighbourWatch | null)[]): NeighbourWatch | null {
    if (name === null) return null;
    const open = known.find((watch) => watch?.name === name && !watch.over);
    if (open != null) return open;
    const path = joinPath(this.spec.parent, name);
    return new NeighbourWatch(this.#context, path, name, this);
  }

  aheadGone(gone: NeighbourWatch, heardBy: "event" | "read"): void {
    if (this.#left) return;
    if (gone === this.#twoAhead) {
      this.#twoAhead = null;
      return this.#list();
    }
    if (gone !== this.#predecessor) return;
    this.#listener.notified();
    if (this.#isOwnSession(gone)) {
      const itsTurnCame = this.#context.turns.has(gone.path);
      const waits = this.#context.deletions.whenSettled(gone.path, (outcome) => {
        if (this.#left || gone !== this.#predecessor) return;
        // The answer to our own delete proves what the event does not: the session was alive when the node went.
        if (outcome === "deleted" && this.#mayTrust(itsTurnCame)) this.#grant();
        else this.#list();
      });
      if (!waits) this.#list();
      return;
    }
    // A node that was not read is another session's for sure only if this session knows all of its own nodes.
    const isOthers = gone.owner !== null || this.#context.unknownCreates.size === 0;
    // A node that was gone when the watch was requested has not shown whose it was.
    if (heardBy === "event" && isOthers && this.#mayTrust(false)) this.#grant();
    else this.#list();
  }

  /**
   * The server refused a watch. Without the watch on the predecessor no event would say that our turn has come. The watch
   * on the node two ahead only saves time.
   */
  aheadRefused(refused: NeighbourWatch, error: ZooKeeperError): void {
    if (this.#left) return;
    if (refused === this.#twoAhead) this.#twoAhead = null;
    if (refused !== this.#predecessor) return;
    this.#failAt(`watching ${refused.path}, which is ahead in the queue`, error);
  }

  #isOwnSession(node: NeighbourWatch): boolean {
    return node.owner === this.#context.session.id || this.#context.nodes.has(node.path);
  }

  /**
   * Whether the end of the predecessor makes us first, so that no listing is needed. All of these must be true:
   * - the last listing showed us among contenders only, in a queue that only grows at its end;
   * - it showed us second, or the turn of the predecessor came in this session, so that all nodes ahead of it have gone;
   * - that listing did not come over an earlier connection;
   * - our own node has been watched and unchanged since, so that an event would have reported its end;
   * - the session's lease is ahead;
   * - no listing is under way that would show more.
   */
  #mayTrust(itsTurnCame: boolean): boolean {
    const { session } = this.#context;
    return (
      (itsTurnCame ? this.#seen?.orderIsFinal : this.#seen?.nextIfGone) === true &&
      this.#seenOn === session.connection &&
      !this.#listing &&
      this.ownWatch?.trusted === true &&
      this.#context.leaseAhead
    );
  }

  #grant(): void {
    this.#end();
    this.#context.turns.add(this.node.path);
    this.grantedOn = this.#context.session.connection;
    this.#predecessor?.stop();
    this.#twoAhead?.remove();
    this.#listener.granted(this);
  }

  #end(): void {
    this.#left = true;
    this.#endAsking?.();
    this.#context.waits.delete(this);
  }

  /** The own node was deleted, or went with the session. Only an answer that passed through the leader shows which. */
  #ownNodeMissing(): void {
    if (this.#left) return;
    this.#context.session.prove((outcome) => {
      if (this.#left) return;
      if (!outcome.ok) return this.#context.again(outcome.error, () => this.#list());
      this.#fail(eviction(this.spec.lockName, this.node.path));
    });
  }

  /** The server has refused our request for good. */
  #failAt(what: string, refusal: ZooKeeperError): void {
    this.#fail(requestFailure(what, refusal, this.#context.session, this.spec.lockName));
  }

  #fail(error: HoldfastError): void {
    this.leave();
    this.#listener.failed(error);
  }
}

/**
 * Whether the listing behind the create shows the node first, on a session whose lease is ahead. The node then holds, and
 * needs no place to wait in. Throws as `viewQueue`.
 */
export function isFree(context: SessionContext, spec: PlaceSpec, node: OwnNode, listing: Children): boolean {
  if (!listing.ok) return false;
  const { present, predecessor } = look(context, spec, node, listing.value);
  return present && predecessor === null && context.leaseAhead;
}

/** Also notifies the grants of the session whose nodes are not listed any more. */
function look(
  context: SessionContext,
  spec: PlaceSpec,
  node: OwnNode,
  listing: ResponseOf<"getChildren2">,
): QueueView {
  const { lockName, parent, rule } = spec;
  context.grants.reconcile(parent, listing);
  const children = namesThatDecide(listing, node.name, rule);
  return viewQueue(lockName, parent, children, node.name, rule);
}
