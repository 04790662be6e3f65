import { eventually, startZooKeeper, startZooKeeperProxy, type ZooKeeperNode } from "@holdfast/test-servers";
import { CreateFlags, type MultiOp } from "@holdfast/zk-protocol";
import zookeeper from "node-zookeeper-client";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { managerOf } from "../../src/client/library.js";
import { adoptSession } from "../../src/session/open-session.js";
import { createRequest, open, outcomeOf, runtime } from "./support.js";

let server: ZooKeeperNode;
let paths = 0;

beforeAll(async () => {
  server = await startZooKeeper();
});
afterAll(() => server.stop());

const guid = "01234567-89ab-cdef-0123-456789abcdef";

const step = (path: string, flags: number): MultiOp => ({
  op: "create2",
  request: createRequest(path, flags),
});

test.each([
  ["answered", false],
  ["whose answer was lost", true],
] as const)(
  "deletes the nodes of a transaction %s once the lease is over, and leaves what lasts",
  async (_title, lost) => {
    const proxy = await startZooKeeperProxy({ target: server.connectString });
    onTestFinished(() => proxy.close());
    const admin = open(server.connectString);
    await admin.whenConnected();
    const client = zookeeper.createClient(proxy.connectString, { sessionTimeout: 4_000 });
    const connected = new Promise<void>((resolve) => client.once("connected", resolve));
    client.connect();
    await connected;
    onTestFinished(() => {
      const manager = managerOf(client);
      manager.connect = () => {};
      manager.socket?.destroy();
    });
    let aheadMs = 0;
    const session = adoptSession(client, {
      runtime: { ...runtime, nowMs: () => performance.now() + aheadMs },
    });
    await session.whenConnected();
    const base = `/adopted-multi-${paths++}`;
    await session.request("create2", createRequest(base));
    const names = async (): Promise<string[]> =>
      [...(await admin.request("getChildren", { path: base, watch: false })).children].sort();
    if (lost) {
      proxy.dropReply({ op: "multi", thenCut: true });
      await proxy.setMode("refuse");
    }
    const ops = [
      step(`${base}/_c_${guid}-lease-`, CreateFlags.ephemeralSequential),
      step(`${base}/lasting`, CreateFlags.persistent),
      step(`${base}/_c_${guid.replace("0", "f")}-lease-`, CreateFlags.ephemeralSequential),
    ];
    const outcome = await outcomeOf(session, "multi", { ops });
    expect(outcome.ok).toBe(!lost);
    expect(await names()).toHaveLength(3);
    aheadMs = 10_000;
    await eventually(() => session.state === "lost", { what: "the end of the lease" });
    await proxy.setMode("ok");
    await eventually(async () => (await names()).length === 1, { what: "our nodes to go" });
    expect(await names()).toEqual(["lasting"]);
    expect(client.getState()).toBe(zookeeper.State.SYNC_CONNECTED);
    await session.close();
  },
);

test("a transaction that was refused leaves nothing to be deleted", async () => {
  const client = zookeeper.createClient(server.connectString, { sessionTimeout: 4_000 });
  const connected = new Promise<void>((resolve) => client.once("connected", resolve));
  client.connect();
  await connected;
  onTestFinished(() => client.close());
  const session = adoptSession(client, { runtime });
  await session.whenConnected();
  const ops = [step("/nowhere/at/all", CreateFlags.ephemeral)];
  const { results } = await session.request("multi", { ops });
  expect(results).toMatchObject([{ op: "error" }]);
  await session.close({ waitMs: 5_000 });
  expect(client.getState()).toBe(zookeeper.State.SYNC_CONNECTED);
});
