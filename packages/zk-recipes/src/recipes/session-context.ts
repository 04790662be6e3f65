import type { Millis, Runtime } from "@holdfast/core";
import { inSlices } from "@holdfast/core/internal";
import { type ResponseOf, ZooKeeperError } from "@holdfast/zk-protocol";
import { guarded } from "../client/guarded.js";
import { askAgainMs } from "../client/passing.js";
import { PendingQueue } from "../client/pending-queue.js";
import type { RequestError, Settle, ZooKeeperSession } from "../session/types.js";
import { GrantSet } from "./grant/grant-set.js";
import { Deletions } from "./session/deletions.js";
import { Lasting } from "./session/lasting.js";

/** A wait that lasts this long, or up to twice as long, reads the node ahead that it watches without having read it. */
const readAheadMs: Millis = 1_000;

/**
 * The state that the recipes keep for one session: deletes under way, grants, and calls that wait for the connection.
 * After a reconnect they go on in this order, so that no waiter of this session queues behind a node that the session has
 * given up already.
 */
export class SessionContext {
  readonly session: ZooKeeperSession;
  readonly runtime: Runtime;
  readonly deletions: Deletions;
  readonly grants: GrantSet;
  /**
   * The nodes of holders, waiters and members that this session made and has not deleted: their czxids by path. The czxid
   * is 0 if it is not known; that is so only for a path that no other node ever has.
   */
  readonly nodes: Map<string, bigint> = new Map();
  /**
   * Those of `nodes` that waited until their turn came: the nodes that were ahead of them have gone. A lock that was free
   * is not among them.
   */
  readonly turns: Set<string> = new Set();
  /**
   * The creates of the session that may have made nodes which `nodes` does not have: their answers were lost, and no
   * search has found out yet.
   */
  readonly unknownCreates: Set<unknown> = new Set();
  /**
   * Whether queue nodes may be watched without reading them. No other code may make nodes over this session, so that
   * nodes which it does not know belong to other sessions. And its own nodes must be open to the world, so that their
   * events reach it.
   */
  readonly watchesUnread: boolean;
  /** The waits that get a read of the node ahead once they have lasted for a while. Short waits do without it. */
  readonly waits: Lasting;
  /**
   * Limits the creates under way. The limit keeps a server busy, and is low enough that a keep-alive behind the creates
   * is answered soon.
   */
  readonly creating: ConcurrencyLimit = new ConcurrencyLimit(500);
  readonly #whenUsable = new Set<() => void>();
  readonly #whenOver = new Set<() => void>();
  readonly #pauses = new Set<() => void>();
  /** The waiters for a listing that was sent in this turn, by path. */
  readonly #listings = new Map<string, Settle<ResponseOf<"getChildren2">>[]>();

  constructor(session: ZooKeeperSession, runtime: Runtime, watchesUnread = false) {
    this.session = session;
    this.runtime = runtime;
    this.watchesUnread = watchesUnread;
    this.waits = new Lasting(readAheadMs, runtime);
    this.deletions = new Deletions(session, runtime, (path, czxid) => this.unclaim(path, czxid));
    this.grants = new GrantSet(session, runtime);
    session.onState((state) => {
      if (state === "connected") drain(this.#whenUsable);
      else if (state === "lost" || state === "closed") {
        this.#whenUsable.clear();
        drain(this.#pauses);
        // When ten thousand wait, some are called in a later turn of the event loop. Until then each can read `over`.
        const due = [...this.#whenOver];
        inSlices(runtime, due, (fn) => this.#whenOver.delete(fn) && fn());
      }
    });
  }

  /**
   * Records that an attempt of this session created the node. Several attempts may have lost their answer and later find
   * the same node; only the first claim counts.
   */
  claim(path: string, czxid: bigint): void {
    this.nodes.set(path, czxid);
  }

  /** Whether the node is claimed. The latest claim of each path is enough, because later nodes have a higher czxid. */
  isClaimed(path: string, czxid: bigint): boolean {
    return czxid <= (this.nodes.get(path) ?? 0n);
  }

  /**
   * An answer or an event has shown that the node is gone, and no later answer on this session will show it. The claim of
   * a later node of that path stays.
   */
  unclaim(path: string, czxid?: bigint): void {
    if (czxid !== undefined && (this.nodes.get(path) ?? 0n) > czxid) return;
    this.nodes.delete(path);
    this.turns.delete(path);
  }

  get over(): boolean {
    return this.session.state === "lost" || this.session.state === "closed";
  }

  /**
   * Whether grants may be made. A session in doubt makes none: a server that lags, or is cut off, still lists nodes that
   * are gone.
   */
  get leaseAhead(): boolean {
    return this.session.state === "connected" && this.runtime.nowMs() < this.session.leaseUntilMs();
  }

  /** Runs `fn` as soon as the session is connected: now, or after the next reconnect. It never runs once the session is over. */
  whenUsable(fn: () => void): void {
    if (this.session.state === "connected") fn();
    else if (!this.over) this.#whenUsable.add(fn);
  }

  /**
   * Like `whenUsable`, for work that needs a lease that is ahead. A connected session without such a lease is proven
   * first. For a while after the machine has slept no proof helps. `fn` then runs after a pause, because the server must
   * not be asked without end.
   */
  whenLeased(fn: () => void): void {
    if (this.session.state !== "connected") return this.whenUsable(fn);
    this.session.prove(() => {
      if (this.leaseAhead) fn();
      else this.pause(askAgainMs, fn);
    });
  }

  /**
   * Runs `fn` once an answer that passed through the leader shows that the session lives, so that a missing node did not
   * go with the session. Asks again after each outage, until `wanted` returns `false`.
   */
  whenProven(fn: () => void, wanted: () => boolean): void {
    this.session.prove((outcome) => {
      if (!wanted()) return;
      if (outcome.ok) fn();
      else this.again(outcome.error, () => this.whenProven(fn, wanted));
    });
  }

  /**
   * Runs `fn` when a request that failed with `error` may be sent once more. If the answer was lost, that is with the
   * next contact. If the server refused, it is after a pause, because a server that is too busy must not be asked without
   * end. It never runs once the session is over.
   */
  again(error: RequestError, fn: () => void): void {
    if (error instanceof ZooKeeperError) this.pause(askAgainMs, fn);
    else this.whenUsable(fn);
  }

  /**
   * Runs `fn` after `delayMs`, with the first contact from then on. The result cancels it. The timer keeps the process
   * alive: nothing else does while an acquire waits for its next try.
   */
  pause(delayMs: Millis, fn: () => void): () => void {
    const end = (): void => {
      cancel();
      // The time may have passed without contact. `fn` then waits for the next contact.
      this.#whenUsable.delete(fn);
      this.#pauses.delete(end);
    };
    const due = (): void => {
      this.#pauses.delete(end);
      this.whenUsable(fn);
    };
    const cancel = this.runtime.setTimer(delayMs, due, { ref: true });
    this.#pauses.add(end);
    return end;
  }

  /**
   * Lists the children. Waiters that one event wakes together share one request and one array. Every event had arrived
   * before the request was sent, so the answer shows each waiter what its own request would show. Not for a listing that
   * must come behind another request of the caller.
   */
  list(path: string, settle: Settle<ResponseOf<"getChildren2">>): void {
    const asked = this.#listings.get(path);
    if (asked !== undefined) {
      asked.push(settle);
      return;
    }
    const waiting = [settle];
    this.#listings.set(path, waiting);
    const closed = (): void => {
      if (this.#listings.get(path) === waiting) this.#listings.delete(path);
    };
    queueMicrotask(closed);
    this.session.send("getChildren2", { path, watch: false }, (outcome) => {
      closed();
      for (const each of waiting) guarded(() => each(outcome));
    });
  }

  /** Runs `fn` when the session is over. The result cancels that. */
  whenOver(fn: () => void): () => void {
    this.#whenOver.add(fn);
    return () => this.#whenOver.delete(fn);
  }
}

/** Empties the set and runs all its functions. */
function drain(waiting: Set<() => void>): void {
  const due = [...waiting];
  waiting.clear();
  for (const fn of due) fn();
}

/**
 * Lets a limited number through at once; the rest wait in order. Answers come in the order of the requests, and those of
 * keep-alives among them. A burst that keeps the server busy for longer than the session lasts would cost the session and
 * all its nodes.
 */
export class ConcurrencyLimit {
  readonly #limit: number;
  readonly #waiting = new PendingQueue<() => void>();
  #inside = 0;
  #admitting = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs `pass` now, or when its turn has come. Each `pass` is followed by one `leave()`. */
  enter(pass: () => void): void {
    if (this.#inside >= this.#limit) {
      this.#waiting.push(pass);
      return;
    }
    this.#inside++;
    pass();
  }

  leave(): void {
    this.#inside--;
    // A loop instead of recursion, because thousands in a row may leave at once.
    if (this.#admitting) return;
    this.#admitting = true;
    while (this.#inside < this.#limit) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#inside++;
      next();
    }
    this.#admitting = false;
  }
}
