import type { HoldfastError, Millis } from "@holdfast/core";
import type { Attempt, AttemptListener, GrantState } from "@holdfast/core/driver";
import { sequenceWarnFrom } from "../layout/queue-order.js";
import { checkSequence, type QueueRule } from "../layout/queue-rules.js";
import type { CreateSettings } from "./create/create-settings.js";
import type { OwnNode } from "./grant/own-node-watch.js";
import type { GrantParts, ZooKeeperGrant } from "./grant/zookeeper-grant.js";
import type { DeletionOutcome, SharedName } from "./session/deletions.js";
import { eviction, requestFailure } from "./session/failures.js";
import type { SessionContext } from "./session-context.js";

/** A request for the lock at one path. */
export interface LockSpec extends Pick<GrantParts, "lockName" | "data" | "revocable"> {
  readonly path: string;
  readonly mayWait: boolean;
}

export type Grants = readonly [ZooKeeperGrant, ...ZooKeeperGrant[]];

/** The common part of all attempts on one session: reports its end once, and takes back what it has made. */
export abstract class SessionAttempt implements Attempt {
  protected readonly context: SessionContext;
  protected readonly settings: CreateSettings;
  protected readonly listener: AttemptListener;
  /** The attempt has ended or was withdrawn: answers that still come change nothing. */
  protected over = false;
  readonly #startedMs: Millis;
  #tries = 0;
  #endPause: (() => void) | null = null;
  readonly #notOver: () => void;
  #grants: Grants | null = null;
  #withdrawn = false;
  #cleared: Promise<void> | null = null;

  constructor(context: SessionContext, settings: CreateSettings, listener: AttemptListener) {
    this.context = context;
    this.settings = settings;
    this.listener = listener;
    this.#startedMs = settings.runtime.nowMs();
    this.#notOver = context.whenOver(() => this.#sessionOver());
  }

  abstract readonly roundTrips: number;
  /** The attempt has a place in a queue, which goes with the session. */
  abstract readonly queued: boolean;
  abstract start(): void;
  /** Stops all watching. */
  protected abstract stop(): void;
  /** Deletes all nodes that the attempt has made or may have made; each promise stands for a part of them. */
  protected abstract takeBack(): Promise<void>[];

  withdraw(): Promise<void> {
    this.#withdrawn = true;
    return this.#clear();
  }

  protected grant(grants: Grants): void {
    this.#end();
    this.#grants = grants;
    const states = this.listener.granted(grants);
    for (const [index, grant] of grants.entries()) grant.begin(states[index] as GrantState);
  }

  unavailable(): void {
    this.#leave((refused) => {
      if (refused === null) this.listener.unavailable();
      else this.listener.failed(refused);
    });
  }

  failed(error: unknown): void {
    this.#leave(() => this.listener.failed(error));
  }

  /** A place of this attempt waits for the node ahead in its queue. */
  waiting(): void {
    this.listener.waiting();
  }

  /** The node ahead of a place of this attempt has gone. */
  notified(): void {
    this.listener.notified();
  }

  /** The session has ended, and all nodes that the attempt had made go with it. */
  protected sessionEnded(): void {
    this.listener.sessionEnded({ queued: this.queued, roundTrips: this.roundTrips });
  }

  /** Runs `again` when the retry policy allows it; otherwise fails with `failure`. */
  protected retry(failure: HoldfastError, again: () => void): void {
    const { runtime, retry } = this.settings;
    const delayMs = retry.next(++this.#tries, runtime.nowMs() - this.#startedMs, failure);
    if (delayMs === null) this.failed(failure);
    else this.#endPause = this.context.pause(delayMs, again);
  }

  /** Checks a new node's number. `false`: the counter of the parent is nearly at its end, and the attempt has failed. */
  protected checkNumber(
    lockName: string,
    parent: string,
    node: OwnNode,
    rule: Pick<QueueRule, "bases">,
  ): boolean {
    try {
      const sequence = checkSequence(lockName, parent, node.name, rule);
      if (sequence >= sequenceWarnFrom) this.listener.sequenceHigh(sequence);
      return true;
    } catch (conflict) {
      this.failed(conflict);
      return false;
    }
  }

  /** A node of ours is missing. It was deleted, or it went with the session: only an answer through the leader shows which. */
  protected evicted(lockName: string, path: string): void {
    this.context.whenProven(
      () => this.failed(eviction(lockName, path)),
      () => !this.over,
    );
  }

  #end(): void {
    this.over = true;
    this.#notOver();
    this.#endPause?.();
  }

  #sessionOver(): void {
    if (this.over) return;
    this.#end();
    this.stop();
    this.#cleared = Promise.resolve();
    this.sessionEnded();
  }

  /**
   * Takes back all nodes and then reports the end, so that core finds the queue without the nodes of this attempt. If
   * contact is broken, or breaks, it reports at once, and the deletes go on by themselves.
   */
  #leave(report: (refused: unknown) => void): void {
    if (this.over) return;
    let forget = () => {};
    const broken = new Promise<void>((resolve) => {
      const { session } = this.context;
      if (session.state === "connected") forget = session.onState(() => resolve());
      else resolve();
    });
    const reportOnce = (refused: unknown): void => {
      forget();
      if (!this.#withdrawn) report(refused);
    };
    Promise.race([this.#clear(), broken]).then(() => reportOnce(null), reportOnce);
  }

  #clear(): Promise<void> {
    if (this.#cleared !== null) return this.#cleared;
    let parts: Promise<unknown>[] = [];
    if (this.#grants !== null) parts = this.#grants.map((grant) => grant.release());
    else {
      this.#end();
      this.stop();
      // If the session is over, all nodes have gone with it.
      if (!this.context.over) parts = this.takeBack();
    }
    this.#cleared = allOf(parts);
    // Core gets a refusal from `withdraw()`, which may never be called.
    this.#cleared.catch(() => {});
    return this.#cleared;
  }
}

/** Waits for all parts, and then rejects with the first refusal. */
async function allOf(parts: readonly Promise<unknown>[]): Promise<void> {
  for (const end of await Promise.allSettled(parts)) if (end.status === "rejected") throw end.reason;
}

/**
 * Deletes a node. Rejects when the server refuses for good; the node then stays as long as the session. `shared`: as in
 * `Deletions`.
 */
export function deleteNode(
  { session, deletions }: SessionContext,
  lockName: string,
  path: string,
  what = `deleting ${path}`,
  shared: SharedName | null = null,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settled = (_outcome: DeletionOutcome, error: Error | null): void => {
      if (error === null) resolve();
      else reject(requestFailure(what, error, session, lockName));
    };
    deletions.delete(path, settled, shared);
  });
}
