import {
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import type { ZooKeeperLocks, ZooKeeperLocksOptions } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { connected } from "../../support/providers.js";

export let server: ZooKeeperNode;
/** Counts what `locks` sends. */
export let proxy: ZooKeeperProxy;
export let locks: ZooKeeperLocks;
/** Connects to the server directly. */
export let other: ZooKeeperLocks;
/** The path of the current test alone; its parents exist. */
export let path: string;

/** Gives a test file the values above: one server and one proxy for all of its tests, two new clients and a new path for each. */
export function setTheStage(root: string, options: ZooKeeperLocksOptions = {}): void {
  let paths = 0;
  beforeAll(async () => {
    server = await startZooKeeper({ maxClientCnxns: 0 });
    proxy = await startZooKeeperProxy({ target: server.connectString });
  });
  afterAll(async () => {
    await proxy?.close();
    await server?.stop();
  });
  beforeEach(async () => {
    locks = await connected(proxy.connectString, options);
    other = await connected(server.connectString);
    path = `${root}/l${paths++}`;
    // Makes the parents. A container that has had a child stays for longer than a test.
    await (await other.mutex(`${path}-first`).acquire()).release();
    proxy.reset();
  });
}
