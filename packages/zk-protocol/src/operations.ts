import type { MultiRequest, MultiResponse } from "./multi.js";
import type { MultiReadRequest, MultiReadResponse } from "./multi-read.js";
import type {
  AddWatchRequest,
  AddWatchResponse,
  AuthRequest,
  CheckWatchesRequest,
  Children2Response,
  ChildrenResponse,
  Create2Response,
  CreateRequest,
  CreateSessionRequest,
  CreateTTLRequest,
  DataResponse,
  EphemeralsResponse,
  GetACLResponse,
  PathRecord,
  PathVersionRequest,
  PathWatchRequest,
  PrefixRequest,
  ReconfigRequest,
  SaslRecord,
  SetACLRequest,
  SetDataRequest,
  SetWatches2Request,
  SetWatchesRequest,
  StatResponse,
  SyncRecord,
  TotalNumberResponse,
  WhoAmIResponse,
} from "./records.js";

/**
 * Every operation with the record it sends and the record that answers it. `undefined` stands for
 * an empty body. The comments name the first release that knows the operation where that is not 3.4;
 * an older server answers Unimplemented **and closes the connection**.
 */
export interface Operations {
  create: { request: CreateRequest; response: PathRecord };
  delete: { request: PathVersionRequest; response: undefined };
  exists: { request: PathWatchRequest; response: StatResponse };
  getData: { request: PathWatchRequest; response: DataResponse };
  setData: { request: SetDataRequest; response: StatResponse };
  getACL: { request: PathRecord; response: GetACLResponse };
  setACL: { request: SetACLRequest; response: StatResponse };
  getChildren: { request: PathWatchRequest; response: ChildrenResponse };
  /** Goes through the leader, but takes no zxid. Any path will do; it is sent back. */
  sync: { request: SyncRecord; response: SyncRecord };
  /** Always answered with the xid of pings, whatever xid it was sent with. */
  ping: { request: undefined; response: undefined };
  getChildren2: { request: PathWatchRequest; response: Children2Response };
  /** For use inside `multi` only: on its own, 3.8.0 never answers it. */
  check: { request: PathVersionRequest; response: undefined };
  multi: { request: MultiRequest; response: MultiResponse };
  /** 3.5.0. */
  create2: { request: CreateRequest; response: Create2Response };
  /** Admin only. Not measured, written from ZooKeeper's record definitions. */
  reconfig: { request: ReconfigRequest; response: DataResponse };
  /** 3.5. Of no use on 3.8.0: it says Ok when *any* session watches the path. */
  checkWatches: { request: CheckWatchesRequest; response: undefined };
  /** 3.5. NoWatcher when this connection has none of that type. */
  removeWatches: { request: CheckWatchesRequest; response: undefined };
  /** 3.5.1. */
  createContainer: { request: CreateRequest; response: Create2Response };
  /** Servers send it to themselves; the body is the bare path. From a client it is answered with BadArguments. */
  deleteContainer: { request: PathRecord; response: undefined };
  /** 3.5.3, and only where the server has `extendedTypesEnabled`. */
  createTTL: { request: CreateTTLRequest; response: Create2Response };
  /** 3.6. */
  multiRead: { request: MultiReadRequest; response: MultiReadResponse };
  /** Adds an identity to the *connection*: it must be sent again after every reconnect. */
  auth: { request: AuthRequest; response: undefined };
  setWatches: { request: SetWatchesRequest; response: undefined };
  sasl: { request: SaslRecord; response: SaslRecord };
  /** 3.6. */
  getEphemerals: { request: PrefixRequest; response: EphemeralsResponse };
  /** 3.6. */
  getAllChildrenNumber: { request: PathRecord; response: TotalNumberResponse };
  /** 3.6. */
  setWatches2: { request: SetWatches2Request; response: undefined };
  /** 3.6. */
  addWatch: { request: AddWatchRequest; response: AddWatchResponse };
  /** 3.7. */
  whoAmI: { request: undefined; response: WhoAmIResponse };
  /** In transaction logs and between servers only. Clients open a session by a `ConnectRequest`. Not measured. */
  createSession: { request: CreateSessionRequest; response: undefined };
  closeSession: { request: undefined; response: undefined };
}

export type OpName = keyof Operations;
export type RequestOf<K extends OpName> = Operations[K]["request"];
export type ResponseOf<K extends OpName> = Operations[K]["response"];

/** The `type` field of a request header. */
export const opCodes: { readonly [K in OpName]: number } = {
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  getACL: 6,
  setACL: 7,
  getChildren: 8,
  sync: 9,
  ping: 11,
  getChildren2: 12,
  check: 13,
  multi: 14,
  create2: 15,
  reconfig: 16,
  checkWatches: 17,
  removeWatches: 18,
  createContainer: 19,
  deleteContainer: 20,
  createTTL: 21,
  multiRead: 22,
  auth: 100,
  setWatches: 101,
  sasl: 102,
  getEphemerals: 103,
  getAllChildrenNumber: 104,
  setWatches2: 105,
  addWatch: 106,
  whoAmI: 107,
  createSession: -10,
  closeSession: -11,
};

const names: ReadonlyMap<number, OpName> = new Map(
  (Object.keys(opCodes) as OpName[]).map((name) => [opCodes[name], name]),
);

/** Undefined for a code that is no operation. */
export function opNameOf(code: number): OpName | undefined {
  return names.get(code);
}

const writes: ReadonlySet<OpName> = new Set([
  "create",
  "delete",
  "setData",
  "setACL",
  "check",
  "multi",
  "create2",
  "reconfig",
  "createContainer",
  "deleteContainer",
  "createTTL",
  "createSession",
  "closeSession",
] satisfies OpName[]);

/**
 * Whether the operation passes through the leader's proposals and so takes a zxid, also when it
 * fails. An answer to one proves that the session was alive at the quorum. `sync` is not among
 * them: it visits the leader, but nothing is proposed.
 */
export function isWrite(op: OpName): boolean {
  return writes.has(op);
}
