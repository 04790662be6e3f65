import type { PrimitiveKind } from "@holdfast/core";
import { baseName, joinPath, type ResponseOf, type Stat } from "@holdfast/zk-protocol";
import type { LayoutFinding } from "../../layout/layout-finding.js";
import { blockersOf } from "../../layout/recognise-tree.js";
import type { BareTree, TreeBranch, TreeNode } from "../../layout/tree.js";
import type { ZooKeeperSession } from "../../session/types.js";
import { orNone } from "../session/failures.js";

/** Data and stat of at most this many nodes are read at once. */
const readsAtOnce = 500;

type NodeRead = ResponseOf<"getData">;

/** A lock: its kind, its name, and the path at which to look for it. */
export interface LockPlace {
  readonly kind: PrimitiveKind;
  readonly lockName: string;
  readonly path: string;
}

const absent: TreeBranch = { stat: null, children: [] };

/**
 * The names below a path. For a semaphore also the names below its queue and its permits: in one write if the kind is
 * known to have them, else after the first listing has shown them. The tree is empty if there is no such path.
 */
export async function listTree(session: ZooKeeperSession, place: LockPlace): Promise<BareTree> {
  const { kind, lockName, path } = place;
  const below = ["locks", "leases"].map((name) => joinPath(path, name));
  const expected = kind === "semaphore" || kind === "semaphore-mutex";
  const [root, ...branches] = await listAll(session, lockName, expected ? [path, ...below] : [path]);
  const { stat, children } = root as TreeBranch;
  const bare = { path, stat, data: null, children };
  if (!children.some(({ name }) => name === "locks" || name === "leases")) {
    // A node without children may itself be the lock.
    if (children.length > 0 || stat === null || stat.dataLength === 0) return bare;
    return { ...bare, data: (await readNode(session, lockName, path))?.data ?? null };
  }
  const [locks, leases] = expected ? branches : await listAll(session, lockName, below);
  return { ...bare, locks: locks as TreeBranch, leases: leases as TreeBranch };
}

/** The same tree, with data and stat of those nodes among `paths` that are still there. */
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
    // All of these reads leave in one write.
    const found = await Promise.all(asked.map((path) => readNode(session, undefined, path)));
    for (const [at, read] of found.entries()) if (read !== null) reads.set(asked[at] as string, read);
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

/**
 * The same tree, with the stats of the foreign children that stand in front of contenders: one that is older than the first
 * contender shows that this contender was never granted. `exists` needs no right to read them.
 */
export async function withBlockers(
  session: ZooKeeperSession,
  tree: BareTree,
  findings: readonly LayoutFinding[],
): Promise<BareTree> {
  const stats = new Map<string, Stat>();
  await Promise.all(
    blockersOf(tree.path, findings).map(async (path) => {
      const asked = session.request("exists", { path, watch: false });
      const found = await orNone(asked, `inspecting ${path}`, session, undefined);
      if (found !== null) stats.set(baseName(path), found.stat);
    }),
  );
  if (stats.size === 0) return tree;
  const children = tree.children.map((node) => ({ ...node, stat: stats.get(node.name) ?? node.stat }));
  return { ...tree, children };
}

/** Lists the children of all `paths` in one write. */
function listAll(
  session: ZooKeeperSession,
  lockName: string,
  paths: readonly string[],
): Promise<TreeBranch[]> {
  return Promise.all(
    paths.map(async (path) => {
      const asked = session.request("getChildren2", { path, watch: false });
      const listing = await orNone(asked, `inspecting ${path}`, session, lockName);
      if (listing === null) return absent;
      const { stat, children } = listing;
      return { stat, children: children.map((name) => ({ name, stat: null, data: null })) };
    }),
  );
}

function readNode(
  session: ZooKeeperSession,
  lockName: string | undefined,
  path: string,
): Promise<NodeRead | null> {
  return orNone(session.request("getData", { path, watch: false }), `inspecting ${path}`, session, lockName);
}
