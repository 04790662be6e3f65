import type { Acl, RequestedAcl, Stat } from "./node-records.js";

/**
 * Values of `CreateRequest.flags`. Use `container` with createContainer only, and `ttl` and `ttlSequential` with
 * createTTL only. create with `container` succeeds, but makes an ordinary persistent node that the server never cleans
 * up.
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

/** Values of `CheckWatchesRequest.type`. Servers know the last two from 3.9 on; earlier ones call them malformed. */
export const WatcherType = { children: 1, data: 2, any: 3, persistent: 4, persistentRecursive: 5 } as const;

/** Values of `AddWatchRequest.mode`. */
export const AddWatchMode = { persistent: 0, persistentRecursive: 1 } as const;

export interface PathRecord {
  readonly path: string;
}

/** A server sends back the path that it got, also null. */
export interface SyncRecord {
  readonly path: string | null;
}

export interface PathWatchRequest {
  readonly path: string;
  /** Sets a one-shot watch together with the read. exists sets it on a missing node too; the other reads do not. */
  readonly watch: boolean;
}

export interface PathVersionRequest {
  readonly path: string;
  /** The version that the node must have; -1 for any. */
  readonly version: number;
}

export interface CreateRequest {
  readonly path: string;
  /** Null and empty are stored and read back as different values. */
  readonly data: Uint8Array | null;
  /** The server answers null or an empty list with InvalidACL. */
  readonly acl: readonly RequestedAcl[] | null;
  /** One of `CreateFlags`. */
  readonly flags: number;
}

export interface CreateTTLRequest extends CreateRequest {
  /** A node without children is deleted this many milliseconds after the last setData: 1 to 2^40 - 1. */
  readonly ttlMs: bigint;
}

export interface SetDataRequest {
  readonly path: string;
  readonly data: Uint8Array | null;
  /** The version that the node must have; -1 for any. */
  readonly version: number;
}

export interface SetACLRequest {
  readonly path: string;
  readonly acl: readonly RequestedAcl[] | null;
  /** The version that the ACL must have (`Stat.aversion`); -1 for any. */
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
  /** The last zxid seen before the connection broke. A watch fires at once if its node changed after that. */
  readonly relativeZxid: bigint;
  readonly dataWatches: readonly string[];
  /** Watches that exists set on missing nodes. */
  readonly existWatches: readonly string[];
  readonly childWatches: readonly string[];
}

export interface SetWatches2Request extends SetWatchesRequest {
  /** These watches and the next are only registered: changes since the connection broke are not reported for them. */
  readonly persistentWatches: readonly string[];
  readonly persistentRecursiveWatches: readonly string[];
}

export interface AuthRequest {
  /** Always 0. */
  readonly type: number;
  /** The server answers null with AuthFailed. */
  readonly scheme: string | null;
  /** `user:password` in UTF-8 for the scheme `digest`. */
  readonly auth: Uint8Array | null;
}

export interface SaslRecord {
  readonly token: Uint8Array | null;
}

export interface PrefixRequest {
  /** A prefix of the text of the paths, not a directory. Null, "" and "/" mean all paths. */
  readonly prefix: string | null;
}

export interface ReconfigRequest {
  readonly joiningServers: string | null;
  readonly leavingServers: string | null;
  readonly newMembers: string | null;
  /** The version that the configuration must have; -1n for any. */
  readonly curConfigId: bigint;
}

export interface CreateSessionRequest {
  readonly timeoutMs: number;
}

export interface Create2Response {
  /** The path of the new node, with its sequence number. */
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
  /** Names, not paths, in no particular order. */
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
  /** Full paths of the ephemeral nodes of the asking session only. */
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
  /** The identities of the client. One of the scheme `ip` is always among them. */
  readonly clientInfo: readonly ClientInfo[];
}
