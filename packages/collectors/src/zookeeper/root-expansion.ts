import { AddWatchMode, errorCodes, joinPath, ZooKeeperError } from "@holdfast/zk-protocol";
import { saysNoNode, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import type { RootPattern } from "./roots.js";

/**
 * The paths that a pattern stands for now. With `watch`, a persistent watch reports children that come or go at each level
 * directly above a `*`. These levels are added to `branchings`; those of them that may not be listed are added to `denied`.
 */
export async function expandRoot(
  session: ZooKeeperSession,
  { base, rest }: RootPattern,
  watch: boolean,
  branchings: Set<string>,
  denied: Set<string>,
): Promise<string[]> {
  let paths = [base];
  for (const segment of rest) {
    if (segment !== "*") {
      paths = paths.map((path) => joinPath(path, segment));
      continue;
    }
    for (const path of paths) branchings.add(path);
    paths = (await Promise.all(paths.map((path) => childrenOf(session, path, watch, denied)))).flat();
  }
  return paths;
}

async function childrenOf(
  session: ZooKeeperSession,
  path: string,
  watch: boolean,
  denied: Set<string>,
): Promise<string[]> {
  if (watch) await session.request("addWatch", { path, mode: AddWatchMode.persistent });
  try {
    const { children } = await session.request("getChildren", { path, watch: false });
    return children.map((name) => joinPath(path, name));
  } catch (error) {
    if (isNoAuth(error)) denied.add(path);
    else if (!saysNoNode(error)) throw error;
    return [];
  }
}

export function isNoAuth(error: unknown): boolean {
  return error instanceof ZooKeeperError && error.code === errorCodes.NoAuth;
}
