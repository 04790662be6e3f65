import type { Grant, GrantChange, LossReason, Millis } from "@holdfast/core";
import { errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";
import { requestFailure } from "./failures.js";
import { type OwnNode, type OwnNodeListener, OwnNodeWatch } from "./own-node-watch.js";
import type { SessionDesk } from "./session-desk.js";

export interface HoldParts {
  readonly node: OwnNode;
  readonly grantedAtMs: Millis;
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly revocable: boolean;
  /** The watch that the wait has armed; without one the hold arms its own when somebody looks. */
  readonly watch: OwnNodeWatch | null;
}

/**
 * A granted queue node: good while its session is, and while nobody deletes it. Ends once: by `release()`, or by a loss,
 * which is told at once to the listener, or to the first that comes.
 */
export class Hold implements Grant {
  readonly token: bigint;
  readonly backendId: string;
  readonly permitIds: readonly string[] = [];
  readonly roundTrips: number;
  readonly contended: boolean;
  /** Monotonic. */
  readonly grantedAtMs: Millis;
  readonly #desk: SessionDesk;
  readonly #node: OwnNode;
  readonly #revocable: boolean;
  #watch: OwnNodeWatch | null;
  #listener: ((change: GrantChange) => void) | null = null;
  #untold: GrantChange[] = [];
  #revokeTold = false;
  #uncertain = false;
  #over = false;
  #lost = false;

  constructor(desk: SessionDesk, parts: HoldParts) {
    this.token = parts.node.czxid;
    this.backendId = parts.node.path;
    this.roundTrips = parts.roundTrips;
    this.contended = parts.contended;
    this.grantedAtMs = parts.grantedAtMs;
    this.#desk = desk;
    this.#node = parts.node;
    this.#revocable = parts.revocable;
    this.#watch = parts.watch;
    desk.holds.add(this);
    if (this.#watch !== null) {
      this.#watch.listener = this.#ownNodeListener();
      if (this.#watch.revokeSeen) this.#watch.listener.revokeAsked();
    } else if (parts.revocable) {
      this.attend();
    }
  }

  /** Goes on during a release: until the delete is confirmed, only the end of the session ends the hold. */
  validUntilMs(): Millis {
    return this.#lost ? 0 : Math.max(0, this.#desk.session.leaseUntilMs());
  }

  onState(listener: (change: GrantChange) => void): void {
    this.#listener = listener;
    for (const change of this.#untold.splice(0)) listener(change);
  }

  /** Arms the watch on the own node, whose first read also finds a revoke message written before. */
  attend(): void {
    if (this.#over || this.#watch !== null) return;
    this.#watch = new OwnNodeWatch(this.#desk, this.#node, this.#ownNodeListener());
    this.#watch.arm();
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

  /** Looks the own node up; the caller has sent the `sync` before it. A missing or foreign node ends the hold. */
  look(settle: (verdict: "ours" | "not-ours" | Error) => void): void {
    const { session } = this.#desk;
    session.send("exists", { path: this.backendId, watch: false }, (outcome) => {
      if (this.#over) return settle("not-ours");
      if (outcome.ok) {
        const { czxid, ephemeralOwner } = outcome.value.stat;
        if (czxid === this.token && ephemeralOwner === session.id) return settle("ours");
      } else if (!(outcome.error instanceof ZooKeeperError && outcome.error.code === errorCodes.NoNode)) {
        return settle(outcome.error);
      }
      this.lose("stolen");
      settle("not-ours");
    });
  }

  release(): Promise<boolean> {
    if (this.#over) return Promise.resolve(false);
    this.#end();
    return new Promise((resolve, reject) => {
      this.#desk.deletions.delete(this.backendId, (outcome, error) => {
        if (error !== null) reject(requestFailure(`releasing ${this.backendId}`, error, this.#desk.session));
        else resolve(outcome === "deleted");
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

  /** Contact is broken; the deadline is still ahead. */
  doubt(): void {
    if (this.#over || this.#uncertain) return;
    this.#uncertain = true;
    this.#tell({ type: "uncertain" });
  }

  recover(): void {
    if (this.#over || !this.#uncertain) return;
    this.#uncertain = false;
    this.#tell({ type: "recovered" });
  }

  lose(reason: LossReason): void {
    if (this.#over) return;
    this.#lost = true;
    this.#end();
    this.#tell({ type: "lost", reason });
  }

  #ownNodeListener(): OwnNodeListener {
    return {
      gone: () => this.lose("stolen"),
      revokeAsked: () => {
        if (this.#over || !this.#revocable || this.#revokeTold) return;
        this.#revokeTold = true;
        this.#tell({ type: "revoke-requested" });
      },
    };
  }

  #end(): void {
    this.#over = true;
    this.#watch?.stop();
    this.#desk.holds.delete(this);
  }

  #tell(change: GrantChange): void {
    if (this.#listener === null) this.#untold.push(change);
    else this.#listener(change);
  }
}
