import { HoldfastError, LayoutConflictError } from "@holdfast/core";
import { messageOf, settledWithin } from "@holdfast/core/internal";
import { formatSessionId, type Stat } from "@holdfast/zk-protocol";
import { OwnNodeWatch } from "../recipes/grant/own-node-watch.js";
import {
  type CallInfo,
  orAbsent,
  outcomeOf,
  type RetryingRequests,
} from "../recipes/requests/retrying-requests.js";
import type { SharedName } from "../recipes/session/deletions.js";
import { sendSync } from "../recipes/session/sync.js";
import type { SessionContext } from "../recipes/session-context.js";
import { isLost, saysNodeExists } from "../session/errors.js";
import type { Outcome } from "../session/types.js";

/** The pause before an entry that could not be put back is tried again. */
const tryAgainMs = 1_000;

/** One member's node. The node is kept there until the entry is disposed of. */
export class GroupEntry implements AsyncDisposable {
  readonly #calls: RetryingRequests;
  readonly #call: CallInfo;
  readonly #data: Uint8Array;
  /**
   * Sessions of ours that may have made the node. If such a session has ended here, its node goes as soon as the server
   * notices.
   */
  readonly #sessions = new Set<bigint>();
  #context: SessionContext | null = null;
  /** The czxid of the last node that this entry has made. */
  #czxid: bigint | null = null;
  #watch: OwnNodeWatch | null = null;
  #notOver: () => void = () => {};
  /** The last create, under way or answered. */
  #creating: Promise<unknown> = Promise.resolve();
  #disposed: Promise<void> | null = null;
  #warned = false;

  constructor(calls: RetryingRequests, lockName: string, path: string, data: Uint8Array) {
    this.#calls = calls;
    this.#call = { lockName, path, patient: false };
    this.#data = data;
  }

  /** Makes the node. Rejects with `LayoutConflictError` while another session has a member of that id. */
  async take(): Promise<void> {
    try {
      for (;;) {
        const taken = await this.#calls.repeat<Stat | true>(this.#call, (context) => this.#create(context));
        if (taken === true) return;
        if (!this.#isOurs(taken)) throw this.#conflict(taken);
        await this.#calls.pause(tryAgainMs / 4);
      }
    } catch (error) {
      // A create whose answer was lost may have made the node, and no other code would delete it.
      if (this.#sessions.size > 0) void this[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Deletes the node. Waits for that no longer than `release()` of a lock does. Never rejects. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#disposed ??= this.#leave();
    return this.#disposed;
  }

  #create(context: SessionContext): Promise<Outcome<Stat | true>> {
    const creating = this.#createOn(context);
    this.#creating = creating;
    return creating;
  }

  /** `true` when the node is there and is ours; otherwise the `Stat` of the node, which shows its owner. */
  async #createOn(context: SessionContext): Promise<Outcome<Stat | true>> {
    const { path } = this.#call;
    const { session } = context;
    const mayBeOurs = this.#sessions.has(session.id);
    const node = { path, data: this.#data, ephemeral: true };
    const made = await this.#calls.create(context, this.#call, node);
    if (made.ok || isLost(made.error)) this.#sessions.add(session.id);
    if (made.ok) return this.#entered(context, made.value.stat);
    if (!saysNodeExists(made.error)) return made;
    const found = orAbsent(await outcomeOf(session, "exists", { path, watch: false }));
    if (!found.ok) return found;
    // The node has gone since: the next try makes it.
    if (found.value === null) {
      return this.#disposed === null ? this.#createOn(context) : { ok: true, value: true, zxid: 0n };
    }
    const { stat } = found.value;
    const ours = mayBeOurs && stat.ephemeralOwner === session.id && !context.isClaimed(path, stat.czxid);
    if (ours) return this.#entered(context, stat);
    return { ok: true, value: stat, zxid: 0n };
  }

  #entered(context: SessionContext, { czxid }: Stat): Outcome<true> {
    const { path } = this.#call;
    context.claim(path, czxid);
    this.#context = context;
    this.#czxid = czxid;
    // The delete waits for this create.
    if (this.#disposed !== null) return { ok: true, value: true, zxid: 0n };
    const again = (): void => {
      watch.stop();
      notOver();
      context.unclaim(path, czxid);
      if (this.#context === context) void this.#putBack();
    };
    const watch = new OwnNodeWatch(context, { path, name: path, czxid }, { gone: again });
    const notOver = context.whenOver(again);
    this.#watch = watch;
    this.#notOver = notOver;
    watch.arm();
    if (context.over) again();
    return { ok: true, value: true, zxid: 0n };
  }

  async #putBack(): Promise<void> {
    this.#context = null;
    const { engine } = this.#calls;
    const call = { ...this.#call, patient: true };
    while (this.#disposed === null && !engine.closed) {
      try {
        const taken = await this.#calls.repeat<Stat | true>(call, async (context) =>
          this.#disposed === null ? await this.#create(context) : { ok: true, value: true, zxid: 0n },
        );
        if (taken === true) return;
        if (!this.#isOurs(taken)) this.#warn(this.#conflict(taken));
      } catch (error) {
        if (engine.closed) return;
        this.#warn(error);
        if (error instanceof HoldfastError && !error.retryable && engine.link.state === "lost") return;
      }
      await this.#calls.pause(tryAgainMs);
    }
  }

  async #leave(): Promise<void> {
    const watched = this.#context !== null && this.#watch?.trusted === true;
    this.#watch?.stop();
    this.#notOver();
    const { engine } = this.#calls;
    if (engine.closed) return; // the node goes with the session
    const ended = this.#takeAway(watched).then(
      () => {},
      (error) => {
        if (!engine.closed) this.#warn(error);
      },
    );
    engine.trackCleaning(ended);
    await settledWithin(engine.runtime, ended, engine.options.releaseTimeoutMs, { ref: true });
  }

  /**
   * Deletes the node, after the create under way has ended. The second flight of that create, with the missing parents,
   * could make the node after an earlier delete. `watched`: see `SharedName`.
   */
  async #takeAway(watched: boolean): Promise<void> {
    await Promise.allSettled([this.#creating]);
    if (this.#context !== null && this.#czxid !== null) {
      return this.#delete(this.#context, { czxid: this.#czxid, watched });
    }
    // The answer to a create was lost, perhaps of one that was to put the node back. The server that answers now may lag
    // behind the server that made the node.
    const done: Outcome<unknown> = { ok: true, value: null, zxid: 0n };
    await this.#calls.repeat<unknown>({ ...this.#call, patient: true }, async (context) => {
      const { session } = context;
      const { path } = this.#call;
      if (!this.#sessions.has(session.id)) return done;
      const sync = sendSync(session);
      const found = orAbsent(await outcomeOf(session, "exists", { path, watch: false }));
      if (sync.failure !== null) return { ok: false, error: sync.failure };
      if (!found.ok) return found;
      const stat = found.value?.stat;
      // A node with a claim belongs to another entry of this provider.
      if (stat?.ephemeralOwner !== session.id || context.isClaimed(path, stat.czxid)) return done;
      await this.#delete(context, { czxid: stat.czxid, watched: true });
      return done;
    });
  }

  #delete(context: SessionContext, node: SharedName): Promise<void> {
    return new Promise((resolve, reject) => {
      const settled = (_outcome: unknown, error: Error | null): void => {
        if (error === null) resolve();
        else reject(this.#calls.failure(this.#call, error));
      };
      context.deletions.delete(this.#call.path, settled, node);
    });
  }

  /**
   * Whether a create of this entry made the node. A node with a claim was made by another member of this provider that
   * has the same id.
   */
  #isOurs({ ephemeralOwner, czxid }: Stat): boolean {
    return (
      this.#sessions.has(ephemeralOwner) && !this.#calls.sessions.context.isClaimed(this.#call.path, czxid)
    );
  }

  #warn(error: unknown): void {
    if (this.#warned) return;
    this.#warned = true;
    process.emitWarning(`the group member at ${this.#call.path}: ${messageOf(error)}`, {
      type: "HoldfastWarning",
    });
  }

  #conflict({ ephemeralOwner }: Stat): LayoutConflictError {
    const { path, lockName } = this.#call;
    const whose =
      ephemeralOwner === 0n
        ? "a node that is no member's"
        : `the member of session ${formatSessionId(ephemeralOwner)}`;
    return new LayoutConflictError(`${path} is ${whose}: choose another id, or wait until that is gone`, {
      lockName,
      backend: "zookeeper",
      retryable: ephemeralOwner !== 0n,
    });
  }
}
