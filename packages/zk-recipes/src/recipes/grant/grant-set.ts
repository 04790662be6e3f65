import type { LossReason, Millis, Runtime } from "@holdfast/core";
import { inSlices } from "@holdfast/core/internal";
import { baseName, parentOf } from "@holdfast/zk-protocol";
import type { RequestError, ZooKeeperSession } from "../../session/types.js";
import { firstPauseMs, isFinal, longerPauseMs } from "../session/failures.js";
import { type Attended, Lasting } from "../session/lasting.js";
import { type Sync, sendSync } from "../session/sync.js";

/**
 * How often holds that have lasted this long get a watch on their own node, also if their holder has not asked for
 * `lost`. A hold has that watch after twice this time at the latest.
 */
const attendEveryMs: Millis = 125;

/** A `ZooKeeperGrant` as its session knows it. */
export interface SessionGrant extends Attended {
  readonly nodes: readonly { readonly path: string }[];
  readonly token: bigint;
  /** Monotonic time of the grant. */
  readonly grantedAtMs: Millis;
  /** Whether the grant is over. Reading this first takes note of all that has happened to its session. */
  readonly over: boolean;
  /** Whether the grant is in doubt. Up to date once `over` was read. */
  readonly doubted: boolean;
  /**
   * The grant takes note of what happens to its session in the same turn of the event loop, however many other grants
   * there are.
   */
  readonly toldAtOnce: boolean;
  /** Takes note of all that has happened to its session by now. */
  hear(): void;
  look(sync: Sync, settle: (verdict: "ours" | "not-ours" | RequestError) => void): void;
  recover(): void;
  /** Contact is broken. The session may have been in doubt before that. */
  contactBroke(): void;
  /** One of its nodes is missing. */
  gone(): void;
}

/**
 * The grants of one session. They come in doubt, recover and end together with it. When there are very many, some are
 * notified only in a later turn of the event loop. A grant that is asked for its state before that takes note first.
 */
export class GrantSet {
  /**
   * Why the grants are over, once the session is. When there are very many, some are notified only in a later turn of the
   * event loop, and read this before.
   */
  lost: LossReason | null = null;
  /** How often contact has broken. */
  breaks = 0;
  readonly #session: ZooKeeperSession;
  readonly #runtime: Runtime;
  /** The grants by the path of the lock, then by the path of each node. */
  readonly #byParent = new Map<string, Map<string, SessionGrant>>();
  readonly #grants = new Set<SessionGrant>();
  readonly #lasting: Lasting;
  /** Counts the rounds in which doubted grants are looked at. When contact breaks again, the round ends. */
  #round = 0;
  #endPause: () => void = () => {};
  /** The last connection whose end was reported. */
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
      // An attempt at the next connection has failed: no grant changes. Only while there is a connection can a grant be
      // in doubt because of a sleep alone.
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
   * Takes the answer to a listing. A granted node that is not in the listing is gone, although no watch has reported its
   * end. Frames come in order, so a node that is known here was made before its lock was listed.
   */
  reconcile(parent: string, listing: { readonly children: readonly string[] }): void {
    const held = this.#byParent.get(parent);
    // The names are decoded only if this session holds something below `parent`.
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

  /**
   * Sends one `sync` for all grants, then an `exists` for each. The session has re-sent the watches before. `refusedMs`:
   * the pause after a refusal that is final.
   */
  #recoverAll(refusedMs: Millis = firstPauseMs): void {
    const session = this.#session;
    const round = ++this.#round;
    if (session.state !== "connected") return;
    let pauseMs: Millis = Infinity;
    let sync: Sync | undefined;
    inSlices(this.#runtime, [...this.#grants], (grant) => {
      // A newer round looks at this grant, behind its own `sync`.
      if (round !== this.#round) return;
      if (grant.over || !grant.doubted) return;
      sync ??= sendSync(session);
      grant.look(sync, (verdict) => {
        if (verdict === "not-ours") return;
        if (verdict === "ours") {
          // Contact may be in doubt again, as after a sleep. The next `connected` then starts another look.
          if (session.state === "connected") grant.recover();
          return;
        }
        // A server that is too busy is asked again soon. One that refuses for good is asked after ever longer pauses.
        const againMs = isFinal(verdict) ? refusedMs : firstPauseMs;
        // If contact broke, the next `connected` looks again.
        if (againMs >= pauseMs || session.state !== "connected") return;
        pauseMs = againMs;
        this.#endPause();
        this.#endPause = this.#runtime.setTimer(againMs, () => this.#recoverAll(longerPauseMs(refusedMs)));
      });
    });
  }

  /** Why grants end with the session, which is over. It is known before `lost` is set. */
  get endedBy(): LossReason {
    if (this.#session.state === "closed") return "provider-closed";
    return this.#session.lossReason === "lease" ? "lease-expired" : "session-expired";
  }
}
