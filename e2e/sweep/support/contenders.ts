import type { EmbeddedZooKeeper } from "@holdfast/test-servers";

/** A queue node as the server has it. */
export interface ContenderNode {
  readonly path: string;
  readonly sequence: number;
  /** czxid, which is the fencing token of the hold. */
  readonly token: bigint;
  readonly session: bigint;
}

/** The queue of the lock at `path`, in order; empty when nobody has ever used it. */
export function contenders(server: EmbeddedZooKeeper, path: string): ContenderNode[] {
  if (server.operator.exists(path) === null) return [];
  return server.operator
    .getChildren(path)
    .map((name) => {
      const stat = server.operator.exists(`${path}/${name}`);
      return {
        path: `${path}/${name}`,
        sequence: Number(name.slice(-10)),
        token: stat?.czxid ?? -1n,
        session: stat?.ephemeralOwner ?? 0n,
      };
    })
    .sort((a, b) => a.sequence - b.sequence);
}
