import { fileURLToPath } from "node:url";
import { findKazoo } from "@holdfast/test-servers";
import { curatorClassPath, javaCommand, redissonClassPath } from "./java.js";
import { type Command, MissingPeer } from "./peer-process.js";
import type { Backend } from "./workloads.js";

/** One library that has locks. It always runs in a process of its own. */
export interface Peer {
  readonly name: string;
  readonly backend: Backend;
  /** The figures of other peers are set in relation to it. There is one for each backend. */
  readonly reference?: true;
  /** Takes part only in workloads that name it. */
  readonly named?: true;
  /** The command that starts its process. Files that it makes go to `scratch`. @throws MissingPeer */
  command(scratch: string): Promise<Command>;
}

function inNode(name: string, backend: Backend, file: string): Peer {
  const worker = fileURLToPath(new URL("./worker.js", import.meta.url));
  return { name, backend, command: async () => ({ program: process.execPath, args: [worker, file] }) };
}

const curator: Peer = {
  name: "Curator",
  backend: "zookeeper",
  reference: true,
  command: async (scratch) => javaCommand("CuratorPeer", await curatorClassPath(), scratch),
};

const kazoo: Peer = {
  name: "kazoo",
  backend: "zookeeper",
  async command() {
    const install = findKazoo();
    if (install === undefined) throw new MissingPeer("no kazoo: npx holdfast-servers ensure --only kazoo");
    const file = fileURLToPath(new URL("../../python/kazoo_peer.py", import.meta.url));
    // -B: the sources are in the repository, which must stay free of compiled files.
    return { program: install.python, args: ["-B", file] };
  },
};

const redisson: Peer = {
  name: "Redisson",
  backend: "redis",
  command: async (scratch) => javaCommand("RedissonPeer", await redissonClassPath(), scratch),
};

export const peers: readonly Peer[] = [
  curator,
  kazoo,
  inNode("shortest", "zookeeper", "shortest-zookeeper"),
  inNode("holdfast", "zookeeper", "holdfast-zookeeper"),
  { ...inNode("holdfast+keepMs", "zookeeper", "holdfast-zookeeper-keeping"), named: true },
  { ...inNode("redis-semaphore", "redis", "redis-semaphore"), reference: true },
  inNode("redlock", "redis", "redlock"),
  redisson,
  inNode("shortest", "redis", "shortest-redis"),
  inNode("holdfast", "redis", "holdfast-redis"),
  { ...inNode("holdfast+keepMs", "redis", "holdfast-redis-keeping"), named: true },
];
