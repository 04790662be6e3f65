import type { LossReason, Millis, Runtime } from "@holdfast/core";
import { inSlices } from "@holdfast/core/internal";
import { baseName, parentOf } from "@holdfast/zk-protocol";
import type { RequestError, ZooKeeperSession } from "../../session/types.js";
import { firstPauseMs, isFinal, longerPauseMs } from "../session/failures.js";
import { type Attended, Lasting } from "../session/lasting.js";
import { type Sync, sendSync } from "../session/sync.js";

/**
 * How often holds that have lasted for as long get their own-node watch, also when their holder has not asked for `lost`: a hold has
 * it after twice this time.
 */
const attendEveryMs: Millis = 125;

/** A `ZooKeeperGrant` as its session knows it. */
export interface SessionGrant extends Attended {
  readonly nodes: readonly { readonly path: string }[];
  readonly token: bigint;
  /** Monotonic. */
  readonly grantedAtMs: Millis;
  /** Whether the grant is over. Reading this takes note of all that has happened to its session. */
  readonly over: boolean;
  /** Whether it is in doubt. Up to date once `over` was read. */
  readonly doubted: boolean;
  /** It is notified of what happens to its session in the same turn of the event loop, however many other grants there are. */
  readonly toldAtOnce: boolean;
  /** Takes note of all that has happened to its session by now. */
  hear(): void;
  look(sync: Sync, settle: (verdict: "ours" | "not-ours" | RequestError) => void): void;
  recover(): void;
  /** Contact is broken, in a session that may have been in doubt before. */
  contactBroke(): void;
  /** A node of it is missing. */
  gone(): void;
}

/**
 * The grants of one session, which come in doubt, recover and end together with it. Where there are very many, some are notified in a
 * later turn of the event loop: such a grant takes note before that when it is asked for its state.
 */
export class GrantSet {
  /** Why the grants are over, once the session is: where there are very many, some are notified in a later turn of the event loop. */
  lost: LossReason | null = null;
  /** How often contact has broken. */
  breaks = 0;
  readonly #session: ZooKeeperSession;
  readonly #runtime: Runtime;
  /** The grants by the path of the lock, then by the path of each node. */
  readonly #byParent = new Map<string, Map<string, SessionGrant>>();
  readonly #grants = new Set<SessionGrant>();
  readonly #lasting: Lasting;
  /** The number of the round of looks at what is doubted: contact that breaks again ends the round. */
  #round = 0;
  #endPause: () => void = () => {};
  /** The connection whose end was heard of last. */
  #brokenOn = 0;

  constructor(session: ZooKeeperSession, runtime: Runtime) {
    this.#session = session;
    this.#runtime = runtime;
    this.#lasting = new Lasting(attendEveryMs, runtime);
    session.onState((state) => {
      if (state === "suspended") {
        this.breaks++;
        this.#tellAll();
      } else if (state === "connected") this.#recoverAll();
      else if (state === "lost" || state === "closed") {
        this.lost = this.endedBy;
        this.#tellAll();
      }
    });
    session.onBroken(() => {
      // An attempt at the next one has failed. Only while there is a connection is a grant in doubt for a sleep alone.
      if (this.#brokenOn === session.connection) return;
      this.#brokenOn = session.connection;
      for (const grant of [...this.#grants]) if (grant.toldAtOnce) grant.contactBroke();
    });
  }

  add(grant: SessionGrant): void {
    this.#grants.add(grant);
    for (const { path } of grant.nodes) {
      const parent = parentOf(path);
      const siblings = this.#byParent.get(parent) ?? new Map<string, SessionGrant>();
      this.#byParent.set(parent, siblings.set(path, grant));
    }
    this.#lasting.add(grant);
  }

  delete(grant: SessionGrant): void {
    this.#grants.delete(grant);
    this.#lasting.delete(grant);
    for (const { path } of grant.nodes) {
      const parent = parentOf(path);
      const siblings = this.#byParent.get(parent);
      siblings?.delete(path);
      if (siblings?.size === 0) this.#byParent.delete(parent);
    }
  }

  get(path: string): SessionGrant | undefined {
    return this.#byParent.get(parentOf(path))?.get(path);
  }

  /**
   * A listing was answered. A granted node that is not in it is gone, although no watch was there to say so. Frames come in
   * order, so a node that is known here was made before its lock was listed.
   */
  reconcile(parent: string, listing: { readonly children: readonly string[] }): void {
    const held = this.#byParent.get(parent);
    // The names are read only where something is held.
    if (held === undefined) return;
    const listed = new Set(listing.children);
    for (const [path, grant] of [...held]) if (!listed.has(baseName(path))) grant.gone();
  }

  #tellAll(): void {
    this.#round++;
    const grants = [...this.#grants];
    for (const grant of grants) if (grant.toldAtOnce) grant.hear();
    inSlices(this.#runtime, grants, (grant) => grant.hear());
  }

  /** One `sync` for all, then an `exists` each; the session has re-sent the watches before. `refusedMs`: the pause after a refusal for good. */
  #recoverAll(refusedMs: Millis = firstPauseMs): void {
    const session = this.#session;
    const round = ++this.#round;
    if (session.state !== "connected") return;
    let pauseMs: Millis = Infinity;
    let sync: Sync | undefined;
    inSlices(this.#runtime, [...this.#grants], (grant) => {
      // The next round looks at it, behind a `sync` of its own.
      if (round !== this.#round) return;
      if (grant.over || !grant.doubted) return;
      sync ??= sendSync(session);
      grant.look(sync, (verdict) => {
        if (verdict === "not-ours") return;
        if (verdict === "ours") {
          // Contact may be in doubt again, as after a sleep: then the next `connected` looks again.
          if (session.state === "connected") grant.recover();
          return;
        }
        // A server too busy to answer is asked again soon, and one that refuses for good ever later.
        const againMs = isFinal(verdict) ? refusedMs : firstPauseMs;
        // Where contact broke, the next `connected` does it.
        if (againMs >= pauseMs || session.state !== "connected") return;
        pauseMs = againMs;
        this.#endPause();
        this.#endPause = this.#runtime.setTimer(againMs, () => this.#recoverAll(longerPauseMs(refusedMs)));
      });
    });
  }

  /** Why grants end with the session, which is over: also before `lost` says so. */
  get endedBy(): LossReason {
    if (this.#session.state === "closed") return "provider-closed";
    return this.#session.lossReason === "lease" ? "lease-expired" : "session-expired";
  }
}
