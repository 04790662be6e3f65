import { InvalidArgumentError } from "@holdfast/core";
import { eventually, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { CreateFlags } from "@holdfast/zk-protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ours, stock } from "./clients-under-test.js";
import { stockClient } from "./stock-client.js";
import { createRequest, open, outcomeOf } from "./support.js";

let server: ZooKeeperNode;
let paths = 0;
const freshPath = (): string => {
  paths += 1;
  return `/stock-facts-${paths}`;
};

beforeAll(async () => {
  server = await startZooKeeper({ containerCheckIntervalMs: 300 });
});

afterAll(() => server.stop());

const wishes = { sessionTimeoutMs: 9_000 };

/** The stock library must show each defect. Otherwise its absence in our session proves nothing. */
describe("what a real server makes of the library and of us:", () => {
  test("a node created by stock with the container's flag stays when it is empty, ours is reaped", async () => {
    const [theirs, mine] = [freshPath(), freshPath()];
    const { client, connected } = stockClient(server.connectString, wishes);
    const session = open(server.connectString);
    await Promise.all([connected(), session.whenConnected()]);
    const created = await new Promise((resolve) =>
      client.create(theirs, Buffer.from(""), CreateFlags.container, (error) => resolve(error)),
    );
    expect(created).toBeFalsy();
    await session.request("createContainer", createRequest(mine, CreateFlags.container));
    // The library's node is emptied first. So the server's round that deletes our node has seen the library's node too.
    for (const parent of [theirs, mine]) {
      await session.request("create2", createRequest(`${parent}/child`));
      await session.request("delete", { path: `${parent}/child`, version: -1 });
    }
    const exists = async (path: string): Promise<boolean> =>
      (await outcomeOf(session, "exists", { path, watch: false })).ok;
    await eventually(async () => !(await exists(mine)), { what: "the container to be reaped" });
    expect(await exists(theirs)).toBe(true);
    const { stat } = await session.request("exists", { path: theirs, watch: false });
    expect(stat.ephemeralOwner).toBe(0n);
  });

  describe("a sync", () => {
    test("is no method of stock, and loses the connection and the callback when sent as a request", async () => {
      const { client } = stockClient(server.connectString, wishes);
      expect(client).not.toHaveProperty("sync");
      const connected = await stock(server.connectString, wishes);
      expect(await connected.raw("sync", "/", 500)).toBe(null);
    });
    test("is answered to us", async () => {
      const client = await ours(server.connectString, wishes);
      expect(await client.raw("sync", "/")).toBe("ok");
    });
  });

  describe("setData with null, as the typings allow it", () => {
    test("is a TypeError with stock", async () => {
      const { client, connected } = stockClient(server.connectString, wishes);
      await connected();
      expect(() => client.setData("/", null, () => {})).toThrow(TypeError);
    });
    test("leaves the node without data with us", async () => {
      const session = open(server.connectString);
      await session.whenConnected();
      const path = freshPath();
      await session.request("create2", createRequest(path, 0, "x"));
      await session.request("setData", { path, data: null, version: -1 });
      expect((await session.request("getData", { path, watch: false })).data).toBe(null);
    });
  });

  describe("data of 1,048,576 bytes", () => {
    const data = "x".repeat(1_048_576);

    test("loses stock its connection, with whatever else is under way", async () => {
      const { client, states, connected } = stockClient(server.connectString, wishes);
      await connected();
      const ended: string[] = [];
      const name = (error: unknown): string => (error ? (error as { getName(): string }).getName() : "ok");
      await new Promise<void>((resolve) => {
        client.create(freshPath(), Buffer.from(data), (error) => ended.push(name(error)));
        client.exists("/", (error) => {
          ended.push(name(error));
          resolve();
        });
      });
      expect(ended).toEqual(["CONNECTION_LOSS", "CONNECTION_LOSS"]);
      expect(states).toContain("DISCONNECTED");
    });

    test("is refused by us at once, and the connection kept", async () => {
      const session = open(server.connectString);
      await session.whenConnected();
      const refuse = (): void => session.send("create2", createRequest(freshPath(), 0, data), () => {});
      expect(refuse).toThrow(InvalidArgumentError);
      expect((await outcomeOf(session, "exists", { path: "/", watch: false })).ok).toBe(true);
      expect(session.connection).toBe(1);
    });
  });
});
