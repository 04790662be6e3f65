import { Reader, type RecordCodec, Writer } from "./jute.js";
import { type MultiRequest, type MultiResponse, multiRequest, multiResponse } from "./multi.js";
import {
  type MultiReadRequest,
  type MultiReadResponse,
  multiReadRequest,
  multiReadResponse,
} from "./multi-read.js";
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
import * as requests from "./request-codecs.js";
import * as responses from "./response-codecs.js";

/**
 * Every operation, with the record of its request and the record of its answer. `undefined` stands for an empty body. A
 * comment names the first release that has the operation, if that is later than 3.4. An older server answers
 * Unimplemented **and closes the connection**.
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
  /** Goes through the leader, but takes no zxid. The server accepts any path, and sends it back. */
  sync: { request: SyncRecord; response: SyncRecord };
  /** Always answered with the xid of pings, whatever xid the request had. */
  ping: { request: undefined; response: undefined };
  getChildren2: { request: PathWatchRequest; response: Children2Response };
  /** Only for use inside `multi`: 3.8.0 never answers a `check` on its own. */
  check: { request: PathVersionRequest; response: undefined };
  multi: { request: MultiRequest; response: MultiResponse };
  /** 3.5.0. */
  create2: { request: CreateRequest; response: Create2Response };
  /** For administrators only. Written from ZooKeeper's record definitions, and not tried on a server. */
  reconfig: { request: ReconfigRequest; response: DataResponse };
  /** 3.5. Of no use on 3.8.0, which answers Ok when *any* session watches the path. */
  checkWatches: { request: CheckWatchesRequest; response: undefined };
  /** 3.5. Answered with NoWatcher when this connection has no watch of that type. */
  removeWatches: { request: CheckWatchesRequest; response: undefined };
  /** 3.5.1. */
  createContainer: { request: CreateRequest; response: Create2Response };
  /** Servers send it to themselves; the body is the path without a length. To a client the server answers BadArguments. */
  deleteContainer: { request: PathRecord; response: undefined };
  /** 3.5.3, and only if the server has `extendedTypesEnabled`. */
  createTTL: { request: CreateTTLRequest; response: Create2Response };
  /** 3.6. */
  multiRead: { request: MultiReadRequest; response: MultiReadResponse };
  /** Adds an identity to the *connection*. It must be sent again after every reconnect. */
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
  /** In transaction logs and between servers only; clients open a session by a `ConnectRequest`. Not tried on a server. */
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

/** The operation of a code; `undefined` for an unknown code. */
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
 * Whether the leader proposes the operation, which then takes a zxid, also when it fails. An answer to such an operation
 * proves that the session was alive at the quorum. `sync` is not one of them: it goes to the leader, but the leader
 * proposes nothing.
 */
export function isWrite(op: OpName): boolean {
  return writes.has(op);
}

const { emptyRecord, pathRecord, syncRecord } = requests;

const requestCodecs: { readonly [K in OpName]: RecordCodec<RequestOf<K>> } = {
  create: requests.createRequest,
  delete: requests.pathVersionRequest,
  exists: requests.pathWatchRequest,
  getData: requests.pathWatchRequest,
  setData: requests.setDataRequest,
  getACL: pathRecord,
  setACL: requests.setACLRequest,
  getChildren: requests.pathWatchRequest,
  sync: syncRecord,
  ping: emptyRecord,
  getChildren2: requests.pathWatchRequest,
  check: requests.pathVersionRequest,
  multi: multiRequest,
  create2: requests.createRequest,
  reconfig: requests.reconfigRequest,
  checkWatches: requests.checkWatchesRequest,
  removeWatches: requests.checkWatchesRequest,
  createContainer: requests.createRequest,
  deleteContainer: requests.barePathRecord,
  createTTL: requests.createTTLRequest,
  multiRead: multiReadRequest,
  auth: requests.authRequest,
  setWatches: requests.setWatchesRequest,
  sasl: requests.saslRecord,
  getEphemerals: requests.prefixRequest,
  getAllChildrenNumber: pathRecord,
  setWatches2: requests.setWatches2Request,
  addWatch: requests.addWatchRequest,
  whoAmI: emptyRecord,
  createSession: requests.createSessionRequest,
  closeSession: emptyRecord,
};

const responseCodecs: { readonly [K in OpName]: RecordCodec<ResponseOf<K>> } = {
  create: pathRecord,
  delete: emptyRecord,
  exists: responses.statResponse,
  getData: responses.dataResponse,
  setData: responses.statResponse,
  getACL: responses.getACLResponse,
  setACL: responses.statResponse,
  getChildren: responses.childrenResponse,
  sync: syncRecord,
  ping: emptyRecord,
  getChildren2: responses.children2Response,
  check: emptyRecord,
  multi: multiResponse,
  create2: responses.create2Response,
  reconfig: responses.dataResponse,
  checkWatches: emptyRecord,
  removeWatches: emptyRecord,
  createContainer: responses.create2Response,
  deleteContainer: emptyRecord,
  createTTL: responses.create2Response,
  multiRead: multiReadResponse,
  auth: emptyRecord,
  setWatches: emptyRecord,
  sasl: requests.saslRecord,
  getEphemerals: responses.ephemeralsResponse,
  getAllChildrenNumber: responses.totalNumberResponse,
  setWatches2: emptyRecord,
  addWatch: responses.addWatchResponse,
  whoAmI: responses.whoAmIResponse,
  createSession: emptyRecord,
  closeSession: emptyRecord,
};

/**
 * Encodes the body of a request, which follows the request header. Throws `RangeError` for a number that does not fit its
 * field.
 */
export function encodeRequest<K extends OpName>(op: K, request: RequestOf<K>): Buffer {
  const writer = new Writer();
  writeRequest(writer, op, request);
  return writer.finish();
}

/** Like `encodeRequest`, behind the bytes that the writer already has. */
export function writeRequest<K extends OpName>(writer: Writer, op: K, request: RequestOf<K>): void {
  requestCodecs[op].write(writer, request);
}

/**
 * Decodes the body of a request. Throws nothing but `ProtocolError`, whatever the bytes; a server answers such a request
 * with MarshallingError.
 */
export function decodeRequest<K extends OpName>(op: K, body: Uint8Array): RequestOf<K> {
  return requestCodecs[op].read(new Reader(body));
}

/** Encodes the body of a reply, which follows the reply header. A reply whose `err` is not 0 has no body. */
export function encodeResponse<K extends OpName>(op: K, response: ResponseOf<K>): Buffer {
  const writer = new Writer();
  responseCodecs[op].write(writer, response);
  return writer.finish();
}

/**
 * Decodes the body of a reply. Call it only for a reply with `err` 0. Throws nothing but `ProtocolError`, whatever the
 * bytes. For `multi` check `multiFailure` as well. `offset`: where the body begins in the bytes; default 0.
 */
export function decodeResponse<K extends OpName>(op: K, bytes: Uint8Array, offset = 0): ResponseOf<K> {
  return responseCodecs[op].read(new Reader(bytes, offset));
}
