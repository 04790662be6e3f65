// Tests against a ZooKeeper that runs inside the test process: no Java, no container.
//
//   npx vitest run embedded-zookeeper

import { zkTestServer } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Stock } from "./stock.mjs";

describe("the stock on ZooKeeper", () => {
  const zk = zkTestServer({ hooks: { beforeAll, afterAll, afterEach } });
  const replica = () => zookeeperLocks({ connect: zk.connectString });

  test("two replicas do not both sell the last item", async () => {
    const [here, there] = [replica(), replica()];
    const left = new Map([["apple", 1]]);
    const sold = await Promise.all(
      [here, there].map((locks) => new Stock(locks, left, async () => {}).sell("apple")),
    );
    expect(sold.sort()).toEqual([false, true]);
    await Promise.all([here.close(), there.close()]);
  });

  test("when the session of a holder ends, it learns that, and the next replica gets the lock", async () => {
    const here = replica();
    const lock = await here.mutex("stock/apple").acquire();
    zk.expireSession(); // ends the only client's session, as after an outage that was longer than the session
    const there = replica();
    const next = await there.mutex("stock/apple").acquire({ waitMs: 5_000 });
    await expect.poll(() => lock.state).toBe("lost");
    expect(next.token).toBeGreaterThan(lock.token);
    await Promise.all([here.close(), there.close()]);
  });
});
