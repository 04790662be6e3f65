import type { AcquireOptions, ScopeContext } from "./acquiring.js";
import type { LockHandle } from "./handle.js";
import type { AnyToken } from "./values.js";

/** A client that leads, or is a candidate, as all other clients see it. */
export interface Participant {
  /** The backend's own name for this candidacy; each client has another one, and each term too. */
  readonly id: string;
  /**
   * The `label` of its candidacy or of its last `announce()`; for a participant of Curator, its id. Left out where it has none.
   */
  readonly label?: string;
  /** Whether it was the leader when the backend was asked. */
  readonly leader: boolean;
}

/**
 * The options of an acquire, without `holdAtLeastMs` and `fresh`: a term of office ends when its leader gives it up, and is never
 * kept for the next one.
 */
export type CandidacyOptions = Omit<AcquireOptions, "holdAtLeastMs" | "fresh">;

/**
 * Chooses one leader among the clients that campaign under one name. On ZooKeeper it uses the nodes of Curator's
 * `LeaderLatch`, or with the option `layout` those of its `LeaderSelector`. Redisson has no election.
 */
export interface LeaderElection<Token extends AnyToken = AnyToken> {
  /** The name as it was given to the provider. */
  readonly name: string;
  /**
   * Stands for election once, and resolves when elected. The handle is the term of office: `lost` aborts on deposition,
   * `release()` resigns. All other clients see `label` here, so unlike the label of a lock it always leaves the process.
   * Rejects as `Acquirable.acquire()` does.
   *
   * Curator: `LeaderLatch.start()` and `await()`, for one term. After a loss a latch stands for election again, and so does
   * `lead()`.
   *
   * @example
   * ```ts
   * const stop = new AbortController();
   * await using term = await locks.leaderElection("scheduler").campaign({ label: "host-1", signal: stop.signal });
   * await schedule(term.lost); // stop when it aborts: another client may lead from then on
   * ```
   */
  campaign(options?: CandidacyOptions): Promise<LeadershipHandle<Token>>;

  /**
   * Runs `body` for each term to which this process is elected, until `signal` aborts or the provider closes. Those are its
   * normal ends: it then resolves, once the body has ended and nothing is held. After each loss, and each time the body
   * returns, the process stands for election again, at the tail of the queue. The signal of the body's context says when to
   * stop. `close({ graceMs })` aborts that signal when it is called, and the term stays until the body ends or the grace is
   * over. On a provider that is closed already `lead()` resolves at once. Rejects with
   *
   * - the body's own error, after the term was given back. An error that only repeats that the term is over or that the
   *   provider closes does not count: the reason of the context's signal, Node's `AbortError` caused by it, or this
   *   provider's `ProviderClosedError`;
   * - `AcquireTimeoutError`: one candidacy waited longer than `waitMs`;
   * - `EvictedError`: another client deleted the candidacy;
   * - `BackendError`: the server refuses or the session of a client of your own is over (`retryable` is then `false`), or the
   *   provider's retry policy has given up, which the default policy never does;
   * - `LayoutConflictError` and `UnsupportedError`, as `campaign()`;
   * - `InvalidArgumentError`: `signal` or the body is missing, or an option is unknown or wrong.
   *
   * Once `signal` has aborted it resolves, unless the body has failed with an error of its own.
   *
   * Curator: `LeaderSelector` with `autoRequeue()`.
   *
   * @example
   * ```ts
   * const stop = new AbortController();
   * await locks.leaderElection("scheduler").lead({ label: "host-1", signal: stop.signal }, async (term, { signal }) => {
   *   while (!signal.aborted) await runDueJobs({ fence: term.token, signal });
   * });
   * ```
   */
  lead(
    options: CandidacyOptions & { signal: AbortSignal },
    body: (term: LeadershipHandle<Token>, context: ScopeContext) => PromiseLike<void> | void,
  ): Promise<void>;

  /**
   * Shows who leads; `null` when there is no leader. The answer is already old when it arrives, as are those of the methods
   * below: never a basis for deciding who may act. Rejects with `BackendError` when there is no connection within
   * `connectTimeoutMs` or the server refuses, and with `ProviderClosedError`.
   *
   * Curator: `LeaderLatch.getLeader()`.
   *
   * @example
   * ```ts
   * const leader = await locks.leaderElection("scheduler").leader();
   * console.log(leader === null ? "there is no leader" : `${leader.label ?? leader.id} leads`);
   * ```
   */
  leader(): Promise<Participant | null>;
  /**
   * Resolves with the leader first, then the candidates in the order in which they will lead, where the backend has an order.
   * Rejects as `leader()` does. Curator: `LeaderLatch.getParticipants()`.
   */
  participants(): Promise<readonly Participant[]>;

  /**
   * Yields the present leader at once, then each change, also of the leader's label. A reader that is slower than the changes
   * gets only the latest one. The iteration goes on through outages. It ends without an error when `signal` aborts, and with
   * `ProviderClosedError` when the provider closes. Throws `UnsupportedError` at once where the backend does not report
   * changes, and `InvalidArgumentError` for an option that is unknown or wrong.
   *
   * @example
   * ```ts
   * for await (const leader of locks.leaderElection("scheduler").observe({ signal: AbortSignal.timeout(60_000) })) {
   *   console.log(leader?.label ?? "there is no leader");
   * }
   * ```
   */
  observe(options?: { signal?: AbortSignal }): AsyncIterable<Participant | null>;
}

/** A term of office. `lost` aborts on deposition, `release()` resigns. */
export interface LeadershipHandle<Token extends AnyToken = AnyToken> extends LockHandle<Token> {
  /**
   * Changes the label that all other clients see, without an election. Rejects with `NotHeldError` after the release, with
   * `LockLostError` when the term is lost before or during the call, with `UnsupportedError` where the backend shows no
   * labels, and with `InvalidArgumentError` for a label that is no string. After a retryable `BackendError` the label may or
   * may not have changed.
   *
   * On ZooKeeper a request to resign is written in the place of the label. So a label that is written right after it, before
   * the leader has read it, replaces it: `requestRevoke()` is then to be made again.
   */
  announce(label: string): Promise<void>;
}
