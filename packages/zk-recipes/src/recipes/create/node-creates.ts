import {
  baseName,
  type CreateRequest,
  type MultiResponse,
  multiFailure,
  type ResponseOf,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import type { Outcome, ZooKeeperSession } from "../../session/types.js";
import type { OwnNode } from "../grant/own-node-watch.js";

export type Children = Outcome<ResponseOf<"getChildren2">>;
export type OwnNodes = readonly [OwnNode, ...OwnNode[]];

/** What a node to make and a node to look for have in common. */
interface Placed {
  readonly parent: string;
}

export function ownNode(path: string, czxid: bigint): OwnNode {
  return { path, name: baseName(path), czxid };
}

/**
 * Creates all nodes or none in one transaction. When a node is refused, the error's path is the parent of that node:
 * `parts` are in the order of the requests.
 */
export function sendTransaction(
  session: ZooKeeperSession,
  requests: readonly CreateRequest[],
  parts: readonly Placed[],
  answered: (made: Outcome<OwnNodes>) => void,
): void {
  const ops = requests.map((request) => ({ op: "create2", request }) as const);
  session.send("multi", { ops }, (outcome) => {
    if (!outcome.ok) return answered(outcome);
    const { value, zxid } = outcome;
    // On the wire the reply to a refused transaction has no error code, as when it was applied.
    const failure = multiFailure(value);
    if (failure === undefined) return answered({ ok: true, value: nodesOf(value, zxid), zxid });
    const { parent: path } = parts[failure.index] as Placed;
    answered({ ok: false, error: new ZooKeeperError(failure.code, { op: "create2", path }) });
  });
}

/**
 * The nodes that a transaction made. ZooKeeper 3.8.0 leaves the `Stat` out of a transaction's results; the czxid of all
 * nodes is then the zxid of the reply.
 */
function nodesOf({ results }: MultiResponse, zxid: bigint): OwnNodes {
  const nodes = results.map((result): OwnNode => {
    if (result.op === "create2") return ownNode(result.path, result.stat.czxid);
    if (result.op === "create") return ownNode(result.path, zxid);
    throw new Error(`a create in a transaction was answered as ${result.op}`);
  });
  return nodes as [OwnNode, ...OwnNode[]];
}

/** Lists each distinct parent once. `listed` is called with the last answer, and gets one listing for each of `parts`. */
export function listAll(
  session: ZooKeeperSession,
  parts: readonly Placed[],
  listed: (listings: readonly Children[]) => void,
): void {
  const listings = new Map<string, Children>();
  const distinct = new Set(parts.map(({ parent }) => parent));
  for (const parent of distinct) {
    session.send("getChildren2", { path: parent, watch: false }, (listing) => {
      listings.set(parent, listing);
      if (listings.size === distinct.size) listed(parts.map((each) => listings.get(each.parent) as Children));
    });
  }
}
