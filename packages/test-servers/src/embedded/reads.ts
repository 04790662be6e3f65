import {
  type AddWatchRequest,
  type CheckWatchesRequest,
  type Children2Response,
  type DataResponse,
  type EphemeralsResponse,
  errorCodes,
  type GetACLResponse,
  type PathRecord,
  type PathWatchRequest,
  Perms,
  type PrefixRequest,
  type SetWatches2Request,
  type StatResponse,
  type TotalNumberResponse,
  type WatchEventType,
  type WhoAmIResponse,
} from "@holdfast/zk-protocol";
import { allowed, maskAcl } from "./acl.js";
import type { Client, State } from "./state.js";
import type { Tree, TreeNode } from "./tree.js";
import { Notice, WatchMode, type WatchTable } from "./watches.js";
import type { Outcome } from "./writes.js";

function treeFor(state: State, client: Client): Tree {
  return client.view === undefined ? state.tree : client.view.tree;
}

function readable(state: State, client: Client, path: string): Outcome<TreeNode> {
  const node = treeFor(state, client).get(path);
  if (node === undefined) return errorCodes.NoNode;
  return allowed(node.acl, Perms.READ, client.identities) ? node : errorCodes.NoAuth;
}

function watchOnce(table: WatchTable, client: Client, request: PathWatchRequest): void {
  if (request.watch && !client.losesWatch) table.add(client, request.path, WatchMode.oneShot);
}

/** Up to 3.8 every client may ask, whatever the ACL. A watch on a missing node waits for it to be created. */
export function exists(state: State, client: Client, request: PathWatchRequest): Outcome<StatResponse> {
  if (request.path.includes("\0")) return errorCodes.BadArguments;
  const node = treeFor(state, client).get(request.path);
  const { existsNeedsRead } = state.behaviour;
  if (node !== undefined && existsNeedsRead && !allowed(node.acl, Perms.READ, client.identities)) {
    return errorCodes.NoAuth;
  }
  watchOnce(state.watches.data, client, request);
  return node === undefined ? errorCodes.NoNode : { stat: node.stat() };
}

/** The watch is set only if the node exists, as in `getChildren`. */
export function getData(state: State, client: Client, request: PathWatchRequest): Outcome<DataResponse> {
  const node = readable(state, client, request.path);
  if (typeof node === "number") return node;
  watchOnce(state.watches.data, client, request);
  return { data: node.data, stat: node.stat() };
}

export function getChildren(
  state: State,
  client: Client,
  request: PathWatchRequest,
): Outcome<Children2Response> {
  const node = readable(state, client, request.path);
  if (typeof node === "number") return node;
  watchOnce(state.watches.child, client, request);
  return { children: mixed(node), stat: node.stat() };
}

/**
 * Real servers list children in the order of a hash table. Here the youngest comes first, and the list begins at a
 * place that moves with every change. A client that mistakes this order for the order of creation soon fails.
 */
function mixed(node: TreeNode): string[] {
  const names = [...node.children].reverse();
  const turn = names.length < 2 ? 0 : node.created % names.length;
  return turn <= 0 ? names : [...names.slice(turn), ...names.slice(0, turn)];
}

export function getAcl(state: State, client: Client, request: PathRecord): Outcome<GetACLResponse> {
  const node = treeFor(state, client).get(request.path);
  if (node === undefined) return errorCodes.NoNode;
  if (!allowed(node.acl, Perms.READ | Perms.ADMIN, client.identities)) return errorCodes.NoAuth;
  const plain = allowed(node.acl, Perms.ADMIN, client.identities);
  return { acl: plain ? node.acl : maskAcl(node.acl), stat: node.stat() };
}

export function getEphemerals(state: State, client: Client, request: PrefixRequest): EphemeralsResponse {
  const own = [...treeFor(state, client).ephemeralsOf(client.sessionId)];
  const { prefix } = request;
  if (prefix === null || prefix === "" || prefix === "/") return { ephemerals: own };
  return { ephemerals: own.filter((path) => path.startsWith(prefix)) };
}

export function countDescendants(
  state: State,
  client: Client,
  request: PathRecord,
): Outcome<TotalNumberResponse> {
  const top = readable(state, client, request.path);
  if (typeof top === "number") return top;
  const tree = treeFor(state, client);
  let totalNumber = 0;
  const open = [top];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const name of node.children) {
      totalNumber += 1;
      const child = tree.get(node.path === "/" ? `/${name}` : `${node.path}/${name}`);
      if (child !== undefined && child.childCount > 0) open.push(child);
    }
  }
  return { totalNumber };
}

/** The address always, and what `auth` has added; of a digest only the user. */
export function whoAmI(client: Client): WhoAmIResponse {
  return {
    clientInfo: client.identities.map(({ scheme, id }) => ({
      authScheme: scheme,
      user: scheme === "digest" ? id.slice(0, id.indexOf(":")) : id,
    })),
  };
}

/**
 * A lasting watch may be set on a node that does not exist. Up to 3.8, a recursive one also replaces the connection's
 * watch in the child table, where it never fires.
 */
export function addWatch(state: State, client: Client, request: AddWatchRequest): Outcome<{ err: number }> {
  if (request.mode !== 0 && request.mode !== 1) return errorCodes.MarshallingError;
  if (!client.losesWatch) {
    const { data, child } = state.watches;
    const mode = request.mode === 0 ? WatchMode.persistent : WatchMode.recursive;
    data.add(client, request.path, mode);
    if (request.mode === 0 || state.behaviour.watchesOverwrite) child.add(client, request.path, mode);
  }
  return { err: 0 };
}

export function removeWatches(
  state: State,
  client: Client,
  request: CheckWatchesRequest,
): Outcome<undefined> {
  const { data, child } = state.watches;
  const { path, type } = request;
  const byMode = state.behaviour.removesByMode;
  const oneShot = byMode ? WatchMode.oneShot : undefined;
  let removed: boolean;
  switch (type) {
    case 1:
      removed = child.remove(client, path, oneShot);
      break;
    case 2:
      removed = data.remove(client, path, oneShot);
      break;
    case 3:
      removed = removeBoth(state, client, path);
      break;
    case 4:
    case 5:
      if (!byMode) return errorCodes.MarshallingError;
      removed = removeBoth(state, client, path, type === 4 ? WatchMode.persistent : WatchMode.recursive);
      break;
    default:
      return errorCodes.MarshallingError;
  }
  return removed ? undefined : errorCodes.NoWatcher;
}

function removeBoth(state: State, client: Client, path: string, modes?: number): boolean {
  const ofChild = state.watches.child.remove(client, path, modes);
  const ofData = state.watches.data.remove(client, path, modes);
  return ofChild || ofData;
}

/** Succeeds if any client watches the path, as in 3.8.0. */
export function checkWatches(state: State, request: CheckWatchesRequest): Outcome<undefined> {
  const { data, child } = state.watches;
  const { path, type } = request;
  if (type < 1 || type > 3) return errorCodes.MarshallingError;
  const found = (type !== 2 && child.watched(path)) || (type !== 1 && data.watched(path));
  return found ? undefined : errorCodes.NoWatcher;
}

/**
 * Sets the watches of an earlier connection of the same client again. A change since `relativeZxid` is sent as an event
 * at once, before the answer, in every release without a zxid. A node gets more than one event only if two lists name
 * it. Lasting watches are set again, but get no events for what they missed.
 */
export function setWatches(state: State, client: Client, request: SetWatches2Request): undefined {
  if (client.losesWatch) return undefined;
  const { watches } = state;
  const tree = treeFor(state, client);
  const since = request.relativeZxid;
  const tell = (type: WatchEventType, path: string): void =>
    client.deliver(new Notice(type, path, state.zxid, -1n));
  for (const path of request.dataWatches) {
    const node = tree.get(path);
    if (node === undefined) tell("deleted", path);
    else if (node.mzxid > since) tell("data-changed", path);
    else watches.data.add(client, path, WatchMode.oneShot);
  }
  for (const path of request.existWatches) {
    if (tree.get(path) !== undefined) tell("created", path);
    else watches.data.add(client, path, WatchMode.oneShot);
  }
  for (const path of request.childWatches) {
    const node = tree.get(path);
    if (node === undefined) tell("deleted", path);
    else if (node.pzxid > since) tell("children-changed", path);
    else watches.child.add(client, path, WatchMode.oneShot);
  }
  for (const path of request.persistentWatches) {
    watches.data.add(client, path, WatchMode.persistent);
    watches.child.add(client, path, WatchMode.persistent);
  }
  for (const path of request.persistentRecursiveWatches) {
    watches.data.add(client, path, WatchMode.recursive);
    watches.child.add(client, path, WatchMode.recursive);
  }
  return undefined;
}
