import fc from "fast-check";
import type {
  Acl,
  ConnectRequest,
  ConnectResponse,
  CreateRequest,
  MultiOp,
  MultiReadOp,
  MultiReadResult,
  MultiResult,
  OpName,
  RequestOf,
  ResponseOf,
  Stat,
  WatcherEvent,
} from "../src/index.js";

/** Any text that UTF-8 can carry. A codec must keep more than legal paths. */
const string = fc.string({ unit: "binary", maxLength: 40 });
const strings = fc.array(string, { maxLength: 6 });
const int = fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff });
const long = fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n });
const bytes = fc.uint8Array({ maxLength: 40 });
const bytesOrNull = fc.option(bytes);
const stringOrNull = fc.option(string);
const nothing = fc.constant(undefined);

const acl: fc.Arbitrary<Acl[] | null> = fc.option(
  fc.array(fc.record({ perms: int, scheme: string, id: string }), { maxLength: 3 }),
);

const stat: fc.Arbitrary<Stat> = fc.record({
  czxid: long,
  mzxid: long,
  ctime: long,
  mtime: long,
  version: int,
  cversion: int,
  aversion: int,
  ephemeralOwner: long,
  dataLength: int,
  numChildren: int,
  pzxid: long,
});

const path = fc.record({ path: string });
const pathWatch = fc.record({ path: string, watch: fc.boolean() });
const pathVersion = fc.record({ path: string, version: int });
const create: fc.Arbitrary<CreateRequest> = fc.record({ path: string, data: bytesOrNull, acl, flags: int });
const createTTL = fc.record({ path: string, data: bytesOrNull, acl, flags: int, ttlMs: long });
const setData = fc.record({ path: string, data: bytesOrNull, version: int });
const watchType = fc.record({ path: string, type: int });
const setWatches = { relativeZxid: long, dataWatches: strings, existWatches: strings, childWatches: strings };

const multiOp: fc.Arbitrary<MultiOp> = fc.oneof(
  fc.record({
    op: fc.constantFrom("create" as const, "create2" as const, "createContainer" as const),
    request: create,
  }),
  fc.record({ op: fc.constant("createTTL" as const), request: createTTL }),
  fc.record({ op: fc.constantFrom("delete" as const, "check" as const), request: pathVersion }),
  fc.record({ op: fc.constant("setData" as const), request: setData }),
);

const multiResult: fc.Arbitrary<MultiResult> = fc.oneof(
  fc.record({ op: fc.constant("create" as const), path: string }),
  fc.record({ op: fc.constant("create2" as const), path: string, stat }),
  fc.record({ op: fc.constantFrom("delete" as const, "check" as const) }),
  fc.record({ op: fc.constant("setData" as const), stat }),
  fc.record({ op: fc.constant("error" as const), code: int }),
);

const multiReadOp: fc.Arbitrary<MultiReadOp> = fc.record({
  op: fc.constantFrom("getData" as const, "getChildren" as const),
  request: pathWatch,
});

const multiReadResult: fc.Arbitrary<MultiReadResult> = fc.oneof(
  fc.record({ op: fc.constant("getData" as const), data: bytesOrNull, stat }),
  fc.record({ op: fc.constant("getChildren" as const), children: strings }),
  fc.record({ op: fc.constant("error" as const), code: int }),
);

export const requests: { readonly [K in OpName]: fc.Arbitrary<RequestOf<K>> } = {
  create,
  delete: pathVersion,
  exists: pathWatch,
  getData: pathWatch,
  setData,
  getACL: path,
  setACL: fc.record({ path: string, acl, version: int }),
  getChildren: pathWatch,
  sync: path,
  ping: nothing,
  getChildren2: pathWatch,
  check: pathVersion,
  multi: fc.record({ ops: fc.array(multiOp, { maxLength: 5 }) }),
  create2: create,
  reconfig: fc.record({
    joiningServers: stringOrNull,
    leavingServers: stringOrNull,
    newMembers: stringOrNull,
    curConfigId: long,
  }),
  checkWatches: watchType,
  removeWatches: watchType,
  createContainer: create,
  deleteContainer: path,
  createTTL,
  multiRead: fc.record({ ops: fc.array(multiReadOp, { maxLength: 5 }) }),
  auth: fc.record({ type: int, scheme: string, auth: bytesOrNull }),
  setWatches: fc.record(setWatches),
  sasl: fc.record({ token: bytesOrNull }),
  getEphemerals: fc.record({ prefix: stringOrNull }),
  getAllChildrenNumber: path,
  setWatches2: fc.record({ ...setWatches, persistentWatches: strings, persistentRecursiveWatches: strings }),
  addWatch: fc.record({ path: string, mode: int }),
  whoAmI: nothing,
  createSession: fc.record({ timeoutMs: int }),
  closeSession: nothing,
};

export const responses: { readonly [K in OpName]: fc.Arbitrary<ResponseOf<K>> } = {
  create: path,
  delete: nothing,
  exists: fc.record({ stat }),
  getData: fc.record({ data: bytesOrNull, stat }),
  setData: fc.record({ stat }),
  getACL: fc.record({ acl, stat }),
  setACL: fc.record({ stat }),
  getChildren: fc.record({ children: strings }),
  sync: path,
  ping: nothing,
  getChildren2: fc.record({ children: strings, stat }),
  check: nothing,
  multi: fc.record({ results: fc.array(multiResult, { maxLength: 5 }) }),
  create2: fc.record({ path: string, stat }),
  reconfig: fc.record({ data: bytesOrNull, stat }),
  checkWatches: nothing,
  removeWatches: nothing,
  createContainer: fc.record({ path: string, stat }),
  deleteContainer: nothing,
  createTTL: fc.record({ path: string, stat }),
  multiRead: fc.record({ results: fc.array(multiReadResult, { maxLength: 5 }) }),
  auth: nothing,
  setWatches: nothing,
  sasl: fc.record({ token: bytesOrNull }),
  getEphemerals: fc.record({ ephemerals: strings }),
  getAllChildrenNumber: fc.record({ totalNumber: int }),
  setWatches2: nothing,
  addWatch: fc.record({ err: int }),
  whoAmI: fc.record({
    clientInfo: fc.array(fc.record({ authScheme: string, user: string }), { maxLength: 3 }),
  }),
  createSession: nothing,
  closeSession: nothing,
};

export const requestHeader = fc.record({ xid: int, type: int });
export const replyHeader = fc.record({ xid: int, zxid: long, err: int });

const handshake = { protocolVersion: int, timeoutMs: int, sessionId: long };
export const connectRequest: fc.Arbitrary<ConnectRequest> = fc.record(
  { ...handshake, lastZxidSeen: long, password: bytesOrNull, readOnly: fc.boolean() },
  { requiredKeys: ["protocolVersion", "timeoutMs", "sessionId", "lastZxidSeen", "password"] },
);
export const connectResponse: fc.Arbitrary<ConnectResponse> = fc.record(
  { ...handshake, password: bytes, readOnly: fc.boolean() },
  { requiredKeys: ["protocolVersion", "timeoutMs", "sessionId", "password"] },
);

export const watcherEvent: fc.Arbitrary<WatcherEvent> = fc.record({
  type: fc.constantFrom("created", "deleted", "data-changed", "children-changed"),
  state: int,
  path: string,
});
