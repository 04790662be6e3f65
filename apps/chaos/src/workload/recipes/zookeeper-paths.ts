import { LockPaths } from "@holdfast/zk-recipes/internal";
import { namesOf } from "../names.js";
import type { WorkerKey } from "../protocol.js";

const paths = new LockPaths({ chroot: "", namespace: "", root: "/holdfast" });

/** The paths of a key's locks in ZooKeeper. */
export const pathsOf = (key: WorkerKey): string[] =>
  key.kind === "naive" ? [naivePath(key)] : namesOf(key).map((name) => paths.pathOf(name));

/** The path of the one node of `naive-node`. */
export const naivePath = ({ name }: WorkerKey): string => `/naive-${name}`;
