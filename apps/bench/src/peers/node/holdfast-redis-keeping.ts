import { redisLocks } from "@holdfast/redis-recipes";
import type { NodePeer } from "../turns.js";
import { clientOf } from "./of-provider.js";
import { versionOf } from "./version-of.js";

export const peer: NodePeer = {
  versions: { holdfast: versionOf("@holdfast/redis-recipes") },
  connect: (server) => clientOf(redisLocks({ url: `redis://${server}`, keepMs: 1_000 })),
};
