import { type EmbeddedZooKeeper, eventually, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { webLocks } from "../src/index.js";
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

test("a request that steals from a holder that ends by itself in that moment keeps the lock, and its callback is called once", async () => {
  const [one, other] = [
    zookeeperLocks({ connect: server.connectString }),
    zookeeperLocks({ connect: server.connectString }),
  ];
  onTestFinished(async () => void (await Promise.all([one.close(), other.close()])));
  await Promise.all([one.ready(), other.ready()]);
  const path = "/holdfast/web-locks%2Fmoment";
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let release = (): void => {};
  const asked = new Promise<void>((resolve) => {
    release = resolve;
  });
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const holding = webLocks(other).request("moment", () => {
    begin();
    return ended;
  });
  // From its grant on the holder lists no more. A listing of its own would be counted below as one of the thief's.
  await begun;
  // The thief lists three times: for its queue node, for the steal's look, and to see which holder it should ask.
  const asking = server.faults.on({ op: "getChildren2", path, nth: 3 }, { do: "hold" });
  let calls = 0;
  const stealing = webLocks(one).request("moment", { steal: true }, async (lock) => {
    calls += 1;
    await asked;
    // If the thief lost its lock, that would be known by the time these reads are answered.
    for (let looks = 0; looks < 3; looks++) await one.readWriteLock("web-locks/moment").inspect();
    return lock.lost.aborted;
  });
  await asking.reached();
  end();
  await holding;
  await eventually(() => server.operator.exists(path)?.numChildren === 1, { what: "the steal alone" });
  asking.release();
  release();
  expect(await stealing).toBe(false);
  expect(calls).toBe(1);
});
