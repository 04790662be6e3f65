import type { Grant, GrantChange, LossReason, Millis } from "@holdfast/core";
import { saysNoNode } from "../session/errors.js";
import type { DeletionOutcome } from "./deletions.js";
import { requestFailure } from "./failures.js";
import { type OwnNode, type OwnNodeListener, OwnNodeWatch } from "./own-node-watch.js";
import type { SessionDesk } from "./session-desk.js";

export interface HoldParts {
  readonly lockName: string;
  /** What its nodes carry. */
  readonly data: Uint8Array;
  /** At least one: several for a batch of permits, which are held all or not at all. */
  readonly nodes: readonly [OwnNode, ...OwnNode[]];
  readonly token: bigint;
  /** As `Grant.permitIds`. */
  readonly permitIds: readonly string[];
  readonly grantedAtMs: Millis;
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly revocable: boolean;
  /** Other clients make nodes of the same names once these are gone: see `NaiveAttempt`. Default `false`: the names are ours alone. */
  readonly sharedNames?: boolean;
  /**
   * The end of what else was made for it: a release waits for that too. Rejects when the server refuses, and then so does
   * the release.
   */
  readonly besides?: Promise<void>;
  /** Given up as soon as contact breaks. Default `false`: it is `uncertain` until the lease ends. */
  readonly endsWhenSuspended?: boolean;
  /** Of all nodes, as the wait has armed them; without them the hold arms its own when somebody looks. */
  readonly watches: readonly OwnNodeWatch[];
}

/**
 * Granted nodes of ours: good while their session is, and while nobody deletes one of them. Ends once: by `release()`, or
 * by a loss, which is told at once to the listener, or to the first that comes.
 */
export class Hold implements Grant {
  readonly lockName: string;
  readonly data: Uint8Array;
  readonly token: bigint;
  readonly backendId: string;
  readonly permitIds: readonly string[];
  readonly roundTrips: number;
  readonly contended: boolean;
  /** Monotonic. */
  readonly grantedAtMs: Millis;
  readonly nodes: readonly [OwnNode, ...OwnNode[]];
  readonly revocable: boolean;
  readonly #sharedNames: boolean;
  readonly #besides: Promise<void> | undefined;
  readonly #desk: SessionDesk;
  readonly #endsWhenSuspended: boolean;
  #watches: readonly OwnNodeWatch[];
  #listener: ((change: GrantChange) => void) | null = null;
  #untold: GrantChange[] = [];
  #revokeTold = false;
  #uncertain = false;
  /** The connection on which a hold that ends with contact came in doubt by a suspected sleep alone. */
  #asleepOn: number | null = null;
  #over = false;
  #lost = false;

  constructor(desk: SessionDesk, parts: HoldParts) {
    this.lockName = parts.lockName;
    this.data = parts.data;
    this.nodes = parts.nodes;
    this.token = parts.token;
    this.backendId = parts.nodes[0].path;
    this.permitIds = parts.permitIds;
    this.roundTrips = parts.roundTrips;
    this.contended = parts.contended;
    this.grantedAtMs = parts.grantedAtMs;
    this.revocable = parts.revocable;
    this.#sharedNames = parts.sharedNames ?? false;
    this.#besides = parts.besides;
    this.#desk = desk;
    this.#endsWhenSuspended = parts.endsWhenSuspended ?? false;
    this.#watches = parts.watches;
    desk.holds.add(this);
    for (const watch of parts.watches) {
      watch.listener = this.#ownNodeListener();
      if (watch.revokeSeen) watch.listener.revokeAsked();
    }
    if (parts.revocable) this.attend();
  }

  /** The session that it lives and dies with. */
  get desk(): SessionDesk {
    return this.#desk;
  }

  /** Goes on during a release: until the delete is confirmed, only the end of the session ends the hold. */
  validUntilMs(): Millis {
    return this.#lost ? 0 : Math.max(0, this.#desk.session.leaseEndMs());
  }

  sureUntilMs(): Millis {
    return this.#lost ? 0 : Math.max(0, this.#desk.session.leaseUntilMs());
  }

  onState(listener: (change: GrantChange) => void): void {
    this.#listener = listener;
    for (const change of this.#untold.splice(0)) listener(change);
  }

  /** Arms the watch on the own node, whose first read also finds a revoke message written before. */
  attend(): void {
    if (this.#over || this.#watches.length > 0) return;
    this.#watches = this.nodes.map((node) => new OwnNodeWatch(this.#desk, node, this.#ownNodeListener()));
    this.#desk.session.batch(() => {
      for (const watch of this.#watches) watch.arm();
    });
  }

  /** `sync` and `exists` in one write: seen through the leader, the same session still owns the same node. */
  renew(): Promise<Millis | null> {
    return new Promise((resolve, reject) => {
      const { session } = this.#desk;
      let synced: Error | null = null;
      session.batch(() => {
        session.prove((outcome) => {
          if (!outcome.ok) synced = outcome.error;
        });
        this.look((verdict) => {
          if (verdict === "not-ours") resolve(null);
          else if (verdict === "ours" && synced === null) resolve(this.validUntilMs());
          else reject(requestFailure(`confirming ${this.backendId}`, synced ?? (verdict as Error), session));
        });
      });
    });
  }

  /**
   * Looks the own nodes up; the caller has sent the `sync` before it, and has opened a batch. A missing or foreign node
   * ends the hold. Settles once.
   */
  look(settle: (verdict: "ours" | "not-ours" | Error) => void): void {
    let unanswered = this.nodes.length;
    let trouble: Error | null = null;
    for (const node of this.nodes) {
      this.#lookAt(node, (verdict) => {
        if (verdict === "not-ours") this.lose("stolen");
        else if (verdict !== "ours") trouble = verdict;
        unanswered -= 1;
        if (unanswered === 0) settle(this.#over ? "not-ours" : (trouble ?? "ours"));
      });
    }
  }

  #lookAt(node: OwnNode, settle: (verdict: "ours" | "not-ours" | Error) => void): void {
    const { session } = this.#desk;
    session.send("exists", { path: node.path, watch: false }, (outcome) => {
      if (outcome.ok) {
        const { czxid, ephemeralOwner } = outcome.value.stat;
        settle(czxid === node.czxid && ephemeralOwner === session.id ? "ours" : "not-ours");
      } else if (saysNoNode(outcome.error)) {
        settle("not-ours");
      } else settle(outcome.error);
    });
  }

  release(): Promise<boolean> {
    if (this.#over) return Promise.resolve(false);
    this.#end();
    const besides = this.#besides;
    const released = this.#releaseNodes();
    return besides === undefined ? released : Promise.all([released, besides]).then(([first]) => first);
  }

  #releaseNodes(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let open = this.nodes.length;
      let released = true;
      let refusal: Error | null = null;
      this.#deleteNodes((outcome, error) => {
        if (outcome !== "deleted") released = false;
        refusal ??= error;
        open -= 1;
        if (open > 0) return;
        if (refusal === null) resolve(released);
        else reject(requestFailure(`releasing ${this.backendId}`, refusal, this.#desk.session));
      });
    });
  }

  /** Released or lost. */
  get over(): boolean {
    return this.#over;
  }

  get uncertain(): boolean {
    return this.#uncertain;
  }

  /** Contact is broken, or the machine may have slept; the deadline is still ahead. */
  doubt(): void {
    if (this.#over || this.#uncertain) return;
    // What nobody has been told of yet is only delivered once it is proven.
    if (this.#endsWhenSuspended && this.#listener !== null) {
      const { asleep, connection } = this.#desk.session;
      if (!asleep) return this.lose("suspended");
      this.#asleepOn = connection;
    }
    this.#uncertain = true;
    this.#tell({ type: "uncertain" });
  }

  recover(): void {
    if (this.#over || !this.#uncertain) return;
    // Contact broke after all, while the session was in doubt already.
    if (this.#asleepOn !== null && this.#asleepOn !== this.#desk.session.connection)
      return this.lose("suspended");
    this.#asleepOn = null;
    this.#uncertain = false;
    this.#tell({ type: "recovered" });
  }

  lose(reason: LossReason): void {
    if (this.#over) return;
    this.#lost = true;
    this.#end();
    // Of no use to a holder who has been told that it is over: the other permits of a batch, or a node given up by ourselves.
    if ((this.nodes.length > 1 || reason === "suspended") && !this.#desk.over) this.#deleteNodes(() => {});
    this.#tell({ type: "lost", reason });
  }

  #deleteNodes(settled: (outcome: DeletionOutcome, error: Error | null) => void): void {
    const { session, deletions } = this.#desk;
    session.batch(() => {
      for (const { path, czxid } of this.nodes) {
        deletions.delete(path, settled, this.#sharedNames ? czxid : null);
      }
    });
  }

  #ownNodeListener(): OwnNodeListener {
    return {
      gone: () => this.lose("stolen"),
      revokeAsked: () => {
        if (this.#over || !this.revocable || this.#revokeTold) return;
        this.#revokeTold = true;
        this.#tell({ type: "revoke-requested" });
      },
    };
  }

  #end(): void {
    this.#over = true;
    for (const watch of this.#watches) watch.stop();
    this.#desk.holds.delete(this);
  }

  #tell(change: GrantChange): void {
    if (this.#listener === null) this.#untold.push(change);
    else this.#listener(change);
  }
}
