import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll } from "vitest";
import { standard } from "./standard.js";

let server: EmbeddedZooKeeper;
beforeAll(async () => {
  server = await startEmbeddedZooKeeper();
});
afterAll(() => server?.stop());

standard("ZooKeeper", async () => {
  const locks = zookeeperLocks({ connect: server.connectString });
  await locks.ready();
  return locks;
});
