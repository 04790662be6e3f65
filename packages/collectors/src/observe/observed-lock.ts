import type { LockMode, Millis, PrimitiveKind, Recognised } from "@holdfast/core";

/** A moment in wall time, epoch ms, and how it is known. Never invented: `atMs` is `null` when `provenance` is `"unknown"`. */
export interface Moment {
  /** Milliseconds since 1970; `null` when it is not known. */
  readonly atMs: Millis | null;
  /** `"at-least"`: it is so at least since then, the moment at which the collector first saw it. */
  readonly provenance: "exact" | "at-least" | "unknown";
}

/** What a client says of itself, where it does. */
export interface ClientIdentity {
  /** The label it was given; `null` where it has none. */
  readonly label: string | null;
  /** The name of its host. */
  readonly host: string | null;
  /** Its process id on that host. */
  readonly pid: number | null;
}

/** How a hold lives on. */
export type LeaseState =
  | "session" // as long as the session
  | "renewing" // a lease that was raised again within its last third
  | "fixed" // a lease that is never raised
  | "not-renewing" // a lease that used to be raised, and was not in time
  | "never-expires" // on Redis: a client took the TTL away
  | "unknown";

/**
 * The library whose layout it is, as far as it can be seen from outside. Nodes of Curator and of holdfast without the option `identity` are the same,
 * byte for byte; with `identity` only a read of the node shows the difference.
 */
export type ObservedLibrary = Recognised | "curator-or-holdfast";

/** A holder or waiter, as seen from outside. */
export interface ObservedParticipant {
  /** Unique within the lock, and what actions name: the node's name, the field of the hash, the permit id. */
  readonly entry: string;
  /** Its name in the wait-for graph: ZooKeeper session as `0x` and hex digits, Redis owner `uuid:number`. */
  readonly actor: string | null;
  /** ZooKeeper session, Redis client uuid; the key of `ObservedSession`. */
  readonly session: string | null;
  /** What its client says of itself; `null` where it says nothing. */
  readonly identity: ClientIdentity | null;
  /** Its client may keep the lock for its next owner (`keepMs`), so that perhaps no owner has it now: only that client knows. */
  readonly mayBeKept: boolean;
  /** `host:port` or an IP; `null` where the backend does not report it. */
  readonly address: string | null;
  /** What the client wrote into its node, as text with what is not printable escaped; at most 256 characters. */
  readonly data: string | null;
  /** Whether it holds, or asks for, the lock alone or shared. */
  readonly mode: LockMode;
  /** How many permits it has or asks for; 1 for all that is no semaphore. */
  readonly permits: number;
  /** 0 is next; `null` for holders, and where there is no order. */
  readonly position: number | null;
  /** When it began to hold or to wait. */
  readonly since: Moment;
  /** Redisson's count of re-entries; `null` where it is not in the backend. */
  readonly holdCount: number | null;
  /** Left of the lease when it was read; `null` for sessions. */
  readonly remainingMs: Millis | null;
  /** How its hold lives on. */
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

/** What of a lock is counted, sorted and filtered by. Of 100,000 locks there are these; the rest is made for those that are shown. */
export interface LockFigures {
  /** Path or key: what the backend calls it. */
  readonly key: string;
  /** `null` for what is recognised as a lock of no known kind. */
  readonly kind: PrimitiveKind | null;
  /** `"contended"`: there are waiters. `"idle"`: there is neither holder nor waiter. */
  readonly state: "held" | "contended" | "idle";
  /** How many hold. */
  readonly holderCount: number;
  /** How many wait, in units of `waiterUnit`. */
  readonly waiterCount: number;
  /** `connections`: subscribers, each of them one or more waiters. `hidden`: waiters cannot be seen. */
  readonly waiterUnit: "participants" | "connections" | "hidden";
  /** When the wait of the longest waiter began. */
  readonly oldestWait: Moment;
  /** When the hold of the longest holder began. */
  readonly oldestHold: Moment;
  /** When this was read, epoch ms. How old a hold or a wait has become since then has not been seen. */
  readonly readMs: Millis;
}

/** One row of a list. */
export interface ObservedLock extends LockFigures {
  /** The kind of backend that keeps it. */
  readonly backend: "zookeeper" | "redis";
  /** All libraries that were seen in it. */
  readonly libraries: readonly ObservedLibrary[];
  /** The first ones; `holderCount` counts all. */
  readonly holders: readonly ObservedParticipant[];
  /** The fencing token of the newest grant; decimal, or `0x` and hex digits on ZooKeeper. */
  readonly token: string | null;
  /** Semaphores: how many permits there are, where the backend keeps it. */
  readonly limit: number | null;
  /** Changes whenever a holder does. Actions compare it. */
  readonly version: string;
  /** What cannot be read, and the right that is missing; `null`: all could be. */
  readonly denied: string | null;
}

/** One lock with all holders and waiters. */
export interface ObservedLockDetail extends ObservedLock {
  /** The first ones, in order; at most as many as were asked for. */
  readonly waiters: readonly ObservedParticipant[];
  /** The backend's own words: name and value, in order. */
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
  /** When it was established. */
  readonly established: Moment;
  /** When the backend last heard of it. */
  readonly lastSeen: Moment;
  /** The keys of the locks that it holds. */
  readonly holds: readonly string[];
  /** The keys of the locks that it waits for. */
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
  /** Epoch ms by which the backend has ended a suspended session unless its client is back before; `null` for others. */
  readonly endsMs: Millis | null;
}
