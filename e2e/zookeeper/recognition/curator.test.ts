import { eventually, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";
import type { ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type CuratorClient,
  curatorVersions,
  type JavaPeer,
  startJavaPeer,
} from "../../support/curator/java-peer.js";
import { operatorSession } from "../../support/providers.js";
import { Records } from "./recorded.js";

/** Of the versions under test, only 5.4 puts the node of a read under the own write at the tail of the queue. */
const hasOldDowngrade = (version: string): boolean => version.startsWith("5.4");

describe.each(await curatorVersions())("from a bare tree of Curator %s is recognised", (version) => {
  let server: ZooKeeperNode;
  let java: JavaPeer;
  let session: ZooKeeperSession;
  /** Three clients, each with its own session. */
  let a: CuratorClient;
  let b: CuratorClient;
  let c: CuratorClient;
  const waits: Promise<unknown>[] = [];
  const records = new Records(`curator-${version}`);

  beforeAll(async () => {
    server = await startZooKeeper();
    java = await startJavaPeer({ curator: version });
    const connect = server.connectString;
    [a, b, c] = await Promise.all([
      java.connect({ connect }),
      java.connect({ connect }),
      java.connect({ connect }),
    ]);
  }, 300_000);
  afterAll(async () => {
    // These acquires still wait when the peer ends; their rejections mean nothing.
    for (const wait of waits) wait.catch(() => {});
    await java?.kill();
    await server?.stop();
    records.save();
  });
  beforeEach(async () => {
    session = await operatorSession(server.connectString);
  });

  async function childrenAre(path: string, count: number): Promise<void> {
    const what = `${count} children of ${path}`;
    await eventually(async () => (await childrenOf(session, path)) === count, { what });
  }

  /** Starts a waiter and waits until its node is there. */
  async function queued(path: string, count: number, work: () => Promise<unknown>): Promise<void> {
    waits.push(work());
    await childrenAre(path, count);
  }

  it("a mutex with two waiters", async () => {
    const path = "/t/mutex";
    await (await a.mutex(path)).acquire();
    const [second, third] = [await b.mutex(path), await c.mutex(path)];
    await queued(path, 2, () => second.acquire());
    await queued(path, 3, () => third.acquire());
    await records.check("mutex", session, path);
  });

  it("a writer that reads, with readers and a writer behind it, and what is left once it has dropped the write", async () => {
    const path = "/t/downgrade";
    const [first, second, third] = [
      await a.readWriteLock(path, Buffer.from("payload")),
      await b.readWriteLock(path),
      await c.readWriteLock(path),
    ];
    await first.acquire("write");
    await queued(path, 2, () => second.acquire("read"));
    await queued(path, 3, () => third.acquire("write"));
    await first.acquire("read");
    const { findings } = await records.check("downgrade", session, path);
    expect(findings.map(({ type }) => type)).toEqual(
      hasOldDowngrade(version) ? ["possible-old-downgrade"] : [],
    );
    await first.release("write");
    await childrenAre(path, 3);
    const after = await records.check("downgraded", session, path);
    // A known gap with 5.4: once the write is gone, nothing in the tree shows that the read at the tail is held.
    expect(after.holders).toHaveLength(hasOldDowngrade(version) ? 1 : 2);
  });

  it("two readers with a writer and a reader behind them", async () => {
    const path = "/t/readers";
    const locks = [await a.readWriteLock(path), await b.readWriteLock(path), await c.readWriteLock(path)];
    await locks[0]?.acquire("read");
    await locks[1]?.acquire("read");
    await queued(path, 3, () => locks[2]?.acquire("write") as Promise<boolean>);
    await queued(path, 4, () => locks[0]?.acquire("read", { thread: "other" }) as Promise<boolean>);
    await records.check("readers", session, path);
  });

  it("a semaphore with a waiter that has a lease already, and one behind it", async () => {
    const path = "/t/semaphore";
    const [first, second, third] = [
      await a.semaphore(path, 2),
      await b.semaphore(path, 2),
      await c.semaphore(path, 2),
    ];
    await first.setNodeData(Buffer.from("job-1"));
    await first.acquireSeveral(2);
    waits.push(second.acquire());
    await childrenAre(`${path}/leases`, 3);
    await queued(`${path}/locks`, 2, () => third.acquire());
    await records.check("semaphore", session, path);
    await records.check("leases", session, `${path}/leases`);
  });

  it("a semaphore mutex with a waiter", async () => {
    const path = "/t/semaphore-mutex";
    await (await a.semaphoreMutex(path)).acquire();
    const second = await b.semaphoreMutex(path);
    waits.push(second.acquire());
    await childrenAre(`${path}/leases`, 2);
    await records.check("semaphore-mutex", session, path);
  });

  it("a leader latch, with the ids of its participants", async () => {
    const path = "/t/latch";
    const ids = ["id-A", "", "192.0.2.1"];
    for (const [at, client] of [a, b, c].entries()) {
      await (await client.leaderLatch(path, ids[at] as string)).start();
      await childrenAre(path, at + 1);
    }
    await records.check("latch", session, path);
  });

  it("a leader selector, which has the look of a mutex", async () => {
    const path = "/t/selector";
    for (const [at, id] of ["sel-A", ""].entries()) {
      await (await (at === 0 ? a : b).leaderSelector(path, id)).start();
      await childrenAre(path, at + 1);
    }
    await records.check("selector", session, path);
  });

  it("barriers, set, filling and full", async () => {
    await (await a.barrier("/t/barrier")).set();
    await records.check("barrier", session, "/t/barrier");
    const path = "/t/double";
    const [first, second] = [await a.doubleBarrier(path, 2), await b.doubleBarrier(path, 2)];
    waits.push(first.enter());
    await childrenAre(path, 1);
    await records.check("filling", session, path);
    await second.enter();
    await records.check("full", session, path);
  });

  it("numbers, by their length", async () => {
    await (await a.sharedCount("/t/count", 6)).start();
    await records.check("count", session, "/t/count");
    const long = await a.atomicLong("/t/long");
    await long.forceSet(42n);
    await records.check("long", session, "/t/long");
  });
});

/** The number of children; 0 while the path does not exist. */
async function childrenOf(session: ZooKeeperSession, path: string): Promise<number> {
  const request = { path, watch: false };
  return session.request("getChildren2", request).then(
    ({ children }) => children.length,
    (error: Error) => {
      if (error instanceof ZooKeeperError && error.code === errorCodes.NoNode) return 0;
      throw error;
    },
  );
}
