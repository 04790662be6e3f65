import {
  type CreateRequest,
  errorCodes,
  isValidPath,
  type PathVersionRequest,
  Perms,
  type SetACLRequest,
  type SetDataRequest,
} from "@holdfast/zk-protocol";
import { allowed, fixAcl } from "./acl.js";
import { type Client, parentPath, type State } from "./state.js";
import type { NodeKind, TreeNode } from "./tree.js";
import type { Change } from "./watches.js";

/** The result of a request: its value or an error code. Refusals are common, so they are returned and not thrown. */
export type Outcome<T> = T | number;

export type CreateOp = "create" | "create2" | "createContainer" | "createTTL";

const sequentialFlags: ReadonlySet<number> = new Set([2, 3, 6]);
/** A server never deletes these. */
const fixedPaths: ReadonlySet<string> = new Set(["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"]);
const maxTtlMs = 0xff_ffff_ffffn;

/**
 * One transaction that is being applied. It collects its changes in `changes`; they fire their watches when it is done.
 */
export interface Transaction {
  readonly state: State;
  readonly client: Client;
  readonly zxid: bigint;
  readonly changes: Change[];
}

/** The checks come in the order of a real server, because the order decides which of several errors is returned. */
export function create(
  txn: Transaction,
  op: CreateOp,
  request: CreateRequest,
  ttlMs: bigint,
): Outcome<TreeNode> {
  const { state, client, zxid } = txn;
  const { flags } = request;
  if (flags < 0 || flags > 6) return errorCodes.BadArguments;
  const isTtl = flags === 5 || flags === 6;
  if (isTtl && !state.extendedTypes) return errorCodes.Unimplemented;
  // A real server accepts a negative time without a TTL flag here, and then hangs. This one refuses it.
  if (isTtl ? op !== "createTTL" || ttlMs < 1n || ttlMs > maxTtlMs : op === "createTTL") {
    return errorCodes.BadArguments;
  }
  const kind = kindOf(op, flags);
  // An ephemeral node of a session that is over would never be deleted.
  if (kind === "ephemeral" && state.sessions.get(client.sessionId) === undefined) {
    return errorCodes.SessionExpired;
  }
  const slash = request.path.lastIndexOf("/");
  if (slash === -1 || request.path.includes("\0")) return errorCodes.BadArguments;
  const acl = fixAcl(request.acl, client.identities);
  if (typeof acl === "number") return acl;
  const parent = state.tree.get(request.path.slice(0, slash));
  if (parent === undefined) return errorCodes.NoNode;
  if (!allowed(parent.acl, Perms.CREATE, client.identities)) return errorCodes.NoAuth;
  let path = request.path;
  if (sequentialFlags.has(flags)) path += sequenceSuffix(state.tree.counterOf(parent));
  if (!isValidPath(path)) return errorCodes.BadArguments;
  if (state.tree.get(path) !== undefined) return errorCodes.NodeExists;
  if (parent.kind === "ephemeral") return errorCodes.NoChildrenForEphemerals;
  const node = state.tree.create(parent, {
    path,
    kind,
    data: request.data,
    acl,
    zxid,
    timeMs: state.clock.wallMs(),
    owner: kind === "ephemeral" ? client.sessionId : 0n,
    ttlMs: Number(ttlMs),
  });
  txn.changes.push({ type: "created", path, acl, parentAcl: parent.acl });
  return node;
}

function kindOf(op: CreateOp, flags: number): NodeKind {
  // The container operation makes a container whatever the flags say. In the others the container flag makes an
  // ordinary node.
  if (op === "createContainer") return "container";
  if (op === "createTTL") return "ttl";
  return flags === 1 || flags === 3 ? "ephemeral" : "persistent";
}

/** Ten digits. A negative number has the same width, sign included. */
export function sequenceSuffix(counter: number): string {
  return counter < 0 ? `-${String(-counter).padStart(9, "0")}` : String(counter).padStart(10, "0");
}

export function remove(txn: Transaction, request: PathVersionRequest): Outcome<undefined> {
  const { state, client, zxid } = txn;
  const { path } = request;
  if (!path.includes("/") || path.includes("\0") || fixedPaths.has(path)) return errorCodes.BadArguments;
  const parent = state.tree.get(parentPath(path));
  if (parent === undefined) return errorCodes.NoNode;
  if (!allowed(parent.acl, Perms.DELETE, client.identities)) return errorCodes.NoAuth;
  const node = state.tree.get(path);
  if (node === undefined) return errorCodes.NoNode;
  if (!matches(request.version, node.version)) return errorCodes.BadVersion;
  if (node.childCount > 0) return errorCodes.NotEmpty;
  state.tree.delete(parent, node, zxid);
  txn.changes.push({ type: "deleted", path, acl: node.acl, parentAcl: parent.acl });
  return undefined;
}

export function setData(txn: Transaction, request: SetDataRequest): Outcome<TreeNode> {
  const { state, zxid } = txn;
  const node = checkedNode(txn, request.path, Perms.WRITE);
  if (typeof node === "number") return node;
  if (!matches(request.version, node.version)) return errorCodes.BadVersion;
  state.tree.setData(node, request.data, zxid, state.clock.wallMs());
  txn.changes.push({ type: "data-changed", path: node.path, acl: node.acl, parentAcl: [] });
  return node;
}

/** A new access list fires no watch. */
export function setAcl(txn: Transaction, request: SetACLRequest): Outcome<TreeNode> {
  if (!isValidPath(request.path)) return errorCodes.BadArguments;
  const acl = fixAcl(request.acl, txn.client.identities);
  if (typeof acl === "number") return acl;
  const node = checkedNode(txn, request.path, Perms.ADMIN);
  if (typeof node === "number") return node;
  if (!matches(request.version, node.aversion)) return errorCodes.BadVersion;
  txn.state.tree.setAcl(node, acl);
  return node;
}

export function check(txn: Transaction, request: PathVersionRequest): Outcome<undefined> {
  const node = checkedNode(txn, request.path, Perms.READ);
  if (typeof node === "number") return node;
  return matches(request.version, node.version) ? undefined : errorCodes.BadVersion;
}

function checkedNode(txn: Transaction, path: string, bit: number): Outcome<TreeNode> {
  if (!isValidPath(path)) return errorCodes.BadArguments;
  const node = txn.state.tree.get(path);
  if (node === undefined) return errorCodes.NoNode;
  return allowed(node.acl, bit, txn.client.identities) ? node : errorCodes.NoAuth;
}

/** -1 matches any version. */
function matches(wanted: number, version: number): boolean {
  return wanted === -1 || wanted === version;
}
