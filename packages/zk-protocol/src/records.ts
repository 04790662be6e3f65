import type { Acl, RequestedAcl, Stat } from "./node-records.js";

/**
 * `CreateRequest.flags`. Use `container` with createContainer and the `ttl` pair with createTTL only:
 * create with `container` succeeds but makes an ordinary persistent node that the server never cleans up.
 */
export const CreateFlags = {
  persistent: 0,
  ephemeral: 1,
  persistentSequential: 2,
  ephemeralSequential: 3,
  container: 4,
  ttl: 5,
  ttlSequential: 6,
} as const;

/** `CheckWatchesRequest.type`. The last two are known from 3.9 on; before, servers call them malformed. */
export const WatcherType = { children: 1, data: 2, any: 3, persistent: 4, persistentRecursive: 5 } as const;

/** `AddWatchRequest.mode`. */
export const AddWatchMode = { persistent: 0, persistentRecursive: 1 } as const;

export interface PathRecord {
  readonly path: string;
}

/** A server sends back whatever it gets, and null, too. */
export interface SyncRecord {
  readonly path: string | null;
}

export interface PathWatchRequest {
  readonly path: string;
  /** Sets a one-shot watch together with the read. exists sets it on a missing node too, the other reads don't. */
  readonly watch: boolean;
}

export interface PathVersionRequest {
  readonly path: string;
  /** -1: any. */
  readonly version: number;
}

export interface CreateRequest {
  readonly path: string;
  /** Null and empty are stored and read back as different values. */
  readonly data: Uint8Array | null;
  /** Null or empty is answered with InvalidACL. */
  readonly acl: readonly RequestedAcl[] | null;
  /** One of `CreateFlags`. */
  readonly flags: number;
}

export interface CreateTTLRequest extends CreateRequest {
  /** Milliseconds since the last setData after which a childless node goes: 1 to 2^40 - 1. */
  readonly ttlMs: bigint;
}

export interface SetDataRequest {
  readonly path: string;
  readonly data: Uint8Array | null;
  /** -1: any. */
  readonly version: number;
}

export interface SetACLRequest {
  readonly path: string;
  readonly acl: readonly RequestedAcl[] | null;
  /** The version of the ACL (`Stat.aversion`); -1: any. */
  readonly version: number;
}

export interface CheckWatchesRequest {
  readonly path: string;
  /** One of `WatcherType`. */
  readonly type: number;
}

export interface AddWatchRequest {
  readonly path: string;
  /** One of `AddWatchMode`. */
  readonly mode: number;
}

export interface SetWatchesRequest {
  /** Last zxid seen before the connection broke: whatever changed after it fires at once. */
  readonly relativeZxid: bigint;
  readonly dataWatches: readonly string[];
  /** Watches of exists on nodes that were missing. */
  readonly existWatches: readonly string[];
  readonly childWatches: readonly string[];
}

export interface SetWatches2Request extends SetWatchesRequest {
  /** Only registered: what changed in between is not reported for these and the next. */
  readonly persistentWatches: readonly string[];
  readonly persistentRecursiveWatches: readonly string[];
}

export interface AuthRequest {
  /** Always 0. */
  readonly type: number;
  /** Null is answered with AuthFailed. */
  readonly scheme: string | null;
  /** `user:password` in UTF-8 for the scheme `digest`. */
  readonly auth: Uint8Array | null;
}

export interface SaslRecord {
  readonly token: Uint8Array | null;
}

export interface PrefixRequest {
  /** Textual prefix, not a directory. Null, "" and "/" mean all. */
  readonly prefix: string | null;
}

export interface ReconfigRequest {
  readonly joiningServers: string | null;
  readonly leavingServers: string | null;
  readonly newMembers: string | null;
  /** -1n: any. */
  readonly curConfigId: bigint;
}

export interface CreateSessionRequest {
  readonly timeoutMs: number;
}

export interface Create2Response {
  /** The path as created, with the sequence number. */
  readonly path: string;
  readonly stat: Stat;
}

export interface StatResponse {
  readonly stat: Stat;
}

export interface DataResponse {
  readonly data: Uint8Array | null;
  readonly stat: Stat;
}

export interface ChildrenResponse {
  /** Names, not paths, in no order. */
  readonly children: string[];
}

export interface Children2Response extends ChildrenResponse {
  readonly stat: Stat;
}

export interface GetACLResponse {
  readonly acl: readonly Acl[] | null;
  readonly stat: Stat;
}

export interface EphemeralsResponse {
  /** Full paths, of the asking session only. */
  readonly ephemerals: string[];
}

export interface TotalNumberResponse {
  /** The number of all descendants. */
  readonly totalNumber: number;
}

export interface AddWatchResponse {
  /** Always 0: a refusal is in the reply header. */
  readonly err: number;
}

export interface ClientInfo {
  readonly authScheme: string;
  readonly user: string;
}

export interface WhoAmIResponse {
  /** The scheme `ip` is always among them. */
  readonly clientInfo: readonly ClientInfo[];
}
