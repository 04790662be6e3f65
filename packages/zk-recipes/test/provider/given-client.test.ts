import { startEmbeddedZooKeeper } from "@holdfast/test-servers";
import zookeeper, { type Client } from "node-zookeeper-client";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "../../src/index.js";

async function startServer(): ReturnType<typeof startEmbeddedZooKeeper> {
  const server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  return server;
}

function locksOf(options: ZooKeeperLocksOptions): ZooKeeperLocks {
  const locks = zookeeperLocks({ connectTimeoutMs: 5_000, ...options });
  onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
  return locks;
}

function clientOf(connect: string): Client {
  const client = zookeeper.createClient(connect, { sessionTimeout: 6_000 });
  onTestFinished(() => client.close());
  client.connect();
  return client;
}

describe("a given client with a chroot", () => {
  test("excludes those who connect with the same chroot, on the same nodes", async () => {
    const server = await startServer();
    server.operator.create("/app");
    const connect = `${server.connectString}/app`;
    const byClient = locksOf({ client: clientOf(connect) });
    const byString = locksOf({ connect });
    const handle = await byClient.mutex("orders").acquire();
    expect(server.operator.getChildren("/")).not.toContain("holdfast");
    expect(await byString.mutex("orders").tryAcquire()).toBeNull();
    const { held } = await byString.mutex("orders").inspect();
    expect(held.map(({ token }) => token)).toEqual([handle.token]);
    await handle.release();
    await using second = await byString.mutex("/absolute").acquire();
    expect(second.state).toBe("held");
    expect(await byClient.mutex("/absolute").tryAcquire()).toBeNull();
  });

  test("is refused by name when the chroot does not exist, and makes nothing", async () => {
    const server = await startServer();
    const client = clientOf(`${server.connectString}/missing`);
    const locks = locksOf({ client });
    await expect(locks.mutex("orders").acquire()).rejects.toThrow("the chroot /missing does not exist");
    expect(server.operator.getChildren("/")).toEqual(["zookeeper"]);
  });
});
