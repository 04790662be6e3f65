import {
  eventually,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connected } from "../../support/providers.js";
import { share } from "../../support/share.js";
import { Operator } from "./operator.js";

let server: ZooKeeperNode;
let proxy: ZooKeeperProxy;

beforeAll(async () => {
  server = await startZooKeeper({ containerCheckIntervalMs: 1 });
  proxy = await startZooKeeperProxy({ target: server.connectString, traceLimit: 1_000 });
});
afterAll(async () => {
  await proxy.close();
  await server.stop();
});

describe("a lock's path", () => {
  it("vanishes after use, with its parents, and is made again by the next acquire", async () => {
    const operator = await Operator.connect(server.connectString);
    const locks = await connected(server.connectString);
    const tokens: bigint[] = [];
    for (let round = 0; round < 3; round++) {
      const handle = await locks.mutex("/gone/after/use").acquire();
      tokens.push(handle.token as bigint);
      await handle.release();
      await eventually(async () => !(await operator.exists("/gone")), {
        what: "the empty containers to be removed",
      });
    }
    // When the path is made anew, its sequence numbers start again; the fencing token does not.
    expect([...tokens].sort((a, b) => (a < b ? -1 : 1))).toEqual(tokens);
    expect(new Set(tokens).size).toBe(3);
  });

  it("vanishes with the namespace above it, and without what was there before", async () => {
    const operator = await Operator.connect(server.connectString);
    await operator.create("/app", { data: "somebody's" });
    await operator.create("/app/locks");
    const locks = await connected(`${server.connectString}/app`, { namespace: "team" });
    const [first, second] = [
      await locks.mutex("orders/42").acquire(),
      await locks.mutex("/locks/x").acquire(),
    ];
    expect(await operator.children("/app/team")).toEqual(expect.arrayContaining(["holdfast", "locks"]));
    await Promise.all([first.release(), second.release()]);
    await eventually(async () => !(await operator.exists("/app/team")), {
      what: "the namespace to be removed",
    });
    const plain = await connected(`${server.connectString}/app`);
    await (await plain.mutex("/locks/y").acquire()).release();
    await eventually(async () => (await operator.children("/app/locks")).length === 0, {
      what: "the lock's path to be removed",
    });
    expect((await operator.read("/app")).data).toBe("somebody's");
    expect(await operator.exists("/app/locks")).toBe(true);
  });

  it("may vanish at any moment of a hot loop", async () => {
    const pairs = share("pairs on a path that keeps vanishing", 250, 20_000);
    const locks = await connected(proxy.connectString);
    proxy.reset();
    for (let pair = 0; pair < pairs; pair++) {
      const handle = await locks.mutex("/hot/loop").acquire({ waitMs: 10_000 });
      expect(await handle.release()).toBe("released");
    }
    const made = proxy.counts().byOp.createContainer ?? 0;
    console.log(`${pairs} pairs while the server removes empty paths: ${made} containers made`);
    // The server removed at least one container during the loop. Otherwise the test would have shown nothing.
    expect(made).toBeGreaterThan(4);
  }, 900_000);

  it("may vanish while several sessions come and go, and still excludes them", async () => {
    const rounds = share("rounds of three sessions on a path that keeps vanishing", 40, 2_000);
    const providers = await Promise.all([1, 2, 3].map(() => connected(proxy.connectString)));
    let inside = 0;
    let most = 0;
    await Promise.all(
      providers.map(async (locks) => {
        for (let round = 0; round < rounds; round++) {
          await locks.mutex("/hot/together").withLock({ waitMs: 20_000 }, async (lock) => {
            most = Math.max(most, ++inside);
            await lock.confirm();
            inside--;
          });
        }
      }),
    );
    expect(most).toBe(1);
  }, 900_000);
});
