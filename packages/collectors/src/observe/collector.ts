import type { Millis } from "@holdfast/core";
import type {
  ClientIdentity,
  LockFigures,
  Moment,
  ObservedLock,
  ObservedLockDetail,
  ObservedSession,
  SessionContact,
} from "./observed-lock.js";

/** One source from which a collector learns about locks, and its present status. */
export interface SourceStatus {
  /** The name of the source, such as `watch /locks`, `scan`, `pubsub`, `sessions`. */
  readonly source: string;
  /** The condition of the source; `message` says more. `"off"`: the source does not run. */
  readonly state: "starting" | "syncing" | "ok" | "stale" | "down" | "denied" | "too-big" | "off";
  /** The share of its keys, nodes or servers that the source has seen, 0 to 1. */
  readonly coverage: number;
  /** Epoch ms of the last success; `null` before the first one. */
  readonly lastSuccessMs: Millis | null;
  /** Epoch ms of the next try, where one is due. */
  readonly nextTryMs: Millis | null;
  /** The load on the backend, as text for the operator: `scan 20 calls/s`. */
  readonly cost: string | null;
  /** What is wrong and what to do; `null` when all is well. */
  readonly message: string | null;
}

/** One server of the backend, with the facts that an operator asks for first. */
export interface ObservedServer {
  /** `host:port`, as the options or the other servers name it. */
  readonly name: string;
  /** The role that the server reports; `"unknown"` when it reports none. */
  readonly role:
    | "leader"
    | "follower"
    | "observer"
    | "standalone"
    | "master"
    | "replica"
    | "sentinel"
    | "unknown";
  /** Whether the server answered this reading. */
  readonly reachable: boolean;
  /** The version that the server reports. */
  readonly version: string | null;
  /** The facts in the order in which they are to be shown, with their values as text. */
  readonly facts: readonly { readonly name: string; readonly value: string; readonly warning: boolean }[];
  /** Those facts that metrics use as numbers. Each is left out where it does not apply or is not known. */
  readonly measures?: ServerMeasures;
}

/** Figures of one server, for metrics. */
export interface ServerMeasures {
  /** How far a replica is behind its master, in bytes of the stream. */
  readonly replicationLagBytes?: number;
  /** How many replicas are connected to a master. */
  readonly connectedReplicas?: number;
  /** How many sentinels a sentinel knows, itself included. */
  readonly sentinelsKnown?: number;
}

/** A kind of problem, under the name that the dashboard and its metrics use. */
export type FindingKind =
  | "deadlock-suspected"
  | "stuck-with-waiters"
  | "long-hold"
  | "not-renewing"
  | "no-lease"
  | "orphan-parent"
  | "queue-without-holder"
  | "foreign-child"
  | "mixed-kinds"
  | "sequence-high"
  | "old-downgrade-possible"
  | "token-regressed"
  | "eviction-policy"
  | "unauthenticated-admin"
  | "clock-skew";

/** Something that an operator should look at. */
export interface Finding {
  /** Stays the same for as long as the same problem lasts. */
  readonly id: string;
  /** The kind of problem. */
  readonly kind: FindingKind;
  /** How urgent it is. */
  readonly severity: "info" | "warning" | "critical";
  /** The lock key, server or session that the finding is about; `null` for the cluster. */
  readonly object: string | null;
  /** Epoch ms at which the problem began, where that shows; otherwise at which it was first seen. */
  readonly sinceMs: Millis;
  /** What was seen, in a sentence for people. */
  readonly evidence: string;
  /** What to do, in a sentence for people. */
  readonly advice: string;
}

/** What an earlier process saw of a hold, which had not ended when that process last looked. */
export interface EarlierSight {
  /** Epoch ms at which that process first saw the hold. */
  readonly atMs: Millis;
  /** The fencing token of the hold, as in `HoldOwner.token`. */
  readonly token: string | null;
}

/** Options of a collector that reports each hold from its start to its end, with its owner. */
export interface StoryOptions {
  /**
   * Whether the collector reads the owner of every hold and reports it by an event `identified`. Default false: it reads
   * only the holders of contended locks and of locks on screen. On ZooKeeper `true` costs one read for each grant, in
   * batches, and one read for each of up to 5,000 holds that had begun before the collector looked. On Redis it costs one
   * read for each client in 30 s.
   */
  readonly identifyHolders?: boolean;
  /**
   * Called for a hold that had begun before the collector looked; returns what an earlier process saw of it. The answer
   * counts only where the hold is certainly the same one: by the unique name of its ZooKeeper node, or by its token.
   * Default: not called.
   */
  readonly earlierSight?: (key: string, entry: string) => EarlierSight | undefined;
}

/**
 * Why a collector reads everything anew. `"reconnected"`: the new connection has no watch yet. `"new-session"`: the session
 * is new and has no watch either. `"roots-changed"`: a place that a `*` of a root stands for was created or deleted.
 * `"failed"`: the previous reading was refused.
 */
export type ResyncReason = "reconnected" | "new-session" | "roots-changed" | "failed";

/**
 * How a hold ended, as far as a collector can see it alone. `"released"`: its holder, or an operator, ended it while its
 * lease had time left. `"expired"`: its lease had run out. On ZooKeeper only `"unknown"` occurs, because a deleted node
 * looks the same as a node whose session ended.
 */
export type HoldEnd = "released" | "expired" | "unknown";

/** The owner of a hold. */
export interface HoldOwner {
  /** The ZooKeeper session, or the uuid of the Redis client: the `id` of its `ObservedSession`. */
  readonly session: string | null;
  /** What the client says of itself; `null` where it says nothing. */
  readonly identity: ClientIdentity | null;
  /** The fencing token of the hold, as `ObservedParticipant.token`; `null` where it is not known. */
  readonly token: string | null;
}

/** An event that a collector sends to its listeners. */
export type CollectorEvent =
  /** The row of a lock is new or has changed. */
  | {
      readonly type: "changed";
      /** `LockFigures.key`. */
      readonly key: string;
    }
  /** The row of a lock is gone. */
  | {
      readonly type: "removed";
      /** `LockFigures.key`. */
      readonly key: string;
    }
  | {
      /** One hold has begun or ended. */
      readonly type: "granted" | "released";
      /** `LockFigures.key`. */
      readonly key: string;
      /** `ObservedParticipant.entry` of the holder. */
      readonly entry: string;
      /**
       * Milliseconds since 1970 at which the collector saw it; for a grant on Redis the time that its token shows, where it
       * does.
       */
      readonly atMs: Millis;
      /** The fencing token of the hold, as `ObservedParticipant.token`; `null` where it is not known. */
      readonly token: string | null;
      /**
       * How long a released hold lasted, in milliseconds. `null` where its start is not known exactly, and on ZooKeeper also
       * where its end was found by a listing and not by an event. On Redis the reading that finds the hold gone counts as
       * its end.
       */
      readonly heldMs: Millis | null;
      /**
       * For an end: whether the lease ran out because it was not renewed in time, and the holder did not release. Left out
       * where that cannot be seen.
       */
      readonly ranOut?: boolean;
      /**
       * For an end: how the hold ended. Left out on ZooKeeper where the end was seen as it happened. A deleted node looks
       * the same as a node whose session ended; only whether `owner.session` still lives shows which of the two it was.
       */
      readonly end?: HoldEnd;
      /** The present or former owner of the hold; left out where it has not been read. */
      readonly owner?: HoldOwner;
      /**
       * For a grant: how long its holder had waited, in milliseconds; 0 when the lock was free. Left out where that was not
       * seen.
       */
      readonly waitedMs?: Millis;
      /**
       * For a grant: whether `atMs` is the moment of the grant. `false` where a reading found the new holder, which may have
       * been granted at any moment since the reading before.
       */
      readonly exact?: boolean;
    }
  | {
      /**
       * The collector found a hold that had begun before it looked, or on Redis a hold of Redisson on a lock that is new.
       * There is no event `granted` for such a hold.
       */
      readonly type: "found";
      /** `LockFigures.key`. */
      readonly key: string;
      /** `ObservedParticipant.entry` of the holder. */
      readonly entry: string;
      /** When the hold began, as far as that is known. */
      readonly since: Moment;
      /** The owner of the hold; left out where it has not been read. */
      readonly owner?: HoldOwner;
    }
  | {
      /** The owner of a hold that an earlier event reported has become known. */
      readonly type: "identified";
      /** `LockFigures.key`. */
      readonly key: string;
      /** `ObservedParticipant.entry` of the holder. */
      readonly entry: string;
      /** The owner of the hold. */
      readonly owner: HoldOwner;
    }
  | {
      /**
       * The collector no longer watches a hold, which may go on. On ZooKeeper its root has grown over `maxNodes`, or it lies
       * below a node that may no longer be listed. On Redis its key may no longer be read, or is no longer that of a lock,
       * or only a part of its many readers was read: then the hold may be `found` again. No `released` follows.
       */
      readonly type: "unwatched";
      /** `LockFigures.key`. */
      readonly key: string;
      /** `ObservedParticipant.entry` of the holder. */
      readonly entry: string;
    }
  /** One walk, scan or comparison is done. There is one event for each source and root, and on Redis for each master. */
  | {
      readonly type: "pass";
      /** `SourceStatus.source`. */
      readonly source: string;
      /** How long the pass took, in milliseconds. */
      readonly tookMs: Millis;
    }
  /**
   * The collector no longer trusts what it has in memory and reads it anew. Only on ZooKeeper: Redis is read again and again
   * anyway.
   */
  | {
      readonly type: "resync";
      /** Why everything is read anew. */
      readonly reason: ResyncReason;
    }
  /** A comparison of everything in memory with the backend found differences. */
  | {
      readonly type: "drift";
      /** The number of node names that differed. */
      readonly count: number;
    }
  /** A source or the connection has changed. */
  | { readonly type: "status" };

/** What an operator may do to a lock or to one participant. */
export type LockAction = "request-revoke" | "evict-waiter" | "force-release" | "clean-orphan";

/** One action of an operator, and what the operator has seen of the lock. */
export interface ActionRequest {
  /** What to do. */
  readonly action: LockAction;
  /** `LockFigures.key`. */
  readonly key: string;
  /** The entry of the participant that the action is about; `null` for the lock itself. */
  readonly entry: string | null;
  /**
   * The version of the lock that was shown to the operator. It is compared again at the backend in the moment of the action.
   */
  readonly expectedVersion: string;
  /** If true, nothing is changed; the result says what would be done. */
  readonly dryRun: boolean;
  /**
   * Whether the operator has confirmed an action on nodes that no known library made. Default false: such an action is then
   * denied.
   */
  readonly unknownLibrary?: boolean;
}

/** The result of an action. */
export interface ActionResult {
  /**
   * `conflict`: the lock has changed since it was read, and nothing was done. `unsupported`: the holder's library has no
   * means to receive the request, or the lock has so many holders that only a part of them was read. `denied`: the lock lies
   * outside of what the collector watches, or the action needs a confirmation that was not given, or the server refuses it;
   * nothing was done. `unread`: the lock could not be read before the action; nothing was done.
   */
  readonly outcome: "done" | "would-do" | "conflict" | "nothing-there" | "unsupported" | "denied" | "unread";
  /**
   * What the action does or would do to each holder and waiter concerned: one sentence each, which fits that client's
   * library.
   */
  readonly effects: readonly string[];
  /** The lock as it was read in the same request, before the action. */
  readonly before: ObservedLock | null;
  /** The lock as it was read after the action was tried; `null` where it was not tried, or no lock is left. */
  readonly after: ObservedLock | null;
  /** For a dry run: whether the action needs `unknownLibrary`, because no known library made what it acts upon. */
  readonly unknownLibrary?: boolean;
  /**
   * The entries of all holds that a forced release ended; left out where it ended none. `before` shows only the first
   * holders.
   */
  readonly endedHolds?: readonly string[];
}

/** An action that may be offered to an operator: what to do, and to which participant. */
export type ActionOffer = Pick<ActionRequest, "action" | "entry">;

/**
 * What an action would do. The outcome is `denied`, with the reason, where the backend refuses to answer for this one
 * action.
 */
export type ActionTrial = Pick<ActionResult, "outcome" | "effects" | "unknownLibrary">;

/** A place that looks as if locks were kept there. */
export interface Discovery {
  /** A root path, or a pattern of keys. */
  readonly root: string;
  /** How many locks seem to be there. */
  readonly locks: number;
  /** The libraries that seem to have made them. */
  readonly libraries: readonly string[];
}

/**
 * Watches the locks of one backend from outside, whichever library made them. Every result shows a moment that is already
 * past. Only `detail`, `sessions`, `contacts`, `servers`, `discover`, `tryOut` and `act` throw when the backend fails;
 * `sources` reports other failures.
 */
export interface LockCollector {
  /** The kind of backend. */
  readonly backend: "zookeeper" | "redis";
  /** The present status of each source. */
  sources(): readonly SourceStatus[];
  /** The rows of all locks in memory, in no order. Each row is made when the iteration reaches it. */
  locks(): Iterable<ObservedLock>;
  /**
   * The figures of the same locks, or of those with waiters, for a caller that looks at all of them: some tens of
   * nanoseconds for each. Do not keep these objects, because they change; `get` returns the row.
   */
  figures(which?: "all" | "contended"): Iterable<LockFigures>;
  /** The row of one lock as it is in memory; `undefined` where there is none. */
  get(key: string): ObservedLock | undefined;
  /**
   * Whether the text is part of a word that describes one of the holders in the lock's row: its entry, owner, session, address, data, label
   * or host. The row is not made where the words are known without it.
   */
  isHeldBy(key: string, text: string): boolean;
  /** How many locks are in memory. */
  readonly size: number;
  /** Reads one lock anew from the backend; `null` when there is no such lock. */
  detail(key: string, options: { readonly maxWaiters: number }): Promise<ObservedLockDetail | null>;
  /**
   * Keeps the rows of these locks, which a viewer has on screen, as fresh as possible: within a second. The result ends
   * this.
   */
  attend(keys: readonly string[]): { update(keys: readonly string[]): void; end(): void };
  /** Calls `listener` for each event. The returned function removes the listener. */
  onEvent(listener: (event: CollectorEvent) => void): () => void;
  /** Asks the servers for the clients that hold or wait, as far as they are known. */
  sessions(): Promise<readonly ObservedSession[]>;
  /**
   * Whether the clients of the sessions with these ids are connected, where the backend reports it. Costs less than
   * `sessions`. Empty on Redis, where the lease of a hold shows whether its client lives.
   */
  contacts(ids: readonly string[]): Promise<readonly SessionContact[]>;
  /** Asks each server now. */
  servers(): Promise<readonly ObservedServer[]>;
  /** The findings that this collector can see alone; deadlocks are found across collectors. */
  findings(): readonly Finding[];
  /** Looks for places where locks seem to be kept, also outside of what this collector watches. */
  discover(): Promise<readonly Discovery[]>;
  /**
   * Reports what each of these actions would do to the lock as `seen`, and changes nothing. One reading serves all of them:
   * of the shown holders, and of the waiters up to the last one that an action names. Rejects with the reason of `signal`
   * once it is aborted, and reads no further.
   */
  tryOut(
    seen: ObservedLockDetail,
    acts: readonly ActionOffer[],
    signal?: AbortSignal,
  ): Promise<readonly ActionTrial[]>;
  /** Carries out an operator's action if the lock still has `expectedVersion`. Never does more than was shown. */
  act(request: ActionRequest): Promise<ActionResult>;
  /** Ends all reading and the connections of this collector. */
  close(): Promise<void>;
}
