import type { LossReason, Millis, Runtime } from "@holdfast/core";
import { baseName, parentOf } from "@holdfast/zk-protocol";
import type { ZooKeeperSession } from "../session/types.js";
import type { Hold } from "./hold.js";

/** A hold that lasts this long gets its own-node watch, whether or not somebody has read `lost`. */
const attendAfterMs: Millis = 250;

const recoverAgainMs: Millis = 250;

/** The holds of one session, told together what happens to it. */
export class HoldSet {
  readonly #session: ZooKeeperSession;
  readonly #runtime: Runtime;
  /** By the path of the lock, then by the path of each node. */
  readonly #byParent = new Map<string, Map<string, Hold>>();
  readonly #holds = new Set<Hold>();
  /** In the order of their grants. Released ones stay until their turn comes: a short hold costs no search. */
  #unattended: { readonly hold: Hold; readonly dueMs: Millis }[] = [];
  #timerRuns = false;

  constructor(session: ZooKeeperSession, runtime: Runtime) {
    this.#session = session;
    this.#runtime = runtime;
    session.onState((state) => {
      if (state === "suspended") this.#doubtAll();
      else if (state === "connected") this.#recoverAll();
      else if (state === "lost" || state === "closed") this.#loseAll();
    });
  }

  add(hold: Hold): void {
    this.#holds.add(hold);
    for (const { path } of hold.nodes) {
      const parent = parentOf(path);
      const siblings = this.#byParent.get(parent);
      if (siblings === undefined) this.#byParent.set(parent, new Map([[path, hold]]));
      else siblings.set(path, hold);
    }
    this.#unattended.push({ hold, dueMs: hold.grantedAtMs + attendAfterMs });
    this.#runTimer();
  }

  delete(hold: Hold): void {
    this.#holds.delete(hold);
    for (const { path } of hold.nodes) {
      const parent = parentOf(path);
      const siblings = this.#byParent.get(parent);
      siblings?.delete(path);
      if (siblings?.size === 0) this.#byParent.delete(parent);
    }
  }

  get(path: string): Hold | undefined {
    return this.#byParent.get(parentOf(path))?.get(path);
  }

  /**
   * A listing was answered in which a node that we hold by is missing: news of its end, although no watch was there to
   * tell it. Frames come in order, so a node that is in the books was made before its lock was listed.
   */
  heardOf(parent: string, children: readonly string[]): void {
    const held = this.#byParent.get(parent);
    if (held === undefined) return;
    const listed = new Set(children);
    for (const [path, hold] of [...held]) if (!listed.has(baseName(path))) hold.lose("stolen");
  }

  #runTimer(): void {
    const next = this.#unattended[0];
    if (next === undefined || this.#timerRuns) return;
    this.#timerRuns = true;
    this.#runtime.setTimer(Math.max(1, next.dueMs - this.#runtime.nowMs()), () => this.#attendDue());
  }

  #attendDue(): void {
    this.#timerRuns = false;
    const now = this.#runtime.nowMs();
    const later = this.#unattended.findIndex((entry) => entry.dueMs > now);
    const due = this.#unattended.splice(0, later < 0 ? this.#unattended.length : later);
    this.#session.batch(() => {
      for (const { hold } of due) hold.attend();
    });
    this.#runTimer();
  }

  #doubtAll(): void {
    for (const hold of [...this.#holds]) hold.doubt();
  }

  /** One `sync` for all, then an `exists` each; the session has re-sent the watches before. */
  #recoverAll(): void {
    const session = this.#session;
    const doubted = [...this.#holds].filter((hold) => hold.uncertain);
    if (doubted.length === 0 || session.state !== "connected") return;
    let synced = false;
    let unanswered = 0;
    session.batch(() => {
      session.prove((outcome) => {
        synced = outcome.ok;
      });
      for (const hold of doubted) {
        hold.look((verdict) => {
          if (verdict === "ours" && synced) hold.recover();
          else if (verdict !== "not-ours" && unanswered++ === 0) this.#recoverLater();
        });
      }
    });
  }

  /** A server too busy to answer is asked again; where contact broke, the next `connected` does it. */
  #recoverLater(): void {
    if (this.#session.state === "connected") this.#runtime.setTimer(recoverAgainMs, () => this.#recoverAll());
  }

  #loseAll(): void {
    const reason = this.#lossReason();
    for (const hold of [...this.#holds]) hold.lose(reason);
  }

  #lossReason(): LossReason {
    if (this.#session.state === "closed") return "provider-closed";
    return this.#session.lossReason === "lease" ? "lease-expired" : "session-expired";
  }
}
