import { BackendError } from "@holdfast/core";
import {
  eventually,
  type FaultMatch,
  startZooKeeperProxy,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { connected } from "../../support/providers.js";
import { type Server, servers } from "../rendezvous/servers.js";

let paths = 0;

/** The error that a caller gets for a write whose outcome is unknown. */
const unknown = { name: "BackendError", retryable: false, message: expect.stringMatching(/may or may not/) };

for (const { kind, start } of servers) {
  describe(`${kind} ZooKeeper, a write whose answer is lost`, () => {
    let server: Server;
    let link: ZooKeeperProxy;
    let locks: ZooKeeperLocks;
    let other: ZooKeeperLocks;
    let path: string;

    beforeAll(async () => {
      server = await start();
      link = await startZooKeeperProxy({ target: server.connectString });
    }, 300_000);
    afterAll(async () => {
      await link?.close();
      await server?.stop();
    });
    beforeEach(async () => {
      link.clearRules();
      path = `/lost/v${paths++}`;
      locks = await connected(link.connectString);
      other = await connected(server.connectString);
    });

    /** Breaks the link at the write, before or after it was applied, and keeps it broken while `meanwhile` runs. */
    async function breakAt(
      op: NonNullable<FaultMatch["op"]>,
      when: "before" | "applied",
      meanwhile: () => Promise<unknown>,
    ): Promise<void> {
      const fault = link.faults.on({ op, path }, { do: "close", when });
      await fault.reached();
      const refusal = link.faults.refuseConnections();
      await meanwhile();
      refusal.release();
    }

    it("is sent again when nothing was written, and counts once", async () => {
      const long = locks.atomicLong(path);
      await long.add(1n);
      const [sum] = await Promise.all([long.add(10n), breakAt("setData", "before", async () => {})]);
      expect(sum).toBe(11n);
      expect(await other.atomicLong(path).get()).toBe(11n);
    });

    it("is unknown when the very number is there that it would have written", async () => {
      const long = locks.atomicLong(path);
      await long.add(1n);
      const adding = expect(long.add(10n)).rejects.toMatchObject(unknown);
      await breakAt("setData", "applied", async () => {});
      await adding;
      // The server applied the add, and the client did not send it again.
      expect(await other.atomicLong(path).get()).toBe(11n);
    });

    it("is as unknown when it was another client that wrote that number", async () => {
      const long = locks.atomicLong(path);
      await long.add(1n);
      const adding = expect(long.add(10n)).rejects.toMatchObject(unknown);
      await breakAt("setData", "before", () => other.atomicLong(path).add(10n));
      await adding;
      expect(await other.atomicLong(path).get()).toBe(11n);
    });

    it("goes on with what another client wrote, where that proves that ours was not applied", async () => {
      const long = locks.atomicLong(path);
      await long.add(1n);
      const [sum] = await Promise.all([
        long.add(10n),
        breakAt("setData", "before", () => other.atomicLong(path).add(5n)),
      ]);
      expect(sum).toBe(16n);
    });

    it("is unknown when it may lie under what others wrote after it", async () => {
      const long = locks.atomicLong(path);
      await long.add(1n);
      const adding = expect(long.add(10n)).rejects.toMatchObject(unknown);
      await breakAt("setData", "applied", async () => {
        await eventually(async () => (await other.atomicLong(path).get()) === 11n, { what: "ours" });
        await other.atomicLong(path).add(5n);
      });
      await adding;
      expect(await other.atomicLong(path).get()).toBe(16n);
    });

    it("is judged in the same way where it makes the node", async () => {
      // Makes the path's parents. Without them the client would send the create twice.
      await locks.atomicLong(`${path}x`).set(0n);
      const adding = expect(locks.atomicLong(path).add(10n)).rejects.toMatchObject(unknown);
      await breakAt("create2", "applied", async () => {});
      await adding;
      expect(await other.atomicLong(path).get()).toBe(10n);
      path = `/lost/v${paths++}`;
      const [sum] = await Promise.all([
        locks.atomicLong(path).add(10n),
        breakAt("create2", "before", async () => {}),
      ]);
      expect(sum).toBe(10n);
    });

    it("of a countdown takes the count down once or says that it does not know", async () => {
      const latch = locks.countDownLatch(path);
      await latch.trySetCount(5);
      const [left] = await Promise.all([latch.countDown(), breakAt("setData", "before", async () => {})]);
      expect(left).toBe(4);
      const lost = expect(latch.countDown()).rejects.toMatchObject(unknown);
      await breakAt("setData", "applied", async () => {});
      await lost;
      expect(await other.countDownLatch(path).count()).toBe(3);
    });

    it("of a versioned set is no success and no failure", async () => {
      const count = locks.sharedCount(path, 1);
      const trying = count.get().then((seen) => expect(count.trySet(seen, 2)).rejects.toMatchObject(unknown));
      await breakAt("setData", "applied", async () => {});
      await trying;
      const seen = await count.get();
      const [set] = await Promise.all([count.trySet(seen, 3), breakAt("setData", "before", async () => {})]);
      expect(set).toBe(true);
      const last = await count.get();
      const [passedOver] = await Promise.all([
        count.trySet(last, 4),
        breakAt("setData", "before", () => other.sharedCount(path, 1).set(9)),
      ]);
      expect(passedOver).toBe(false);
      expect((await other.sharedCount(path, 1).get()).value).toBe(9);
    });

    it("of a plain set is done when the value is there, and never sent over what others wrote since", async () => {
      const count = locks.sharedCount(path, 1);
      await count.get();
      await Promise.all([count.set(2), breakAt("setData", "applied", async () => {})]);
      await Promise.all([count.set(3), breakAt("setData", "before", async () => {})]);
      expect((await other.sharedCount(path, 1).get()).value).toBe(3);
      const setting = expect(count.set(4)).rejects.toMatchObject(unknown);
      await breakAt("setData", "applied", async () => {
        await eventually(async () => (await other.sharedCount(path, 1).get()).value === 4, { what: "ours" });
        await other.sharedCount(path, 1).set(9);
      });
      await setting;
      expect((await other.sharedCount(path, 1).get()).value).toBe(9);
      // A view that has never read the node cannot know whether anything was written since.
      const fresh = expect(locks.sharedCount(path, 1).set(5)).rejects.toBeInstanceOf(BackendError);
      await breakAt("setData", "before", async () => {});
      await fresh;
    });

    it("of a seed is read back, whichever client planted it", async () => {
      await locks.atomicLong(`${path}x`).set(0n);
      const [seen] = await Promise.all([
        locks.sharedCount(path, 6).get(),
        breakAt("create2", "applied", async () => {}),
      ]);
      expect(seen.value).toBe(6);
    });
  });
}
