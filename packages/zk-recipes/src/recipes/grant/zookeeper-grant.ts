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
  /** The data of its nodes. */
  readonly data: Uint8Array;
  /** At least one. A batch of permits has several, which are held all or not at all. */
  readonly nodes: readonly [OwnNode, ...OwnNode[]];
  readonly token: bigint;
  /** See `Grant.permitIds`. Default: none. */
  readonly permitIds?: readonly string[];
  readonly revocable: boolean;
  /**
   * Other clients make nodes of the same names once these are gone: see `NaiveAttempt`. Default: `false`, the names are
   * ours alone.
   */
  readonly sharedNames?: boolean;
  /** The delete of another node that was made for the grant. A release waits for it, and rejects if the server refused it. */
  readonly besides?: Promise<void>;
  /** The grant is lost as soon as contact breaks. Default: `false`, it is uncertain until the lease ends. */
  readonly endsWhenSuspended?: boolean | undefined;
  /** The watches on all nodes, as the wait has armed them. Default: none; then the grant arms its own in `attend()`. */
  readonly watches?: readonly OwnNodeWatch[];
}

/**
 * Granted nodes of ours. The grant holds as long as its session lives and no other client deletes one of the nodes. It
 * ends once, by `release()` or by a loss. What happens to it is reported to core's `GrantState`.
 */
export class ZooKeeperGrant implements Grant, SessionGrant, OwnNodeListener {
  readonly parts: GrantParts;
  readonly token: bigint;
  readonly backendId: string;
  readonly permitIds: readonly string[];
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly place: GrantPlace | undefined;
  /** Monotonic time of the grant. */
  readonly grantedAtMs: Millis;
  readonly nodes: readonly [OwnNode, ...OwnNode[]];
  /** The session that the grant belongs to, and ends with. */
  readonly context: SessionContext;
  #watches: readonly OwnNodeWatch[];
  /** Set by `begin()`. Nothing is reported before that. */
  #state!: GrantState;
  readonly #grantedOn: number;
  /** Set once the holder has released and the provider keeps the lock. */
  #kept: KeptNode | null = null;
  #revokeReported = false;
  /**
   * For a grant with `endsWhenSuspended` that is in doubt only because the machine seems to have slept: the connection at
   * that moment.
   */
  #asleepOn: number | null = null;
  /** How many breaks of contact it has taken note of. */
  #breaks: number;
  #end: "released" | "lost" | null = null;
  /** Up to the end of the grant, an event would have reported the end of each node. */
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

  /** Core has taken the grant: from now on what happens to it is reported to `state`. Called once. */
  begin(state: GrantState): void {
    this.#state = state;
    this.context.grants.add(this);
    for (const watch of this.#watches) {
      watch.listener = this;
      if (watch.revokeSeen) this.revokeAsked();
    }
    // A naive mutex watches its node at once: its release must not delete another client's node that has replaced its own.
    if (this.parts.revocable || this.parts.sharedNames) this.attend();
  }

  /** Goes on during a release. Until the delete is confirmed, only the end of the session ends the hold. */
  validUntilMs(): Millis {
    return this.over && this.#end === "lost" ? 0 : Math.max(0, this.context.session.leaseEndMs());
  }

  sureUntilMs(): Millis {
    return this.#end === "lost" ? 0 : Math.max(0, this.context.session.leaseUntilMs());
  }

  /** Arms the watch on the own node. Its first read also finds a revoke message that was written before. */
  attend(): void {
    if (this.over || this.#watches.length > 0) return;
    this.#watches = this.nodes.map((node) => new OwnNodeWatch(this.context, node, this));
    for (const watch of this.#watches) watch.arm();
  }

  /**
   * Sends a read of the own node, unless it is watched, and a read of the children. Only the next acquire waits for their
   * answers.
   */
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
   * Sends `sync` and `exists` in one write. They show through the leader whether the same session still owns the same
   * node.
   *
   * Before the caller has the hold, this asks again until there is an answer or the session is over. A node that went
   * with its session was not deleted by another client. And a dead session may refuse requests for a while before it is
   * known to be dead.
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
   * Looks up its nodes behind `sync`. A node that is missing, or belongs to another session, ends the grant. Calls
   * `settle` once.
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
        // Otherwise core would blame another client for the missing node.
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

  /** Whether the grant was released or lost. */
  get over(): boolean {
    this.hear();
    return this.#end !== null;
  }

  get doubted(): boolean {
    return this.#state.doubted;
  }

  /**
   * An undelivered grant is notified of the end at once, so that its claim goes on to the next session. So is a leader
   * with `endsWhenSuspended`, whose term is over.
   */
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

  /** Contact is broken, or the machine may have slept. The deadline is still ahead. */
  doubt(): void {
    if (this.over || this.#state.doubted) return;
    // A kept grant that learns of a break only after contact is back is given back now. Otherwise no later contact would
    // have it deleted.
    if (this.#kept !== null && this.context.session.state === "connected") {
      (this.#state as KeepingState).wanted();
      if (this.over) return;
    }
    // Only a delivered hold is lost here: an undelivered one is first proven before its caller gets it.
    if (this.parts.endsWhenSuspended && this.#state.delivered) {
      const { asleep, connection } = this.context.session;
      if (!asleep) return this.lose("suspended");
      this.#asleepOn = connection;
    }
    this.#state.uncertain();
  }

  recover(): void {
    if (this.over || !this.#state.doubted) return;
    // Contact broke after all, while the session was already in doubt.
    if (this.#asleepOn !== null && this.#asleepOn !== this.context.session.connection) {
      return this.lose("suspended");
    }
    this.#asleepOn = null;
    this.#state.recovered();
  }

  /** Ends a leader's term that was in doubt only because the machine seemed to have slept: now contact is broken as well. */
  contactBroke(): void {
    if (this.#asleepOn !== null && !this.over) this.lose("suspended");
  }

  /**
   * An event or a listing shows that a node is missing. Before the caller has the hold it is not lost yet: the node may
   * have gone with the session. Core calls `prove()` next, whose answer shows which.
   */
  gone(): void {
    if (this.over) return;
    // This runs after the other watches of these nodes: waiters of this session behind them ask whose nodes they were.
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
    // The hold is over, and its holder is notified below. The other permits of a batch, or a node that we gave up, are of
    // no use any more.
    if ((this.nodes.length > 1 || reason === "suspended") && !this.context.over) this.#deleteNodes(() => {});
    this.#state.lost(reason);
  }

  /** The error for what was to be built on this grant. `why`: the part of its message that says what the loss prevented. */
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
