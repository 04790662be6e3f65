import { zookeeperLocks } from "@holdfast/zk-recipes";
import type { NodePeer } from "../turns.js";
import { clientOf } from "./of-provider.js";
import { versionOf } from "./version-of.js";

export const peer: NodePeer = {
  versions: { holdfast: versionOf("@holdfast/zk-recipes") },
  connect: (connect) => clientOf(zookeeperLocks({ connect, sessionTimeoutMs: 30_000 })),
};
