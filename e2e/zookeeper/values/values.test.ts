import { BackendError, InvalidArgumentError, LayoutConflictError } from "@holdfast/core";
import { startZooKeeperProxy, type ZooKeeperProxy } from "@holdfast/test-servers";
import { openAcl } from "@holdfast/zk-protocol";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connected, operatorSession } from "../../support/providers.js";
import { type Server, servers } from "../rendezvous/servers.js";

let paths = 0;

for (const { kind, start } of servers) {
  describe(`${kind} ZooKeeper`, () => {
    let server: Server;
    beforeAll(async () => {
      server = await start();
    }, 300_000);
    afterAll(() => server?.stop());

    async function linked(): Promise<{ locks: ZooKeeperLocks; link: ZooKeeperProxy }> {
      const link = await startZooKeeperProxy({ target: server.connectString });
      onTestFinished(() => link.close());
      return { locks: await connected(link.connectString), link };
    }

    async function put(path: string, data: Uint8Array): Promise<void> {
      const operator = await operatorSession(server.connectString);
      const shared = { acl: openAcl, flags: 0 };
      await operator.request("create", { path, data, ...shared });
    }

    async function bytesAt(path: string): Promise<string> {
      const operator = await operatorSession(server.connectString);
      const { data } = await operator.request("getData", { path, watch: false });
      return Buffer.from(data ?? []).toString("hex");
    }

    it("61: the first seed of a shared count wins", async () => {
      const path = `/values/count${paths++}`;
      const [first, second] = [await connected(server.connectString), await connected(server.connectString)];
      expect((await first.sharedCount(path, 6).get()).value).toBe(6);
      expect((await second.sharedCount(path, 7).get()).value).toBe(6);
      expect(await bytesAt(path)).toBe("00000006");
      await second.sharedCount(path, 7).set(-2);
      expect(await bytesAt(path)).toBe("fffffffe");
      expect((await first.sharedCount(path, 6).get()).value).toBe(-2);
    });

    it("61: a shared count is set only where it was not set since it was seen", async () => {
      const path = `/values/try${paths++}`;
      const [first, second] = [await connected(server.connectString), await connected(server.connectString)];
      const seen = await first.sharedCount(path, 1).get();
      expect(await second.sharedCount(path, 1).trySet(seen, 2)).toBe(true);
      expect(await first.sharedCount(path, 1).trySet(seen, 3)).toBe(false);
      const again = await first.sharedCount(path, 1).get();
      expect(again.value).toBe(2);
      expect(again.version).toBeGreaterThan(seen.version);
      expect(await first.sharedCount(path, 1).trySet(again, 3)).toBe(true);
    });

    it("61: what was seen of a node counts for nothing once it was deleted and made again", async () => {
      const path = `/values/again${paths++}`;
      const count = (await connected(server.connectString)).sharedCount(path, 1);
      const seen = await count.get();
      const operator = await operatorSession(server.connectString);
      await operator.request("delete", { path, version: -1 });
      expect(await count.trySet(seen, 2)).toBe(false);
      const anew = await count.get();
      expect(anew.value).toBe(1);
      expect(await count.trySet(seen, 2)).toBe(false);
      expect(await count.trySet(anew, 2)).toBe(true);
    });

    it("61: an observer hears nothing of a mere break of contact, and hears what happened in it", async () => {
      const path = `/values/observe${paths++}`;
      const [{ locks, link }, other] = [await linked(), await connected(server.connectString)];
      const controller = new AbortController();
      const values = locks
        .sharedCount(path, 1)
        .observe({ signal: controller.signal })
        [Symbol.asyncIterator]();
      expect((await values.next()).value?.value).toBe(1);
      const next = values.next();
      let told = false;
      void next.then(() => {
        told = true;
      });
      for (let round = 0; round < 2; round++) {
        await link.setMode("reset");
        await link.setMode("ok");
        await locks.ready();
      }
      // This answer arrives behind everything that the reconnect caused.
      await locks.atomicLong(`${path}a`).get();
      expect(told).toBe(false);
      await link.setMode("reset");
      await other.sharedCount(path, 1).set(5);
      await other.sharedCount(path, 1).set(6);
      await link.setMode("ok");
      expect((await next).value?.value).toBe(6);
      // The iterator yields no value twice, and the abort ends it without an error.
      const last = values.next();
      controller.abort();
      expect(await last).toEqual({ done: true, value: undefined });
    });

    it("61: an observer sees each change that it has time for, and the latest in any case", async () => {
      const path = `/values/latest${paths++}`;
      const [reader, writer] = [await connected(server.connectString), await connected(server.connectString)];
      const value = writer.sharedValue(path, Buffer.from("seed"));
      const seen: string[] = [];
      const versions: bigint[] = [];
      const reading = (async () => {
        for await (const each of reader.sharedValue(path, Buffer.from("other")).observe()) {
          seen.push(Buffer.from(each.value).toString());
          versions.push(each.version);
          if (seen.at(-1) === "end") return;
        }
      })();
      await value.get();
      for (let i = 0; i < 20; i++) await value.set(Buffer.from(String(i)));
      await value.set(Buffer.from("end"));
      await reading;
      expect(new Set(versions).size).toBe(versions.length);
      expect([...versions].sort((a, b) => (a < b ? -1 : 1))).toEqual(versions);
    });

    it("62: data of the wrong size is an error", async () => {
      const { locks } = await linked();
      await put(`/wrong${paths}`, Buffer.from("abc"));
      const path = `/wrong${paths++}`;
      await expect(locks.atomicLong(path).get()).rejects.toBeInstanceOf(LayoutConflictError);
      await expect(locks.atomicLong(path).add(1n)).rejects.toBeInstanceOf(LayoutConflictError);
      await expect(locks.sharedCount(path, 1).get()).rejects.toBeInstanceOf(LayoutConflictError);
      await expect(locks.countDownLatch(path).countDown()).rejects.toBeInstanceOf(LayoutConflictError);
      expect(await bytesAt(path)).toBe(Buffer.from("abc").toString("hex"));
      await put(`/wrong${paths}`, new Uint8Array(0));
      expect(await locks.atomicLong(`/wrong${paths++}`).add(1n)).toBe(1n);
    });

    it("62: a comparison with a number that is not there fails", async () => {
      const path = `/values/absent${paths++}`;
      const long = (await connected(server.connectString)).atomicLong(path);
      expect(await long.get()).toBe(0n);
      expect(await long.compareAndSet(0n, 1n)).toBe(false);
      expect(await long.add(2n)).toBe(2n);
      expect(await long.compareAndSet(1n, 9n)).toBe(false);
      expect(await long.compareAndSet(2n, 9n)).toBe(true);
      expect(await bytesAt(path)).toBe("0000000000000009");
    });

    it("62: a number is set whatever is there", async () => {
      const path = `/values/force${paths++}`;
      const long = (await connected(server.connectString)).atomicLong(path);
      await long.set(42n);
      expect(await bytesAt(path)).toBe("000000000000002a");
      await long.set(-1n);
      expect(await bytesAt(path)).toBe("ffffffffffffffff");
    });

    it("refuses a sum beyond 64 bits and leaves the number alone", async () => {
      const path = `/values/beyond${paths++}`;
      const long = (await connected(server.connectString)).atomicLong(path);
      await long.set(2n ** 63n - 1n);
      await expect(long.add(1n)).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(long.add(2n ** 63n)).rejects.toBeInstanceOf(InvalidArgumentError);
      expect(await long.get()).toBe(2n ** 63n - 1n);
      expect(await long.add(-(2n ** 63n))).toBe(-1n);
    });

    it("62: many clients lose no update", async () => {
      const path = `/values/many${paths++}`;
      const clients = await Promise.all(Array.from({ length: 10 }, () => connected(server.connectString)));
      const each = 20;
      const sums = await Promise.all(
        clients.map(async (locks) => {
          const long = locks.atomicLong(path);
          const own: bigint[] = [];
          for (let i = 0; i < each; i++) own.push(await long.add(1n));
          return own;
        }),
      );
      const all = sums
        .flat()
        .map(Number)
        .sort((a, b) => a - b);
      expect(all).toEqual(Array.from({ length: clients.length * each }, (_, i) => i + 1));
      const burst = clients[0]?.atomicLong(path);
      await Promise.all(Array.from({ length: 50 }, () => burst?.add(-1n)));
      expect(await burst?.get()).toBe(BigInt(clients.length * each - 50));
    });

    it("62: links that break lose no confirmed update and count none twice", async () => {
      const path = `/values/broken${paths++}`;
      const clients = await Promise.all(Array.from({ length: 4 }, () => linked()));
      let confirmed = 0;
      let unknown = 0;
      let cuts = 0;
      const each = 40;
      await Promise.all(
        clients.map(async ({ locks, link }, client) => {
          for (let i = 0; i < each; i++) {
            if (i % 4 === client % 4) {
              link.faults.on({ op: "setData" }, { do: "close", when: i % 8 < 4 ? "applied" : "before" });
              cuts++;
            }
            try {
              await locks.atomicLong(path).add(1n);
              confirmed++;
            } catch (error) {
              expect(error).toBeInstanceOf(BackendError);
              expect((error as BackendError).retryable).toBe(false);
              expect((error as BackendError).message).toMatch(/may or may not have been/);
              unknown++;
            }
          }
        }),
      );
      const { locks } = clients[0] as { locks: ZooKeeperLocks };
      const value = Number(await locks.atomicLong(path).get());
      console.log(`${kind}: ${cuts} cuts, ${confirmed} confirmed, ${unknown} unknown, value ${value}`);
      expect(confirmed + unknown).toBe(clients.length * each);
      expect(unknown).toBeGreaterThan(0);
      expect(value).toBeGreaterThanOrEqual(confirmed);
      expect(value).toBeLessThanOrEqual(confirmed + unknown);
    });
  });
}
