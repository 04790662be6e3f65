import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ContentionLog } from "../interop/contention-log.js";
import { behind } from "../interop/gate.js";
import {
  type CuratorClient,
  curatorVersions,
  type JavaPeer,
  startJavaPeer,
} from "../support/curator/java-peer.js";
import { share } from "../support/share.js";
import { startTarget, type Target, targetNames } from "./target.js";

const withinMs = 55_000;

describe.each(await curatorVersions())("Curator %s", (curator) => {
  let left: JavaPeer;
  let right: JavaPeer;

  beforeAll(async () => {
    [left, right] = await Promise.all([startJavaPeer({ curator }), startJavaPeer({ curator })]);
    console.log(`Curator ${left.curatorVersion}`);
  });

  afterAll(async () => {
    await Promise.all([left?.close(), right?.close()]);
  });

  describe.each(targetNames)("with %s", (name) => {
    let target: Target;
    let mine: CuratorClient;
    let theirs: CuratorClient;

    beforeAll(async () => {
      target = await startTarget(name);
      const connect = target.connectString;
      [mine, theirs] = await Promise.all([left.connect({ connect }), right.connect({ connect })]);
    });

    afterAll(async () => {
      await Promise.all([left.closeClients(), right.closeClients()]);
      await target?.[Symbol.asyncDispose]();
    });

    /** Two clients in each of the two processes. */
    async function four(): Promise<CuratorClient[]> {
      const connect = target.connectString;
      return [mine, theirs, ...(await Promise.all([left.connect({ connect }), right.connect({ connect })]))];
    }

    it("InterProcessMutex: excludes, queues, and is granted when the session of the holder ends", async () => {
      const path = "/curator/mutex/turns";
      const victim = await right.connect({ connect: target.connectString });
      const holder = await victim.mutex(path);
      const held = await holder.acquire();
      expect(held?.path).toMatch(/^\/curator\/mutex\/turns\/_c_[0-9a-f-]{36}-lock-0000000000$/);
      const waiter = await mine.mutex(path);
      expect(await waiter.acquire({ waitMs: 0 })).toBeNull();
      const queued = waiter.acquire();
      await expect.poll(() => waiter.participants()).toHaveLength(2);
      const lost = victim.untilState("LOST", 20_000);
      await target.expire(await victim.session());
      const next = await queued;
      expect(next?.czxid).toBeGreaterThan(held?.czxid ?? 0n);
      await lost;
      expect(await waiter.participants()).toEqual([next?.path]);
      await waiter.release();
      expect(await waiter.participants()).toEqual([]);
    });

    it("InterProcessMutex: loses no update of a file that only it protects", async () => {
      const total = share(`grants of Curator ${left.curatorVersion}'s mutex on ${name}`, 60, 1_000);
      await using log = await ContentionLog.start();
      const contention = { path: "/curator/mutex/count", ...log.files, grants: total / 4 };
      const clients = await four();
      const holder = await mine.mutex(contention.path);
      await holder.acquire();
      const gate = {
        queued: async () => (await holder.participants()).length - 1,
        open: () => holder.release(),
      };
      await behind(
        gate,
        clients.map((client, at) => client.contend({ ...contention, label: `java-${at}` }, withinMs)),
      );
      const grants = await log.expectOrderly(total);
      const handOvers = grants.filter(({ label }, at) => at > 0 && label !== grants[at - 1]?.label).length;
      expect(handOvers, "they did meet").toBeGreaterThan(total / 10);
    });

    it("InterProcessSemaphoreV2: grants as many leases as there are, and the next when one comes back", async () => {
      const path = "/curator/semaphore/turns";
      const [ours, others] = await Promise.all([mine.semaphore(path, 2), theirs.semaphore(path, 2)]);
      const first = await ours.acquire();
      const second = await others.acquire();
      expect(new Set(await ours.leases())).toEqual(new Set([first, second]));
      expect(await others.acquire({ waitMs: 50 })).toBeNull();
      await expect.poll(() => ours.leases()).toHaveLength(2);
      const queued = others.acquire();
      await expect.poll(() => ours.leases()).toHaveLength(3);
      await ours.release(first ?? "");
      const third = await queued;
      expect(new Set(await ours.leases())).toEqual(new Set([second, third]));
      await Promise.all([second, third].map((lease) => others.release(lease ?? "")));
      expect(await ours.leases()).toEqual([]);
    });

    it("InterProcessSemaphoreV2: never has more holders than leases, and uses them all", async () => {
      const total = share(`leases of Curator ${left.curatorVersion}'s semaphore on ${name}`, 36, 600);
      await using log = await ContentionLog.start();
      const maxLeases = 2;
      const folder = await folderBeside(log);
      const contention = { path: "/curator/semaphore/count", maxLeases, folder, grants: total / 4 };
      const clients = await four();
      const seen = await Promise.all(
        clients.map((client, at) =>
          client.contendSemaphore({ ...contention, label: `java-${at}` }, withinMs),
        ),
      );
      expect(Math.max(...seen.map(({ mostHolders }) => mostHolders))).toBe(maxLeases);
      expect(await (await mine.semaphore(contention.path, maxLeases)).leases()).toEqual([]);
    });

    it("InterProcessReadWriteLock: lets readers share, and a writer stand alone", async () => {
      const path = "/curator/read-write/turns";
      const [a, b, c] = await Promise.all([
        mine.readWriteLock(path),
        theirs.readWriteLock(path),
        theirs.readWriteLock(path),
      ]);
      expect(await a.acquire("read")).toBe(true);
      expect(await b.acquire("read")).toBe(true);
      expect(await c.acquire("write", { waitMs: 50 })).toBe(false);
      await expect.poll(() => a.participants()).toHaveLength(2);
      let written = false;
      const writer = c.acquire("write").then((granted) => {
        written = granted;
      });
      await expect.poll(() => a.participants()).toHaveLength(3);
      // A reader does not overtake a waiting writer.
      const late = await mine.readWriteLock(path);
      expect(await late.acquire("read", { waitMs: 50 })).toBe(false);
      await a.release("read");
      expect(written).toBe(false);
      await b.release("read");
      await writer;
      expect(written).toBe(true);
      expect(await a.acquire("read", { waitMs: 50 })).toBe(false);

      // The writer becomes a reader: other readers get in as soon as the write lock is released.
      expect(await c.acquire("read")).toBe(true);
      const reader = a.acquire("read");
      await c.release("write");
      expect(await reader).toBe(true);
      await Promise.all([a.release("read"), c.release("read")]);
      expect(await a.participants()).toEqual([]);
    });

    it("InterProcessReadWriteLock: loses no update, and no reader sees one being made", async () => {
      const total = share(`grants of Curator ${left.curatorVersion}'s read-write lock on ${name}`, 48, 960);
      await using log = await ContentionLog.start();
      const folder = await folderBeside(log);
      const { counterFile } = log.files;
      const contention = {
        path: "/curator/read-write/count",
        counterFile,
        folder,
        turns: total / 4,
        writeEvery: 4,
      };
      const clients = await four();
      const seen = await Promise.all(
        clients.map((client, at) =>
          client.contendReadWrite({ ...contention, label: `java-${at}` }, withinMs),
        ),
      );
      const writes = seen.reduce((sum, { writes: count }) => sum + count, 0);
      expect(writes).toBe(total / 4);
      expect(Number(await readFile(counterFile, "utf8")), "counter").toBe(writes);
      expect(Math.max(...seen.map(({ mostReaders }) => mostReaders)), "readers did meet").toBeGreaterThan(1);
      expect(await (await mine.readWriteLock(contention.path)).participants()).toEqual([]);
    });

    it("CuratorCache and plain watches: tell of every change, also of those made while they were cut off", async () => {
      const path = "/curator/cache";
      const client = await right.connect({ connect: target.droppable });
      await mine.put(`${path}/a`, "1");
      const { changes } = await client.cache(path);
      const told = (...last: string[]): Promise<void> =>
        expect.poll(() => changes.slice(-last.length).sort(), { timeout: 15_000 }).toEqual(last);
      await told(`NODE_CREATED ${path} `, `NODE_CREATED ${path}/a 1`);
      await mine.put(`${path}/a`, "2");
      await told(`NODE_CHANGED ${path}/a 2`);
      await mine.put(`${path}/b/c`, "3");
      await told(`NODE_CREATED ${path}/b `, `NODE_CREATED ${path}/b/c 3`);
      await mine.delete(`${path}/b/c`);
      await told(`NODE_DELETED ${path}/b/c 3`);

      const plain = "/curator/watched";
      for (const node of ["deleted", "changed", "same"]) await mine.put(`${plain}/${node}`, "");
      for (const node of ["deleted", "changed", "same"]) await client.watch("data", `${plain}/${node}`);
      await client.watch("exists", `${plain}/created`);
      await client.watch("children", plain);
      await client.watch("tree", "/curator/watched-tree");

      await target.cutOff([await client.session()]);
      await expect.poll(() => client.states, { timeout: 15_000 }).toContain("SUSPENDED");
      const before = changes.length;
      await mine.put(`${path}/a`, "4");
      await mine.delete(`${path}/b`);
      await mine.put(`${path}/d`, "5");
      await mine.delete(`${plain}/deleted`);
      await mine.put(`${plain}/changed`, "!");
      await mine.put(`${plain}/created`, "!");
      expect(client.watched).toEqual([]);
      expect(changes).toHaveLength(before);
      await target.heal();
      await told(`NODE_CHANGED ${path}/a 4`, `NODE_CREATED ${path}/d 5`, `NODE_DELETED ${path}/b `);
      expect(changes).toHaveLength(before + 3);
      const missed = [
        `${plain} NodeChildrenChanged`,
        `${plain}/changed NodeDataChanged`,
        `${plain}/created NodeCreated`,
        `${plain}/deleted NodeDeleted`,
      ];
      await expect.poll(() => [...client.watched].sort(), { timeout: 15_000 }).toEqual(missed);
      expect(client.states).not.toContain("LOST");
      // Nodes that did not change are still watched, now on the client's present connection.
      await mine.put(`${plain}/same`, "!");
      await expect.poll(() => client.watched.slice(4)).toEqual([`${plain}/same NodeDataChanged`]);
      await mine.put("/curator/watched-tree/a", "!");
      await mine.put("/curator/watched-tree/a", "!!");
      const below = ["", "/a"].map((name) => `/curator/watched-tree${name} NodeCreated`);
      const all = [...below, "/curator/watched-tree/a NodeDataChanged"];
      await expect.poll(() => client.watched.slice(5)).toEqual(all);
      await mine.delete(`${path}/d`);
      await told(`NODE_DELETED ${path}/d 5`);
    });
  });
});

async function folderBeside(log: ContentionLog): Promise<string> {
  const folder = join(dirname(log.files.logFile), "holders");
  await mkdir(folder);
  return folder;
}
