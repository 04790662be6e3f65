import { LockLostError, type LossReason, type Millis } from "@holdfast/core";
import type { Grant, GrantPlace, GrantState, KeepingState } from "@holdfast/core/driver";
import { saysNoNode } from "../../session/errors.js";
import type { RequestError } from "../../session/types.js";
import type { DeletionOutcome } from "../session/deletions.js";
import { isFinal, requestFailure } from "../session/failures.js";
import { type Sync, sendSync } from "../session/sync.js";
import type { SessionContext } from "../session-context.js";
import type { SessionGrant } from "./grant-set.js";
import { KeptNode } from "./kept-node.js";
import { type OwnNode, type OwnNodeListener, OwnNodeWatch } from "./own-node-watch.js";

export interface GrantParts extends Pick<Grant, "roundTrips" | "contended" | "place"> {
  readonly lockName: string;
  /** What its nodes carry. */
  readonly data: Uint8Array;
  /** At least one: several for a batch of permits, which are held all or not at all. */
  readonly nodes: readonly [OwnNode, ...OwnNode[]];
  readonly token: bigint;
  /** See `Grant.permitIds`. Default none. */
  readonly permitIds?: readonly string[];
  readonly revocable: boolean;
  /** Other clients make nodes of the same names once these are gone: see `NaiveAttempt`. Default `false`: the names are ours alone. */
  readonly sharedNames?: boolean;
  /** The delete of what else was made for the grant. A release waits for it, and rejects when the server refused it. */
  readonly besides?: Promise<void>;
  /** Lost as soon as contact breaks. Default `false`: it is uncertain until the lease ends. */
  readonly endsWhenSuspended?: boolean | undefined;
  /** On all nodes, as the wait has armed them. Default none: the grant arms its own in `attend()`. */
  readonly watches?: readonly OwnNodeWatch[];
}

/**
 * Granted nodes of ours: good while their session is, and while no other client deletes one of them. Ends once, by
 * `release()` or by a loss. What happens to it is reported to core's `GrantState`.
 */
export class ZooKeeperGrant implements Grant, SessionGrant, OwnNodeListener {
  readonly parts: GrantParts;
  readonly token: bigint;
  readonly backendId: string;
  readonly permitIds: readonly string[];
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly place: GrantPlace | undefined;
  /** Monotonic. */
  readonly grantedAtMs: Millis;
  readonly nodes: readonly [OwnNode, ...OwnNode[]];
  /** The session with which it ends. */
  readonly context: SessionContext;
  #watches: readonly OwnNodeWatch[];
  /** Set by `begin()`, before which nothing is reported. */
  #state!: GrantState;
  readonly #grantedOn: number;
  /** Set once the holder has released, and the provider keeps the lock. */
  #kept: KeptNode | null = null;
  #revokeReported = false;
  /** The connection on which a grant with `endsWhenSuspended` came in doubt only because the machine seems to have slept. */
  #asleepOn: number | null = null;
  /** How many breaks of contact it has heard of. */
  #breaks: number;
  #end: "released" | "lost" | null = null;
  /** Up to its end an event would have reported the end of each node. */
  #watched = false;

  constructor(context: SessionContext, parts: GrantParts) {
    this.context = context;
    this.parts = parts;
    this.nodes = parts.nodes;
    this.token = parts.token;
    this.backendId = parts.nodes[0].path;
    this.permitIds = parts.permitIds ?? [];
    this.roundTrips = parts.roundTrips;
    this.contended = parts.contended;
    this.place = parts.place;
    this.#grantedOn = context.session.connection;
    this.grantedAtMs = context.runtime.nowMs();
    this.#watches = parts.watches ?? [];
    this.#breaks = context.grants.breaks;
  }

  /** Core knows the grant: from now on what happens to it is reported to `state`. Called once. */
  begin(state: GrantState): void {
    this.#state = state;
    this.context.grants.add(this);
    for (const watch of this.#watches) {
      watch.listener = this;
      if (watch.revokeSeen) this.revokeAsked();
    }
    // A naive mutex watches at once: its release must not delete a node that has taken the place of its own.
    if (this.parts.revocable || this.parts.sharedNames) this.attend();
  }

  /** Goes on during a release: until the delete is confirmed, only the end of the session ends the hold. */
  validUntilMs(): Millis {
    return this.over && this.#end === "lost" ? 0 : Math.max(0, this.context.session.leaseEndMs());
  }

  sureUntilMs(): Millis {
    return this.#end === "lost" ? 0 : Math.max(0, this.context.session.leaseUntilMs());
  }

  /** Arms the watch on the own node, whose first read also finds a revoke message written before. */
  attend(): void {
    if (this.over || this.#watches.length > 0) return;
    this.#watches = this.nodes.map((node) => new OwnNodeWatch(this.context, node, this));
    for (const watch of this.#watches) watch.arm();
  }

  /** Sends a read of the own node, unless it is watched, and one of the children: only the next acquire waits for their answers. */
  keep(): boolean {
    const { session, leaseAhead } = this.context;
    if (this.over || !leaseAhead || session.connection !== this.#grantedOn) return false;
    if (this.#watches.some(({ touched }) => touched)) return false;
    const [node] = this.nodes;
    const own = this.#watches[0] ?? new OwnNodeWatch(this.context, node, this);
    this.#watches = [own];
    this.#kept = new KeptNode(this.context, node, own, this.#state as KeepingState);
    this.#kept.listen();
    return true;
  }

  mayLend(): "yes" | "soon" | "no" {
    return this.#kept?.mayLend() ?? "no";
  }

  /**
   * `sync` and `exists` in one write: seen through the leader, the same session still owns the same node. While the caller does
   * not have the hold, this asks until there is an answer or the session is over: a node that went with its session was not
   * deleted, and a dead session may refuse requests for a while before it is known to be dead.
   */
  prove(): Promise<Millis | null> {
    return new Promise((resolve, reject) => {
      const notOver = this.context.whenOver(() => resolve(null));
      this.#prove((untilMs, failure) => {
        notOver();
        if (failure === null) resolve(untilMs);
        else reject(requestFailure(`confirming ${this.backendId}`, failure, this.context.session));
      });
    });
  }

  #prove(settle: (untilMs: Millis | null, failure: RequestError | null) => void): void {
    const { session } = this.context;
    const sync = sendSync(session);
    this.look(sync, (verdict) => {
      if (verdict === "ours") settle(this.validUntilMs(), null);
      else if (verdict === "not-ours") settle(null, null);
      else if (this.#state.delivered || (sync.failure === null && isFinal(verdict))) settle(null, verdict);
      else this.context.again(verdict, () => this.#prove(settle));
    });
  }

  /**
   * Looks its nodes up behind `sync`. A node that is missing, or of another session, ends the
   * grant. Calls `settle` once.
   */
  look(sync: Sync, settle: (verdict: "ours" | "not-ours" | RequestError) => void): void {
    const { session } = this.context;
    let open = this.nodes.length;
    let trouble: RequestError | null = null;
    for (const { path, czxid } of this.nodes) {
      session.send("exists", { path, watch: false }, (outcome) => {
        if (outcome.ok) {
          const { stat } = outcome.value;
          if (stat.czxid !== czxid || stat.ephemeralOwner !== session.id) this.#foundGone(sync);
        } else if (saysNoNode(outcome.error)) this.#foundGone(sync);
        else trouble = outcome.error;
        open -= 1;
        if (open === 0) settle(this.over ? "not-ours" : (sync.failure ?? trouble ?? "ours"));
      });
    }
  }

  release(): Promise<boolean> {
    if (this.over) return Promise.resolve(false);
    this.#finish("released");
    const nodesReleased = new Promise<boolean>((resolve, reject) => {
      let open = this.nodes.length;
      let released = true;
      let refusal: Error | null = null;
      this.#deleteNodes((outcome, error) => {
        // Else core would take the missing node for the work of another client.
        if (outcome === "session-over") this.#state.lost(this.context.grants.endedBy);
        if (outcome !== "deleted") released = false;
        refusal ??= error;
        open -= 1;
        if (open > 0) return;
        if (refusal === null) resolve(released);
        else reject(requestFailure(`releasing ${this.backendId}`, refusal, this.context.session));
      });
    });
    const { besides } = this.parts;
    if (besides === undefined) return nodesReleased;
    return Promise.all([nodesReleased, besides]).then(([released]) => released);
  }

  /** Released or lost. */
  get over(): boolean {
    this.hear();
    return this.#end !== null;
  }

  get doubted(): boolean {
    return this.#state.doubted;
  }

  /** An undelivered grant hears of the end at once, so that its claim goes on to the next session. So does a leader with `endsWhenSuspended`, whose term is over. */
  get toldAtOnce(): boolean {
    return !this.#state.delivered || this.parts.endsWhenSuspended === true;
  }

  hear(): void {
    if (this.#end !== null) return;
    const { lost, breaks } = this.context.grants;
    if (lost !== null) this.lose(lost);
    else if (breaks !== this.#breaks) {
      this.#breaks = breaks;
      this.doubt();
    }
  }

  /** Contact is broken, or the machine may have slept; the deadline is still ahead. */
  doubt(): void {
    if (this.over || this.#state.doubted) return;
    // A kept grant that hears of a break when contact is back is given back now: no later contact would have it deleted.
    if (this.#kept !== null && this.context.session.state === "connected") {
      (this.#state as KeepingState).wanted();
      if (this.over) return;
    }
    // A hold that its caller does not have yet is only delivered once it is proven.
    if (this.parts.endsWhenSuspended && this.#state.delivered) {
      const { asleep, connection } = this.context.session;
      if (!asleep) return this.lose("suspended");
      this.#asleepOn = connection;
    }
    this.#state.uncertain();
  }

  recover(): void {
    if (this.over || !this.#state.doubted) return;
    // Contact broke after all, while the session was in doubt already.
    if (this.#asleepOn !== null && this.#asleepOn !== this.context.session.connection) {
      return this.lose("suspended");
    }
    this.#asleepOn = null;
    this.#state.recovered();
  }

  /** A term that ends with the contact was only in doubt while the machine seemed to have slept. */
  contactBroke(): void {
    if (this.#asleepOn !== null && !this.over) this.lose("suspended");
  }

  /**
   * An event or a listing shows that a node is missing. While the caller does not have the hold it is not lost yet: the node
   * may have gone with the session, and what core asks next by `prove()` shows which.
   */
  gone(): void {
    if (this.over) return;
    // It comes after the other watches of these nodes: a waiter of this session behind them asks whose they were.
    queueMicrotask(() => {
      for (const { path, czxid } of this.nodes) this.context.unclaim(path, czxid);
    });
    if (this.#state.delivered) this.lose("stolen");
    else this.#state.uncertain();
  }

  revokeAsked(): void {
    if (this.over || this.#revokeReported || !(this.parts.revocable || this.#kept !== null)) return;
    this.#revokeReported = true;
    this.#state.revokeRequested();
  }

  armed(): void {
    this.#kept?.ownAnswered();
  }

  touched(): void {
    if (this.#kept !== null && !this.over) (this.#state as KeepingState).wanted();
  }

  lose(reason: LossReason): void {
    if (this.#end !== null) return;
    this.#finish("lost");
    // The holder hears that the hold is over, and has no use for the other permits of a batch or for a node that we gave up.
    if ((this.nodes.length > 1 || reason === "suspended") && !this.context.over) this.#deleteNodes(() => {});
    this.#state.lost(reason);
  }

  /** The error for what was to be built on this grant. `why`: what its loss has come before. */
  lossError(why: string): LockLostError {
    const { context, token, parts } = this;
    const { lockName } = parts;
    const reason = context.over ? "session-expired" : "stolen";
    return new LockLostError(`${lockName}: ${why}`, { reason, token, lockName, backend: "zookeeper" });
  }

  #foundGone(sync: Sync): void {
    if (this.#state.delivered || sync.failure === null) this.lose("stolen");
  }

  #deleteNodes(settled: (outcome: DeletionOutcome, error: Error | null) => void): void {
    const { deletions } = this.context;
    const sharedNames = this.parts.sharedNames ?? false;
    const watched = this.#watched;
    for (const { path, czxid } of this.nodes) {
      deletions.delete(path, settled, sharedNames ? { czxid, watched } : null);
    }
  }

  #finish(end: "released" | "lost"): void {
    this.#end = end;
    this.#watched = this.#watches.length > 0 && this.#watches.every(({ trusted }) => trusted);
    for (const watch of this.#watches) watch.stop();
    this.#kept?.stop();
    this.context.grants.delete(this);
  }
}
