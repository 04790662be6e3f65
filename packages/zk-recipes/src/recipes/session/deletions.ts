import type { Millis, Runtime } from "@holdfast/core";
import { errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";
import { saysNoNode } from "../../session/errors.js";
import type { RequestError, ZooKeeperSession } from "../../session/types.js";
import { firstPauseMs, isFinal, isPassing, longerPauseMs } from "./failures.js";
import { sendSync } from "./sync.js";

/**
 * How a delete ended. `"gone"`: there is no such node, and none of our deletes can have removed it. `"session-over"`: the
 * node goes with the session, if it has not gone yet.
 */
export type DeletionOutcome = "deleted" | "gone" | "session-over";

/** A node whose name other clients may use once the node is gone. */
export interface SharedName {
  readonly czxid: bigint;
  /**
   * A watch on the node is armed and has reported nothing, or a look behind a `sync` has just shown the node. As far as
   * this process can know, the node is still the same one.
   */
  readonly watched: boolean;
}

interface Deletion {
  readonly path: string;
  /** Which node is meant, if other clients use its name too; `null`: the name is ours alone. */
  readonly shared: SharedName | null;
  /** The connection at the last sending. The answer comes over this connection or never. */
  sentOn: number;
  /** One of our requests was sent and never answered. If the node is missing, that request may have deleted it. */
  unanswered: boolean;
  /** The pause before the delete is sent again to a server that has refused it. */
  pauseMs: Millis;
  readonly settled: ((outcome: DeletionOutcome, error: ZooKeeperError | null) => void)[];
}

/**
 * Deletes of queue nodes of one session. Each is repeated after every reconnect until the server has confirmed it or the
 * session is over: Curator's guaranteed delete, bounded by the session. The repeats leave before all other requests that
 * wait for the connection, so that no waiter of this session queues behind a node that the session has given up already.
 */
export class Deletions {
  readonly #session: ZooKeeperSession;
  readonly #runtime: Runtime;
  readonly #gone: (path: string, czxid?: bigint) => void;
  /** The deletes without an answer, by `keyOf`. */
  readonly #open = new Map<string, Deletion>();

  /** `gone` is called for each node that is not there any more, with its czxid if other clients use its name too. */
  constructor(session: ZooKeeperSession, runtime: Runtime, gone: (path: string, czxid?: bigint) => void) {
    this.#session = session;
    this.#runtime = runtime;
    this.#gone = gone;
    session.onState((state) => {
      if (state === "connected") this.#repeatAll();
      if (state === "lost" || state === "closed") {
        for (const deletion of [...this.#open.values()]) this.#settle(deletion, "session-over", null);
      }
    });
  }

  /**
   * Deletes `path`. `settled` runs once, in frame order. It gets an error only if the server refuses for good (NoAuth and
   * the like).
   *
   * `shared`: a node whose name other clients use too. Unless it is watched, it is deleted only after a look behind a
   * `sync` has shown that it is still the node that is meant. Its delete is never repeated without such a look. Otherwise
   * the delete could end the lock of another client, which made a node of that name after an operator had deleted ours.
   */
  delete(
    path: string,
    settled: (outcome: DeletionOutcome, error: ZooKeeperError | null) => void,
    shared: SharedName | null = null,
  ): void {
    const key = keyOf(path, shared);
    const open = this.#open.get(key);
    if (open !== undefined) {
      open.settled.push(settled);
      return;
    }
    const deletion: Deletion = {
      path,
      shared,
      sentOn: 0,
      unanswered: false,
      pauseMs: firstPauseMs,
      settled: [settled],
    };
    this.#open.set(key, deletion);
    this.#sendOrLook(deletion);
  }

  /**
   * Deletes nodes whose names are ours alone, all in one write. `settled` runs once, when all deletes have ended, with
   * the first refusal that is final. With no paths it runs at once.
   */
  deleteAll(paths: readonly string[], settled: (refusal: ZooKeeperError | null) => void): void {
    let open = paths.length;
    let refusal: ZooKeeperError | null = null;
    if (open === 0) return settled(null);
    for (const path of paths) {
      this.delete(path, (_outcome, error) => {
        refusal ??= error;
        open -= 1;
        if (open === 0) settled(refusal);
      });
    }
  }

  /**
   * Calls `settled` with the end of a delete that is under way. `false` if there is none of that path, whose name is ours
   * alone.
   */
  whenSettled(path: string, settled: (outcome: DeletionOutcome) => void): boolean {
    const open = this.#open.get(keyOf(path, null));
    open?.settled.push(settled);
    return open !== undefined;
  }

  /**
   * Repeats the deletes that were sent over an earlier connection. Contact may also come back on the same connection.
   * Then the answers are still to come, and a second delete could remove a node that another client has made under that
   * name meanwhile.
   */
  #repeatAll(): void {
    const { connection } = this.#session;
    for (const deletion of this.#open.values())
      if (deletion.sentOn !== connection) this.#sendOrLook(deletion);
  }

  #sendOrLook(deletion: Deletion): void {
    const { path, shared } = deletion;
    // The watch speaks for the first sending alone: its listener is gone by then, and an outage may have begun before.
    if (shared === null || (shared.watched && deletion.sentOn === 0)) return this.#send(deletion);
    deletion.sentOn = this.#session.connection;
    const sync = sendSync(this.#session);
    this.#session.send("exists", { path, watch: false }, (outcome) => {
      if (!this.#isOpen(deletion)) return;
      const synced = sync.failure === null;
      if (outcome.ok && synced && outcome.value.stat.czxid === shared.czxid) this.#send(deletion);
      else if (outcome.ok && synced) this.#settle(deletion, deletion.unanswered ? "deleted" : "gone", null);
      // A refused look says nothing about the node. It is repeated, because the node could otherwise stay until the session ends.
      else if (outcome.ok || (outcome.error instanceof ZooKeeperError && !saysNoNode(outcome.error))) {
        this.#sendLater(deletion);
        if (!outcome.ok && isFinal(outcome.error)) deletion.pauseMs = longerPauseMs(deletion.pauseMs);
      } else this.#refused(deletion, outcome.error);
    });
  }

  #send(deletion: Deletion): void {
    deletion.sentOn = this.#session.connection;
    this.#session.send("delete", { path: deletion.path, version: -1 }, (outcome) => {
      if (outcome.ok) return this.#settle(deletion, "deleted", null);
      if (outcome.error.name === "OutcomeUnknownError") deletion.unanswered = true;
      this.#refused(deletion, outcome.error);
    });
  }

  #refused(deletion: Deletion, error: RequestError): void {
    if (!(error instanceof ZooKeeperError)) {
      if (error.name === "SessionLostError") this.#settle(deletion, "session-over", null);
      return; // sent again once connected
    }
    if (error.code === errorCodes.NoNode) {
      return this.#settle(deletion, deletion.unanswered ? "deleted" : "gone", null);
    }
    if (isPassing(error)) this.#sendLater(deletion);
    else this.#settle(deletion, "gone", error);
  }

  /**
   * The timer keeps the process alive, because a caller may await the release. After a look that was refused for good
   * more than once it does not.
   */
  #sendLater(deletion: Deletion): void {
    const { sentOn, pauseMs } = deletion;
    const sendAgain = (): void => {
      // Unless it was sent over the next connection meanwhile.
      if (this.#isOpen(deletion) && deletion.sentOn === sentOn) this.#sendOrLook(deletion);
    };
    this.#runtime.setTimer(pauseMs, sendAgain, { ref: pauseMs === firstPauseMs });
  }

  #isOpen(deletion: Deletion): boolean {
    return this.#open.get(keyOf(deletion.path, deletion.shared)) === deletion;
  }

  #settle(deletion: Deletion, outcome: DeletionOutcome, error: ZooKeeperError | null): void {
    if (!this.#open.delete(keyOf(deletion.path, deletion.shared))) return;
    // A node whose delete was refused for good stays as long as the session.
    if (error === null) this.#gone(deletion.path, deletion.shared?.czxid);
    for (const settled of deletion.settled) settled(outcome, error);
  }
}

/**
 * Two nodes that had the same name, one after the other, are two deletes. Every path begins with a slash, so a key with a
 * czxid is never a path.
 */
function keyOf(path: string, shared: SharedName | null): string {
  return shared === null ? path : `${shared.czxid}:${path}`;
}
