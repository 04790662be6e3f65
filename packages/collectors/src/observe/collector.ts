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

/** One way in which a collector learns things, and how that is going. */
export interface SourceStatus {
  /** Such as `watch /locks`, `scan`, `pubsub`, `sessions`. */
  readonly source: string;
  /** How it is going; `message` says more. `"off"`: it does not run. */
  readonly state: "starting" | "syncing" | "ok" | "stale" | "down" | "denied" | "too-big" | "off";
  /** Share of what there is that has been seen, 0 to 1. */
  readonly coverage: number;
  /** Epoch ms; `null` before the first time. */
  readonly lastSuccessMs: Millis | null;
  /** Epoch ms of the next try, where one is due. */
  readonly nextTryMs: Millis | null;
  /** What it costs, for the operator: `scan 20 calls/s`. */
  readonly cost: string | null;
  /** What is wrong and what to do; `null` when all is well. */
  readonly message: string | null;
}

/** One server of the backend, and what an operator asks first. */
export interface ObservedServer {
  /** `host:port`, as the options or the other servers name it. */
  readonly name: string;
  /** What the server says it is; `"unknown"` where it does not say. */
  readonly role:
    | "leader"
    | "follower"
    | "observer"
    | "standalone"
    | "master"
    | "replica"
    | "sentinel"
    | "unknown";
  /** Whether it answered now. */
  readonly reachable: boolean;
  /** The version that the server gives. */
  readonly version: string | null;
  /** In the order in which they are to be shown. Values as text. */
  readonly facts: readonly { readonly name: string; readonly value: string; readonly warning: boolean }[];
  /** What is measured of it as well as shown. Each is left out where it does not apply or is not known. */
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

/** What may be wrong, as the dashboard and its metrics name it. */
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
  /** The same as long as it is the same thing. */
  readonly id: string;
  /** What kind of thing it is. */
  readonly kind: FindingKind;
  /** How urgent it is. */
  readonly severity: "info" | "warning" | "critical";
  /** Lock key, server or session; `null` for the cluster. */
  readonly object: string | null;
  /** Epoch ms. */
  readonly sinceMs: Millis;
  /** What was seen, in a sentence for people. */
  readonly evidence: string;
  /** What to do, in a sentence for people. */
  readonly advice: string;
}

/** What an earlier process has seen of a hold that had not ended by then. */
export interface EarlierSight {
  /** Epoch ms at which it was first seen. */
  readonly atMs: Millis;
  /** `HoldOwner.token`. */
  readonly token: string | null;
}

/** Options of a collector that reports each hold from its begin to its end, with its owner. */
export interface StoryOptions {
  /**
   * Reads the owner of each hold, and reports it by an event `identified`. Default false: only holders of contended locks and of those on screen
   * are read. On ZooKeeper it costs one read for each grant, batched, and one for each of 5,000 holds that had begun before; on Redis one for each client and
   * 30 s.
   */
  readonly identifyHolders?: boolean;
  /**
   * Asked of each hold that has begun before the collector looked. The answer counts only where the hold is surely the same: by the unique
   * name of a node of ZooKeeper, or by the token. Default: not asked.
   */
  readonly earlierSight?: (key: string, entry: string) => EarlierSight | undefined;
}

/**
 * Why a collector reads everything anew. `"reconnected"`: no watch stands on the new connection. `"new-session"`: nor of the new session.
 * `"roots-changed"`: a place that a `*` of a root stands for has come or gone. `"failed"`: the reading before was refused.
 */
export type ResyncReason = "reconnected" | "new-session" | "roots-changed" | "failed";

/**
 * How a hold ended, as far as a collector sees it by itself. `"released"`: its holder, or an operator, ended it while its lease had time
 * left. `"expired"`: its lease was over. On ZooKeeper `"unknown"`, as a node that is deleted looks the same as one whose session ended.
 */
export type HoldEnd = "released" | "expired" | "unknown";

/** The owner of a hold. */
export interface HoldOwner {
  /** ZooKeeper session, Redis client uuid; the key of `ObservedSession`. */
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
      /** Milliseconds since 1970 at which the collector saw it. */
      readonly atMs: Millis;
      /** The fencing token of the hold, as `ObservedParticipant.token`; `null` where it is not known. */
      readonly token: string | null;
      /** How long a released hold lasted, where the backend reported both ends as they happened; `null` where either was found by looking. */
      readonly heldMs: Millis | null;
      /** For an end: the holder did not give it back, its lease was over and had not been raised in time. Left out where that cannot be seen. */
      readonly ranOut?: boolean;
      /**
       * How an end came. Left out on ZooKeeper where the end was seen as it happened: a node that was deleted looks the same as one
       * whose session ended, and only whether `owner.session` lives on shows which it was.
       */
      readonly end?: HoldEnd;
      /** The present or former owner of the hold; left out where that has not been read. */
      readonly owner?: HoldOwner;
      /** How long a grant was waited for, 0 for a lock that was free; left out where that was not seen. */
      readonly waitedMs?: Millis;
    }
  | {
      /**
       * A hold that had begun before the collector looked, or on Redis one of Redisson on a lock that is new: there is no event `granted` for
       * it.
       */
      readonly type: "found";
      /** `LockFigures.key`. */
      readonly key: string;
      /** `ObservedParticipant.entry` of the holder. */
      readonly entry: string;
      /** When the hold began, as far as that is known. */
      readonly since: Moment;
      /** The owner of the hold; left out where that has not been read. */
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
       * A hold is no longer looked at, and may go on: on ZooKeeper its root has grown over `maxNodes`, is no root any more, or has become
       * unreadable above it; on Redis its key may not be read any more, or has become that of no lock. No `released` follows.
       */
      readonly type: "unwatched";
      /** `LockFigures.key`. */
      readonly key: string;
      /** `ObservedParticipant.entry` of the holder. */
      readonly entry: string;
    }
  /** One walk, scan or comparison is done: one for each source and root, and on Redis for each master. */
  | {
      readonly type: "pass";
      /** `SourceStatus.source`. */
      readonly source: string;
      /** How long it took, in milliseconds. */
      readonly tookMs: Millis;
    }
  /** What is in memory is not trusted any more, and is read anew. Of ZooKeeper alone: what is known of Redis is read again and again. */
  | {
      readonly type: "resync";
      /** Why. */
      readonly reason: ResyncReason;
    }
  /** A check of everything found rows that were not as the backend has them. */
  | {
      readonly type: "drift";
      /** How many rows. */
      readonly count: number;
    }
  /** A source or the connection has changed. */
  | { readonly type: "status" };

/** What an operator may do to a lock or to one participant. */
export type LockAction = "request-revoke" | "evict-waiter" | "force-release" | "clean-orphan";

/** One act, and what its author has seen. */
export interface ActionRequest {
  /** What to do. */
  readonly action: LockAction;
  /** `LockFigures.key`. */
  readonly key: string;
  /** The entry of the participant that it is about; `null` for the lock itself. */
  readonly entry: string | null;
  /** The version that was shown to the person who decided; compared again at the backend in the moment of the act. */
  readonly expectedVersion: string;
  /** Changes nothing; the result says what would be done. */
  readonly dryRun: boolean;
  /** The operator has confirmed that what is acted upon was made by no known library. Default false: then such an act is denied. */
  readonly unknownLibrary?: boolean;
}

/** What became of an act. */
export interface ActionResult {
  /**
   * `conflict`: the lock has changed since it was read, and nothing was done. `unsupported`: the holder's library has no way to hear of
   * the request. `denied`: the lock lies outside of what the collector watches, or the act takes a confirmation that was not given, and
   * nothing was done.
   */
  readonly outcome: "done" | "would-do" | "conflict" | "nothing-there" | "unsupported" | "denied";
  /** What it does or would do to each who is concerned, one sentence each, for this very library. */
  readonly effects: readonly string[];
  /** The lock as read in the same request. */
  readonly before: ObservedLock | null;
  /** The lock as read after the act was tried; `null` where it was not tried, or nothing is left. */
  readonly after: ObservedLock | null;
  /** For a dry run: the act needs `unknownLibrary`, as no known library has made what it is about. */
  readonly unknownLibrary?: boolean;
  /** The entries of all holds that a forced release has ended; left out where it has ended none. `before` shows the first holders only. */
  readonly endedHolds?: readonly string[];
}

/** An act that may be offered to an operator: what to do, and to which participant. */
export type ActionOffer = Pick<ActionRequest, "action" | "entry">;

/** What an act would do. `denied`, with the reason, where the backend refuses to answer for this one act. */
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
 * Watches the locks of one backend from outside, whatever library made them. Everything that it gives is a picture, already old. Only
 * `detail`, `sessions`, `contacts`, `servers`, `discover`, `tryOut` and `act` throw when the backend fails; `sources` reports other failures.
 */
export interface LockCollector {
  /** The kind of backend. */
  readonly backend: "zookeeper" | "redis";
  /** How each way of learning is going. */
  sources(): readonly SourceStatus[];
  /** What it has in memory, in no order; each is made when its turn comes. */
  locks(): Iterable<ObservedLock>;
  /**
   * The same locks, or those with waiters, for a reader that looks at all of them: some tens of nanoseconds for each. Not to be kept,
   * as they change: `get` has the row.
   */
  figures(which?: "all" | "contended"): Iterable<LockFigures>;
  /** The row of one lock as it is in memory; `undefined` where there is none. */
  get(key: string): ObservedLock | undefined;
  /**
   * Whether the text is part of a word that describes one of the holders in the lock's row: its entry, owner, session, address, data, label
   * or host. Without making the row.
   */
  isHeldBy(key: string, text: string): boolean;
  /** How many locks are in memory. */
  readonly size: number;
  /** Read anew. `null` when nothing is there. */
  detail(key: string, options: { readonly maxWaiters: number }): Promise<ObservedLockDetail | null>;
  /** These rows are on screen: keep them as fresh as it goes, within a second. The result ends it. */
  attend(keys: readonly string[]): { update(keys: readonly string[]): void; end(): void };
  /** Calls `listener` for each event. The result removes it. */
  onEvent(listener: (event: CollectorEvent) => void): () => void;
  /** The clients that hold or wait, as far as they are known. Asks the servers. */
  sessions(): Promise<readonly ObservedSession[]>;
  /**
   * The sessions with these ids of which the backend reports whether their clients are connected, for less than `sessions` costs. None
   * on Redis, where the lease of a hold shows whether its client lives.
   */
  contacts(ids: readonly string[]): Promise<readonly SessionContact[]>;
  /** Each server, asked now. */
  servers(): Promise<readonly ObservedServer[]>;
  /** The findings that it can see by itself; deadlocks are found across collectors. */
  findings(): readonly Finding[];
  /** Looks for places where locks seem to be kept, also outside of what this collector watches. */
  discover(): Promise<readonly Discovery[]>;
  /**
   * What each of these acts would do to the lock as `seen`, by one reading for all of them, of shown holders and of the waiters up to
   * the last one that is named. Changes nothing. Rejects with the reason of `signal` once it is aborted, and reads no further.
   */
  tryOut(
    seen: ObservedLockDetail,
    acts: readonly ActionOffer[],
    signal?: AbortSignal,
  ): Promise<readonly ActionTrial[]>;
  /** Does what an operator asks for, if the lock is still as `expectedVersion` says. Never does more than was shown. */
  act(request: ActionRequest): Promise<ActionResult>;
  /** Ends all reading and the connections of this collector. */
  close(): Promise<void>;
}
