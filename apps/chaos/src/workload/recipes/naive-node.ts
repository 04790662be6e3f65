import { setTimeout as pass } from "node:timers/promises";
import zookeeperClient, { type Client as ZooKeeperClient } from "node-zookeeper-client";
import type { Ask, Grant, Recipe } from "../recipe.js";
import { naivePath } from "./zookeeper-paths.js";

/**
 * A lock that many write themselves: one ephemeral node, and the client that can create it holds. It never checks the
 * state of its session, so it goes on working when that is over. It also has no token by which the resource could
 * refuse it. It is known to be wrong and must be convicted.
 */
export const naiveNode: Recipe = {
  async open({ servers, leaseMs }) {
    if (servers.kind !== "zookeeper") throw new Error(`recipe naive-node cannot work on ${servers.kind}`);
    let client = await connected(servers.connect, leaseMs);
    return {
      async acquire(ask) {
        // This check is only for the next turn; the holder is not notified.
        if (
          client.getState() === zookeeperClient.State.EXPIRED ||
          client.getState() === zookeeperClient.State.DISCONNECTED
        ) {
          client.close();
          client = await connected(servers.connect, leaseMs);
        }
        return await acquire(client, ask);
      },
      // All errors of this client come from a broken connection.
      meaning: () => "info",
      close: async () => client.close(),
    };
  },
};

async function connected(connect: string, leaseMs: number): Promise<ZooKeeperClient> {
  const client = zookeeperClient.createClient(connect, { sessionTimeout: leaseMs });
  await new Promise<void>((resolve) => {
    client.once("connected", resolve);
    client.connect();
  });
  return client;
}

async function acquire(
  client: ZooKeeperClient,
  { key, once, waitMs, signal, label }: Ask,
): Promise<Grant | null> {
  const path = naivePath(key);
  const endMs = performance.now() + (waitMs ?? Number.POSITIVE_INFINITY);
  for (;;) {
    signal.throwIfAborted();
    const taken = await create(client, path, label);
    if (taken) break;
    if (once || performance.now() >= endMs) return null;
    await pass(10);
  }
  return {
    token: null,
    remainingMs: () => null,
    lost: null,
    release: async () => await remove(client, path),
  };
}

function create(client: ZooKeeperClient, path: string, label: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    client.create(path, Buffer.from(label), zookeeperClient.CreateMode.EPHEMERAL, (error) => {
      if (!error) resolve(true);
      else if (codeOf(error) === zookeeperClient.Exception.NODE_EXISTS) resolve(false);
      else reject(error);
    });
  });
}

function remove(client: ZooKeeperClient, path: string): ReturnType<Grant["release"]> {
  return new Promise((resolve) => {
    client.remove(path, (error) => {
      if (!error) resolve({ end: "ok" });
      else
        resolve({
          end: codeOf(error) === zookeeperClient.Exception.NO_NODE ? "fail" : "info",
          why: error.toString(),
        });
    });
  });
}

const codeOf = (error: Error | zookeeperClient.Exception): number | null =>
  "getCode" in error ? error.getCode() : null;
