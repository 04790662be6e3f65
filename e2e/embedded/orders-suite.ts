// A user's test suite under node:test, with the kit as it is installed and the locks that it is made for.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { zkTestServer } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";

describe("orders", () => {
  const zk = zkTestServer({ hooks: { before, after, afterEach }, tickTimeMs: 100 });

  test("go one at a time, also when an answer gets lost", async () => {
    await using locks = zookeeperLocks({ connect: zk.connectString, sessionTimeoutMs: 2_000 });
    const lost = zk.faults.on(
      { op: ["create", "create2"], path: /lock-$/ },
      { do: "close", when: "applied" },
    );
    const order: string[] = [];
    const work = async (who: string): Promise<void> => {
      order.push(who);
      await new Promise(setImmediate);
      order.push(who);
    };
    await Promise.all(["a", "b", "c"].map((who) => locks.mutex("orders").withLock(() => work(who))));
    assert.equal(lost.hits.length, 1);
    assert.equal(order.length, 6);
    for (let at = 0; at < 6; at += 2) assert.equal(order[at], order[at + 1]);
    // The hook must heal this pause, or the next test would wait for ever.
    zk.pause();
  });

  test("stop when the session of their holder ends", async () => {
    await using locks = zookeeperLocks({ connect: zk.connectString, sessionTimeoutMs: 2_000 });
    const handle = await locks.mutex("orders").acquire();
    const lost = new Promise((resolve) => handle.lost.addEventListener("abort", resolve, { once: true }));
    zk.expireSession();
    await lost;
    assert.throws(() => handle.assertHeld());
    assert.deepEqual(
      zk.nodes("/holdfast/orders").filter(({ owner }) => owner !== 0n),
      [],
    );
  });
});

test("one without hooks is there when it was awaited", async () => {
  await using zk = await zkTestServer();
  assert.match(zk.connectString, /^127\.0\.0\.1:\d+$/);
});
