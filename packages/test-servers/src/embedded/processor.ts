import {
  decodeRequest,
  encodeResponse,
  errorCodes,
  isWrite,
  type OpName,
  opNameOf,
  ProtocolError,
  type RequestOf,
  type ResponseOf,
  xids,
} from "@holdfast/zk-protocol";
import { digestIdentity } from "./acl.js";
import { multi, multiRead } from "./multi.js";
import * as reads from "./reads.js";
import type { Client, State } from "./state.js";
import { check, create, type Outcome, remove, setAcl, setData, type Transaction } from "./writes.js";

/** A reply before it becomes bytes. */
export interface Answer {
  xid: number;
  zxid: bigint;
  err: number;
  body: Buffer | undefined;
  /** The server closes the connection after this reply. */
  readonly ending: boolean;
  /** The reply is never sent. */
  readonly silent: boolean;
}

type Handlers = {
  readonly [K in OpName]: (txn: Transaction, request: RequestOf<K>) => Outcome<ResponseOf<K>>;
};

const noLists = { persistentWatches: [], persistentRecursiveWatches: [] };

const handlers: Handlers = {
  create: (txn, request) => {
    const node = create(txn, "create", request, 0n);
    return typeof node === "number" ? node : { path: node.path };
  },
  create2: (txn, request) => {
    const node = create(txn, "create2", request, 0n);
    return typeof node === "number" ? node : { path: node.path, stat: node.stat() };
  },
  createContainer: (txn, request) => {
    const node = create(txn, "createContainer", request, 0n);
    return typeof node === "number" ? node : { path: node.path, stat: node.stat() };
  },
  createTTL: (txn, request) => {
    const node = create(txn, "createTTL", request, request.ttlMs);
    return typeof node === "number" ? node : { path: node.path, stat: node.stat() };
  },
  delete: remove,
  setData: (txn, request) => {
    const node = setData(txn, request);
    return typeof node === "number" ? node : { stat: node.stat() };
  },
  setACL: (txn, request) => {
    const node = setAcl(txn, request);
    return typeof node === "number" ? node : { stat: node.stat() };
  },
  check,
  multi,
  // Only the cleaner of a server deletes containers.
  deleteContainer: () => errorCodes.BadArguments,
  closeSession: (txn) => {
    txn.state.closeSession(txn.client.sessionId, txn.zxid);
    return undefined;
  },
  reconfig: () => errorCodes.ReconfigDisabled,
  exists: (txn, request) => reads.exists(txn.state, txn.client, request),
  getData: (txn, request) => reads.getData(txn.state, txn.client, request),
  getChildren: (txn, request) => reads.getChildren(txn.state, txn.client, request),
  getChildren2: (txn, request) => reads.getChildren(txn.state, txn.client, request),
  getACL: (txn, request) => reads.getAcl(txn.state, txn.client, request),
  getEphemerals: (txn, request) => reads.getEphemerals(txn.state, txn.client, request),
  getAllChildrenNumber: (txn, request) => reads.countDescendants(txn.state, txn.client, request),
  multiRead: (txn, request) => multiRead(txn.state, txn.client, request),
  whoAmI: (txn) => reads.whoAmI(txn.client),
  sync: (_txn, request) => request,
  ping: () => undefined,
  addWatch: (txn, request) => reads.addWatch(txn.state, txn.client, request),
  removeWatches: (txn, request) => reads.removeWatches(txn.state, txn.client, request),
  checkWatches: (txn, request) => reads.checkWatches(txn.state, request),
  setWatches: (txn, request) => reads.setWatches(txn.state, txn.client, { ...request, ...noLists }),
  setWatches2: (txn, request) => reads.setWatches(txn.state, txn.client, request),
  auth: (txn, request) => {
    const { identities } = txn.client;
    if (request.scheme === "ip") return undefined; // the address is known already
    if (request.scheme !== "digest" || request.auth === null) return errorCodes.AuthFailed;
    const identity = digestIdentity(request.auth);
    if (!identities.some(({ scheme, id }) => scheme === "digest" && id === identity.id)) {
      identities.push(identity);
    }
    return undefined;
  },
  // A server without a configuration for SASL answers so.
  sasl: () => errorCodes.AuthFailed,
  // Between servers it makes a session; a client that already has one gets a new answer to its handshake.
  createSession: () => undefined,
};

/** Applies one request completely. When it returns, the events are delivered and the answer is not sent yet. */
export function process(state: State, client: Client, xid: number, type: number, body: Uint8Array): Answer {
  const op = opNameOf(type);
  if (op === undefined || state.behaviour.unknownOps.has(op)) return unknownOp(xid);
  const writes = isWrite(op);
  const txn = { state, client, zxid: writes ? state.nextZxid() : 0n, changes: [] };
  const outcome = execute(op, txn, body);
  const failed = typeof outcome === "number";
  return {
    xid: op === "ping" ? xids.ping : xid,
    zxid: op === "auth" ? 0n : (client.view?.zxid ?? state.zxid),
    err: failed ? outcome : 0,
    body: failed ? bodyOfFailure(op, body) : outcome.length === 0 ? undefined : outcome,
    ending: op === "closeSession" || ((op === "auth" || op === "sasl") && failed),
    // It is meant for use inside a multi. On its own it is accepted and never answered.
    silent: op === "check" && !failed,
  };
}

/**
 * An error has no body. The exception is a multiRead with the steps of a transaction: its response is begun before the
 * first step is refused.
 */
function bodyOfFailure(op: OpName, request: Uint8Array): Buffer | undefined {
  return op === "multiRead" && decoded("multi", request) !== undefined
    ? encodeResponse("multiRead", { results: [] })
    : undefined;
}

/** Undefined if the bytes are not a request of this operation. */
function decoded<K extends OpName>(op: K, body: Uint8Array): { readonly request: RequestOf<K> } | undefined {
  try {
    return { request: decodeRequest(op, body) };
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/** What a server answers to an operation that it does not know, before it closes the connection. */
export function unknownOp(xid: number): Answer {
  return { xid, zxid: -1n, err: errorCodes.Unimplemented, body: undefined, ending: true, silent: false };
}

function execute<K extends OpName>(op: K, txn: Transaction, body: Uint8Array): Outcome<Buffer> {
  const found = decoded(op, body);
  if (found === undefined) return errorCodes.MarshallingError;
  const handler: Handlers[K] = handlers[op];
  const outcome: Outcome<ResponseOf<K>> = handler(txn, found.request);
  if (typeof outcome === "number") return outcome;
  txn.state.fireAll(txn.changes, txn.zxid);
  return encodeResponse(op, outcome);
}
