import type { EmbeddedZooKeeper } from "@holdfast/test-servers";

/** Which part of a recipe's tree a node belongs to. */
export type NodeRole = "contender" | "reader" | "writer" | "lease" | "fixed";

/** A node of a lock at the server. */
export interface ContenderNode {
  readonly path: string;
  readonly role: NodeRole;
  readonly sequence: number;
  /** The czxid, which is the fencing token of the hold. */
  readonly token: bigint;
  readonly session: bigint;
}

/**
 * All nodes that clients made for the lock at `path`: its queue in order, then the permits of a semaphore. The path itself if
 * that node is the lock. Empty if the lock was never used.
 */
export function contenders(server: EmbeddedZooKeeper, path: string): ContenderNode[] {
  const { operator } = server;
  const own = operator.exists(path);
  if (own === null) return [];
  if (own.ephemeralOwner !== 0n) {
    return [{ path, role: "fixed", sequence: 0, token: own.czxid, session: own.ephemeralOwner }];
  }
  const names = operator.getChildren(path);
  const below = ["locks", "leases"].filter((part) => names.includes(part));
  return [
    ...childrenOf(
      server,
      path,
      names.filter((name) => !below.includes(name)),
    ),
    ...below.flatMap((part) =>
      childrenOf(server, `${path}/${part}`, operator.getChildren(`${path}/${part}`)),
    ),
  ];
}

function childrenOf(server: EmbeddedZooKeeper, path: string, names: readonly string[]): ContenderNode[] {
  const nodes = names.map((name): ContenderNode => {
    const stat = server.operator.exists(`${path}/${name}`);
    return {
      path: `${path}/${name}`,
      role: roleOf(name),
      sequence: Number(name.slice(-10)),
      token: stat?.czxid ?? -1n,
      session: stat?.ephemeralOwner ?? 0n,
    };
  });
  return nodes.sort((a, b) => a.sequence - b.sequence);
}

function roleOf(name: string): NodeRole {
  if (name.includes("__READ__")) return "reader";
  if (name.includes("__WRIT__")) return "writer";
  return name.includes("lease-") ? "lease" : "contender";
}
