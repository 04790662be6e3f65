import type { LockMode, Millis, PrimitiveKind, Recognised } from "@holdfast/core";

/** A moment in wall time, and how it is known. It is never invented: `atMs` is `null` when `provenance` is `"unknown"`. */
export interface Moment {
  /** Milliseconds since 1970; `null` when it is not known. */
  readonly atMs: Millis | null;
  /** `"at-least"`: the state has lasted at least since this moment, at which the collector first saw it. */
  readonly provenance: "exact" | "at-least" | "unknown";
}

/** What a client says of itself, where it says anything. */
export interface ClientIdentity {
  /** The label that the client was given; `null` where it has none. */
  readonly label: string | null;
  /** The name of its host. */
  readonly host: string | null;
  /** Its process id on that host. */
  readonly pid: number | null;
}

/** What keeps a hold alive. */
export type LeaseState =
  | "session" // the hold lasts as long as its session
  | "renewing" // a lease that was renewed within the past third of its length
  | "fixed" // a lease that is never renewed
  | "not-renewing" // a lease that was renewed before, but not in time now
  | "never-expires" // on Redis: a client removed the TTL
  | "unknown";

/**
 * The library that a lock or an entry belongs to, as far as its layout shows from outside. Nodes of Curator and of holdfast
 * without the option `identity` are the same, byte for byte; with `identity` only a read of the node shows the difference.
 */
export type ObservedLibrary = Recognised | "curator-or-holdfast";

/** A holder or waiter, as seen from outside. */
export interface ObservedParticipant {
  /** The unique name within the lock, which actions use: the node's name, the field of the hash, or the permit id. */
  readonly entry: string;
  /** Its name in the wait-for graph: ZooKeeper session as `0x` and hex digits, Redis owner `uuid:number`. */
  readonly actor: string | null;
  /** The ZooKeeper session, or the uuid of the Redis client: the `id` of its `ObservedSession`. */
  readonly session: string | null;
  /** What its client says of itself; `null` where it says nothing. */
  readonly identity: ClientIdentity | null;
  /**
   * Whether its client may keep the lock for its next owner (`keepMs`). Then perhaps no owner has it now; only that client
   * knows.
   */
  readonly mayBeKept: boolean;
  /** `host:port` or an IP; `null` where the backend does not report it. */
  readonly address: string | null;
  /** What the client wrote into its node, as text in which unprintable characters are escaped; at most 256 characters. */
  readonly data: string | null;
  /** Whether it holds, or asks for, the lock exclusively or shared. */
  readonly mode: LockMode;
  /** The number of permits that it has or asks for; 1 for every lock that is no semaphore. */
  readonly permits: number;
  /** The position in the queue, 0 for the next; `null` for holders, and where there is no order. */
  readonly position: number | null;
  /** When it began to hold or to wait. */
  readonly since: Moment;
  /** Redisson's count of re-entries; `null` where it is not in the backend. */
  readonly holdCount: number | null;
  /** Milliseconds that were left of the lease when it was read; `null` where a session keeps the hold. */
  readonly remainingMs: Millis | null;
  /** What keeps its hold alive. */
  readonly lease: LeaseState;
  /** When it gives up by itself, epoch ms; `null` where that is not in the backend. */
  readonly deadlineMs: Millis | null;
  /**
   * The fencing token of its grant, decimal, or `0x` and hex digits on ZooKeeper; `null` where the backend does not
   * show it.
   */
  readonly token: string | null;
  /** The library that made its entry. */
  readonly library: ObservedLibrary;
}

/**
 * The figures of a lock by which lists are counted, sorted and filtered. They exist for each of 100,000 locks; the rest of a
 * row is made only for locks that are shown.
 */
export interface LockFigures {
  /** The path or key of the lock in the backend. */
  readonly key: string;
  /** The kind of lock; `null` for a lock of no known kind. */
  readonly kind: PrimitiveKind | null;
  /** `"contended"`: there are waiters. `"idle"`: there is neither holder nor waiter. */
  readonly state: "held" | "contended" | "idle";
  /** The number of holders; of those that were read, where a lock on Redis has several hundred readers. */
  readonly holderCount: number;
  /** The number of waiters, in units of `waiterUnit`. */
  readonly waiterCount: number;
  /** `connections`: subscribers, each of which stands for one or more waiters. `hidden`: waiters cannot be seen. */
  readonly waiterUnit: "participants" | "connections" | "hidden";
  /** When the wait of the longest waiter began. */
  readonly oldestWait: Moment;
  /** When the hold of the longest holder began. */
  readonly oldestHold: Moment;
  /** Epoch ms at which this was read. Whether holds and waits have lasted beyond it has not been seen. */
  readonly readMs: Millis;
}

/** One row of a list. */
export interface ObservedLock extends LockFigures {
  /** The kind of backend that keeps it. */
  readonly backend: "zookeeper" | "redis";
  /** All libraries that were seen in the lock. */
  readonly libraries: readonly ObservedLibrary[];
  /** The first holders; `holderCount` counts all. */
  readonly holders: readonly ObservedParticipant[];
  /** The fencing token of the newest grant; decimal, or `0x` and hex digits on ZooKeeper. */
  readonly token: string | null;
  /** For semaphores: the number of all permits, where the backend keeps it. */
  readonly limit: number | null;
  /** A value that changes whenever a holder changes. Actions compare it. */
  readonly version: string;
  /** What cannot be read, and the right that is missing; `null` where everything could be read. */
  readonly denied: string | null;
}

/** One lock with all holders and waiters. */
export interface ObservedLockDetail extends ObservedLock {
  /** The first waiters, in order; at most as many as were asked for. */
  readonly waiters: readonly ObservedParticipant[];
  /** The backend's own data: names and values, in order. */
  readonly raw: readonly { readonly name: string; readonly value: string }[];
  /** How each value was obtained, for a reader who doubts it. */
  readonly explain: readonly string[];
}

/** A client of the backend, as far as the backend knows it. */
export interface ObservedSession {
  /** ZooKeeper: the session id as `0x` and hex digits. Redis: the uuid of the client, as in the owners of its holds. */
  readonly id: string;
  /** The kind of backend that it is a client of. */
  readonly backend: "zookeeper" | "redis";
  /** The server that it is connected to, where that is known. */
  readonly server: string | null;
  /** `host:port` or an IP of the client; `null` where the backend does not report it. */
  readonly address: string | null;
  /** What the client says of itself; `null` where it says nothing. */
  readonly identity: ClientIdentity | null;
  /** The session time-out in milliseconds; `null` where it is not known, and always on Redis. */
  readonly timeoutMs: Millis | null;
  /** When the session was established. */
  readonly established: Moment;
  /** When the backend last had a sign of life from the client. */
  readonly lastSeen: Moment;
  /** The keys of the locks that the client holds. */
  readonly holds: readonly string[];
  /** The keys of the locks that the client waits for. */
  readonly waits: readonly string[];
  /** Whether its client is connected now; `"unknown"` where the backend does not report it. */
  readonly state: "connected" | "suspended" | "unknown";
}

/** Whether the client behind a session is connected now. */
export interface SessionContact {
  /** `ObservedSession.id`. */
  readonly id: string;
  /** Whether the client is connected now. */
  readonly state: ObservedSession["state"];
  /** The session time-out as it is, or as it was when the session was last seen connected. */
  readonly timeoutMs: Millis | null;
  /**
   * Epoch ms by which the backend has ended a suspended session unless its client reconnects before; `null` for other
   * sessions.
   */
  readonly endsMs: Millis | null;
}
