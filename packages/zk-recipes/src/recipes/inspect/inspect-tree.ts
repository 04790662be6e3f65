import type { PrimitiveKind } from "@holdfast/core";
import { joinPath, type ResponseOf } from "@holdfast/zk-protocol";
import type { BareTree, TreeBranch, TreeNode } from "../../layout/tree.js";
import { saysNoNode } from "../../session/errors.js";
import type { ZooKeeperSession } from "../../session/types.js";
import { outcomeOf } from "../requests/retrying-requests.js";
import { requestFailure } from "../session/failures.js";

/** Data and stat of this many nodes are asked for at once. */
const readsAtOnce = 500;

type NodeRead = ResponseOf<"getData">;

const absent: TreeBranch = { stat: null, children: [] };

/**
 * The names below a path, and of a semaphore those below its queue and its permits too: in one write where the kind is known
 * to have these, else after the first listing has shown them. Nothing where there is no such path.
 */
export async function listTree(
  session: ZooKeeperSession,
  kind: PrimitiveKind,
  lockName: string,
  path: string,
): Promise<BareTree> {
  const below = ["locks", "leases"].map((name) => joinPath(path, name));
  const expected = kind === "semaphore" || kind === "semaphore-mutex";
  const [root, ...branches] = await listAll(session, lockName, expected ? [path, ...below] : [path]);
  const { stat, children } = root as TreeBranch;
  const bare = { path, stat, data: null, children };
  if (!children.some(({ name }) => name === "locks" || name === "leases")) {
    return isLone(bare) ? { ...bare, data: await dataOf(session, lockName, path) } : bare;
  }
  const [locks, leases] = expected ? branches : await listAll(session, lockName, below);
  return { ...bare, locks: locks as TreeBranch, leases: leases as TreeBranch };
}

/** The same tree with data and stat of those of its nodes that are still there. */
export async function readPeople(
  session: ZooKeeperSession,
  tree: BareTree,
  paths: readonly string[],
  signal: AbortSignal | undefined,
): Promise<BareTree> {
  const reads = new Map<string, NodeRead>();
  for (let from = 0; from < paths.length; from += readsAtOnce) {
    signal?.throwIfAborted();
    const asked = paths.slice(from, from + readsAtOnce).filter((path) => path !== tree.path);
    // In one write.
    const read = asked.map((path) => outcomeOf(session, "getData", { path, watch: false }));
    for (const [at, outcome] of (await Promise.all(read)).entries()) {
      const path = asked[at] as string;
      if (outcome.ok) reads.set(path, outcome.value);
      else if (!saysNoNode(outcome.error)) throw requestFailure(`inspecting ${path}`, outcome.error, session);
    }
  }
  const filled = (parent: string, branch: TreeBranch): TreeBranch => ({
    stat: branch.stat,
    children: branch.children.map(
      (node): TreeNode => ({ ...node, ...reads.get(joinPath(parent, node.name)) }),
    ),
  });
  const { locks, leases } = tree;
  return {
    ...tree,
    ...filled(tree.path, tree),
    ...(locks === undefined ? {} : { locks: filled(joinPath(tree.path, "locks"), locks) }),
    ...(leases === undefined ? {} : { leases: filled(joinPath(tree.path, "leases"), leases) }),
  };
}

/** In one write. */
function listAll(
  session: ZooKeeperSession,
  lockName: string,
  paths: readonly string[],
): Promise<TreeBranch[]> {
  return Promise.all(
    paths.map(async (path) => {
      const listing = await outcomeOf(session, "getChildren2", { path, watch: false });
      if (listing.ok) {
        const { stat, children } = listing.value;
        return { stat, children: children.map((name) => ({ name, stat: null, data: null })) };
      }
      if (saysNoNode(listing.error)) return absent;
      throw requestFailure(`inspecting ${path}`, listing.error, session, lockName);
    }),
  );
}

/** A node that has no children may be the lock itself. */
function isLone({ stat, children }: TreeBranch): boolean {
  return children.length === 0 && stat !== null && stat.dataLength > 0;
}

async function dataOf(session: ZooKeeperSession, lockName: string, path: string): Promise<Uint8Array | null> {
  try {
    return (await session.request("getData", { path, watch: false })).data;
  } catch (error) {
    if (saysNoNode(error)) return null;
    throw requestFailure(`inspecting ${path}`, error as Error, session, lockName);
  }
}
