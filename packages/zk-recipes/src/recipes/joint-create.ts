import { type MultiResponse, multiFailure, ZooKeeperError } from "@holdfast/zk-protocol";
import type { Outcome } from "../session/types.js";
import type { CreateSettings } from "./create-settings.js";
import { type OwnNodes, ownNode } from "./node-search.js";
import type { OwnNode } from "./own-node-watch.js";
import { type NodePart, type NodesListener, ProtectedNodes } from "./protected-nodes.js";
import type { SessionDesk } from "./session-desk.js";

/** Several nodes, all or none, made in one transaction and their parents listed in one flight. See `ProtectedNodes`. */
export class JointCreate extends ProtectedNodes {
  constructor(
    desk: SessionDesk,
    settings: CreateSettings,
    parts: readonly [NodePart, ...NodePart[]],
    listener: NodesListener,
  ) {
    super(
      desk,
      settings,
      {
        parts,
        send: ({ session }, requests, answered) => {
          const ops = requests.map((request) => ({ op: "create2", request }) as const);
          session.send("multi", { ops }, (outcome) => answered(madeBy(outcome, parts)));
        },
      },
      listener,
    );
  }
}

/** A transaction that was refused is an answer like any other on the wire: its results tell. */
function madeBy(outcome: Outcome<MultiResponse>, parts: readonly NodePart[]): Outcome<OwnNodes> {
  if (!outcome.ok) return outcome;
  const { value, zxid } = outcome;
  const failure = multiFailure(value);
  if (failure === undefined) return { ok: true, value: nodesOf(value, zxid), zxid };
  const path = parts[failure.index]?.parent as string;
  return { ok: false, error: new ZooKeeperError(failure.code, { op: "create2", path }) };
}

/** 3.8.0 leaves the Stat out of a transaction's results: the zxid of the reply is then the czxid of all of them. */
function nodesOf({ results }: MultiResponse, zxid: bigint): OwnNodes {
  const nodes = results.map((result): OwnNode => {
    if (result.op === "create2") return ownNode(result.path, result.stat.czxid);
    if (result.op === "create") return ownNode(result.path, zxid);
    throw new Error(`a create in a transaction was answered as ${result.op}`);
  });
  return nodes as [OwnNode, ...OwnNode[]];
}
