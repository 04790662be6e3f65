import { eventually, type RedisNode, startRedis } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { LockAction, LockCollector } from "../../src/index.js";
import { collect, lockOn } from "./support.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node.stop());

const java = "0c1b9c2e-3b0a-4c5d-9e6f-112233445566";

async function look(collector: LockCollector, key: string) {
  return eventually(() => collector.detail(key, { maxWaiters: 50 }).catch(() => null), {
    what: `the lock ${key}`,
  });
}

function request(
  action: LockAction,
  key: string,
  expectedVersion: string,
  more: { entry?: string | null; dryRun?: boolean } = {},
) {
  return { action, key, expectedVersion, entry: null, dryRun: false, ...more };
}

/** The kinds of lock of which a hold by holdfast can be freed. */
const kinds = ["mutex", "fair", "read", "write", "election"] as const;

describe("what an operator may do", () => {
  it.each(kinds)("frees a %s by force, notifies its holder, and lets the next one in", async (kind) => {
    const locks = await lockOn(node);
    const name = `force:${kind}`;
    const take = () =>
      kind === "mutex"
        ? locks.mutex(name).acquire()
        : kind === "fair"
          ? locks.fairMutex(name).acquire()
          : kind === "election"
            ? locks.leaderElection(name).campaign()
            : kind === "read"
              ? locks.readWriteLock(name).read.acquire()
              : locks.readWriteLock(name).write.acquire();
    const handle = await take();
    const next = kind === "read" ? locks.readWriteLock(name).write.acquire() : take();
    const { collector } = collect({ url: node.url });
    const key = kind === "election" ? `holdfast_election:{${name}}` : name;
    const seen = await look(collector, key);
    const entry = seen.holders[0]?.entry ?? "";

    const dry = await collector.act(request("force-release", key, seen.version, { dryRun: true, entry }));
    expect(dry).toMatchObject({ outcome: "would-do", before: { version: seen.version } });
    expect(dry.effects.join(" ")).toContain("stolen");
    expect(handle.state).toBe("held");
    expect((await look(collector, key)).version).toBe(seen.version);

    const done = await collector.act(request("force-release", key, seen.version, { entry }));
    expect(done).toMatchObject({ outcome: "done", endedHolds: [entry] });
    await eventually(() => handle.state === "lost", { what: "the holder to be told" });
    expect((await next).state).toBe("held");
    const again = await collector.act(request("force-release", key, seen.version));
    expect(again).toMatchObject({ outcome: "conflict" });
    expect((await next).state).toBe("held");
  });

  it("does nothing when the lock has gone to another between the look and the act", async () => {
    const locks = await lockOn(node);
    const first = await locks.mutex("moved").acquire();
    const second = locks.mutex("moved").acquire();
    const { collector } = collect({ url: node.url });
    const seen = await look(collector, "moved");
    await first.release();
    const handle = await second;
    for (const action of ["force-release", "request-revoke"] as const) {
      const done = await collector.act(request(action, "moved", seen.version));
      expect(done).toMatchObject({ outcome: "conflict", after: null });
      expect(done.before?.version).not.toBe(seen.version);
    }
    expect(handle.state).toBe("held");
    expect(await node.command("HLEN", "moved")).toBe(1);
  });

  it("asks a holder of holdfast to let go, and refuses for Redisson, which would not hear", async () => {
    const locks = await lockOn(node);
    const handle = await locks.mutex("ask:ours").acquire({ revocable: true });
    await node.command("HSET", "ask:java", `${java}:1`, "1");
    const { collector } = collect({ url: node.url });
    const ours = await look(collector, "ask:ours");
    expect(await collector.act(request("request-revoke", "ask:ours", ours.version))).toMatchObject({
      outcome: "done",
    });
    await eventually(() => handle.revokeRequested.aborted, { what: "the wish" });
    const javas = await look(collector, "ask:java");
    for (const dryRun of [true, false]) {
      const told = await collector.act(request("request-revoke", "ask:java", javas.version, { dryRun }));
      expect(told.outcome).toBe("unsupported");
    }
  });

  it("says of a Redisson holder that it is not notified, and publishes what wakes Redisson's waiters", async () => {
    await node.command("HSET", "wake", `${java}:1`, "1");
    const listener = new Redis(node.port);
    onTestFinished(() => listener.disconnect());
    const heard: string[] = [];
    listener.on("message", (_channel, message: string) => heard.push(message));
    await listener.subscribe("redisson_lock__channel:{wake}");
    const { collector } = collect({ url: node.url });
    const seen = await look(collector, "wake");
    const dry = await collector.act(request("force-release", "wake", seen.version, { dryRun: true }));
    expect(dry.outcome).toBe("would-do");
    const done = await collector.act(request("force-release", "wake", seen.version));
    expect(done.effects.join(" ")).toContain("NOT notified");
    await eventually(() => heard.length > 0, { what: "the message" });
    expect(heard).toEqual(["0"]);
    expect(await node.command("EXISTS", "wake")).toBe(0);
  });

  it("frees a lock under more readers than its row shows, and says whose holds it has ended", async () => {
    const fields = Array.from({ length: 7 }, (_, at) => `${java}:${at + 1}`);
    await node.command("HSET", "readers", "mode", "read", ...fields.flatMap((field) => [field, "1"]));
    const { collector } = collect({ url: node.url });
    const seen = await look(collector, "readers");
    const [entry = ""] = fields;
    const done = await collector.act(request("force-release", "readers", seen.version, { entry }));
    expect(done.outcome).toBe("done");
    expect(done.before?.holders).toHaveLength(5);
    expect([...(done.endedHolds ?? [])].sort()).toEqual(fields);
  });

  it("gives back a permit by its id, once", async () => {
    const locks = await lockOn(node);
    const permits = locks.permitSemaphore("pool");
    await permits.setLimit(2);
    await permits.acquire();
    await permits.acquire();
    const { collector } = collect({ url: node.url });
    const seen = await look(collector, "pool");
    expect(seen).toMatchObject({ limit: 2, holderCount: 2 });
    const [one, two] = seen.holders.map(({ entry }) => entry);
    const give = (dryRun: boolean) =>
      collector.act(request("force-release", "pool", seen.version, { entry: one ?? "", dryRun }));
    expect((await give(true)).outcome).toBe("would-do");
    expect(await node.command("GET", "pool")).toBe("0");
    expect(await give(false)).toMatchObject({ outcome: "done", endedHolds: [one] });
    expect((await give(false)).outcome).toBe("conflict");
    expect(await node.command("GET", "pool")).toBe("1");
    expect((await look(collector, "pool")).holders.map(({ entry }) => entry)).toEqual([two]);
  });

  it("sends a waiter to the tail, and no other", async () => {
    const locks = await lockOn(node, { heartbeatMs: 1_000, aliveMs: 5_000 });
    const handle = await locks.mutex("evict").acquire();
    const order: number[] = [];
    const turn = async (number: number): Promise<void> => {
      const own = await locks.mutex("evict").acquire();
      order.push(number);
      await own.release();
    };
    const { collector } = collect({ url: node.url });
    const turns: Promise<void>[] = [];
    for (const number of [1, 2, 3]) {
      turns.push(turn(number));
      await eventually(async () => (await look(collector, "evict")).waiters.length === number, {
        what: "the place",
      });
    }
    const seen = await look(collector, "evict");
    const entry = seen.waiters[0]?.entry ?? "";
    const evict = (dryRun: boolean) =>
      collector.act(request("evict-waiter", "evict", seen.version, { entry, dryRun }));
    const ofNone = request("evict-waiter", "evict", seen.version, { entry: "", dryRun: false });
    expect((await collector.act(ofNone)).outcome).toBe("unsupported");
    expect((await look(collector, "evict")).waiters).toEqual(seen.waiters);
    expect((await evict(true)).outcome).toBe("would-do");
    expect((await look(collector, "evict")).waiters[0]?.entry).toBe(entry);
    expect((await evict(false)).outcome).toBe("done");
    await eventually(async () => (await look(collector, "evict")).waiters.at(-1)?.entry === entry, {
      what: "the tail",
    });
    await handle.release();
    await Promise.all(turns);
    expect(order).toEqual([2, 3, 1]);
    expect((await evict(false)).outcome).toBe("nothing-there");
  });

  it("takes dead entries out of a fair queue, leaves the live, and notifies the next", async () => {
    const [dead, live] = [`${java}:1`, `${java}:2`];
    const queue = "redisson_lock_queue:{orphan}";
    const deadlines = "redisson_lock_timeout:{orphan}";
    await node.command("RPUSH", queue, dead, live);
    await node.command("ZADD", deadlines, "1", dead, String(Date.now() + 600_000), live);
    const { collector } = collect({ url: node.url });
    const seen = await look(collector, "orphan");
    expect(seen).toMatchObject({ kind: "fair-mutex", holderCount: 0, waiterCount: 2 });
    const listener = new Redis(node.port);
    onTestFinished(() => listener.disconnect());
    const heard: string[] = [];
    listener.on("message", (_channel, message: string) => heard.push(message));
    await listener.subscribe(`redisson_lock__channel:{orphan}:${live}`);
    const clean = (dryRun: boolean) =>
      collector.act(request("clean-orphan", "orphan", seen.version, { dryRun }));
    const dry = await clean(true);
    expect(dry).toMatchObject({ outcome: "would-do" });
    expect(dry.effects[0]).toContain("…:1");
    expect(dry.effects[0]).not.toContain("…:2");
    expect(await node.command("LLEN", queue)).toBe(2);
    expect(heard).toEqual([]);
    expect((await clean(false)).outcome).toBe("done");
    await eventually(() => heard.length > 0, { what: "the message" });
    expect(heard).toEqual(["0"]);
    expect(await node.command("LRANGE", queue, 0, -1)).toEqual([live]);
    expect(await node.command("ZRANGE", deadlines, 0, -1)).toEqual([live]);
    expect((await clean(false)).outcome).toBe("nothing-there");
  });

  it("leaves a live waiter of holdfast in a fair queue though its deadline is over, as grants in Java take time off it", async () => {
    const [dead, ours] = [`${java}:1`, "0c1b9c2e-3b0a-8c5d-9e6f-112233445566:3"];
    const queue = "redisson_lock_queue:{late}";
    await node.command("RPUSH", queue, dead, ours);
    await node.command("ZADD", "redisson_lock_timeout:{late}", "1", dead, "1", ours);
    await node.command("ZADD", "holdfast_alive:{late}", String(Date.now() + 60_000), ours);
    const { collector } = collect({ url: node.url });
    const seen = await look(collector, "late");
    expect((await collector.act(request("clean-orphan", "late", seen.version))).outcome).toBe("done");
    expect(await node.command("LRANGE", queue, 0, -1)).toEqual([ours]);
  });

  it("gives no permit back when permits were taken or given back since that was decided", async () => {
    const locks = await lockOn(node);
    const permits = locks.permitSemaphore("pool:busy");
    await permits.setLimit(3);
    await permits.acquire();
    const { collector } = collect({ url: node.url });
    const seen = await look(collector, "pool:busy");
    const entry = seen.holders[0]?.entry ?? "";
    const other = await permits.acquire();
    const give = (version: string, dryRun: boolean) =>
      collector.act(request("force-release", "pool:busy", version, { entry, dryRun }));
    for (const dryRun of [true, false])
      expect(await give(seen.version, dryRun)).toMatchObject({ outcome: "conflict", after: null });
    expect(await node.command("GET", "pool:busy")).toBe("1");
    await other.release();
    // As many permits are free and taken as before, but not the same ones: one was taken and given back meanwhile.
    expect((await give(seen.version, false)).outcome).toBe("conflict");
    expect(await node.command("GET", "pool:busy")).toBe("2");
    const again = await look(collector, "pool:busy");
    expect((await give(again.version, true)).outcome).toBe("would-do");
    expect((await give(again.version, false)).outcome).toBe("done");
    expect(await node.command("GET", "pool:busy")).toBe("3");
  });

  it("a dry run for a permit that is not there is a conflict as well", async () => {
    const locks = await lockOn(node);
    const permits = locks.permitSemaphore("pool:gone");
    await permits.setLimit(1);
    await permits.acquire();
    const { collector } = collect({ url: node.url });
    const seen = await look(collector, "pool:gone");
    const done = await collector.act(
      request("force-release", "pool:gone", seen.version, { entry: "0".repeat(32), dryRun: true }),
    );
    expect(done.outcome).toBe("conflict");
  });

  it("asks no holder for permits when they are not out as they were", async () => {
    const locks = await lockOn(node);
    const semaphore = locks.plainSemaphore("permits:ask", 3);
    const held = await semaphore.acquire({ revocable: true });
    const { collector } = collect({ url: node.url });
    const seen = await look(collector, "permits:ask");
    await semaphore.acquire();
    const ask = (version: string, dryRun: boolean) =>
      collector.act(request("request-revoke", "permits:ask", version, { dryRun }));
    for (const dryRun of [true, false]) expect((await ask(seen.version, dryRun)).outcome).toBe("conflict");
    const again = await look(collector, "permits:ask");
    expect((await ask(again.version, true)).outcome).toBe("would-do");
    expect(held.revokeRequested.aborted).toBe(false);
    expect((await ask(again.version, false)).outcome).toBe("done");
    await eventually(() => held.revokeRequested.aborted, { what: "the wish" });
  });

  it("evicts no waiter when the lock has gone to another since that was decided", async () => {
    const locks = await lockOn(node);
    const first = await locks.mutex("evict:moved").acquire();
    const second = locks.mutex("evict:moved").acquire();
    const third = locks.mutex("evict:moved").acquire();
    const { collector } = collect({ url: node.url });
    await eventually(async () => (await look(collector, "evict:moved")).waiters.length === 2, {
      what: "the queue",
    });
    const seen = await look(collector, "evict:moved");
    await first.release();
    const handle = await second;
    const entry = (await look(collector, "evict:moved")).waiters[0]?.entry ?? "";
    expect(seen.waiters.map((each) => each.entry)).toContain(entry);
    for (const dryRun of [true, false]) {
      const done = await collector.act(
        request("evict-waiter", "evict:moved", seen.version, { entry, dryRun }),
      );
      expect(done).toMatchObject({ outcome: "conflict", after: null });
    }
    expect((await look(collector, "evict:moved")).waiters.map((each) => each.entry)).toEqual([entry]);
    await handle.release();
    await (await third).release();
  });

  it("cleans nothing when a client has got the lock since that was decided", async () => {
    const queue = "redisson_lock_queue:{orphan:moved}";
    await node.command("RPUSH", queue, `${java}:1`);
    await node.command("ZADD", "redisson_lock_timeout:{orphan:moved}", "1", `${java}:1`);
    const { collector } = collect({ url: node.url });
    const seen = await look(collector, "orphan:moved");
    await node.command("HSET", "orphan:moved", `${java}:2`, "1");
    const done = await collector.act(request("clean-orphan", "orphan:moved", seen.version));
    expect(done.outcome).toBe("conflict");
    expect(await node.command("LLEN", queue)).toBe(1);
  });

  it("says what it cannot do", async () => {
    const locks = await lockOn(node);
    await locks.plainSemaphore("plain", 2).acquire();
    const { collector } = collect({ url: node.url });
    const seen = await look(collector, "plain");
    expect(seen.kind).toBe("semaphore");
    expect((await collector.act(request("force-release", "plain", seen.version))).outcome).toBe(
      "unsupported",
    );
    expect((await collector.act(request("force-release", "absent", "x"))).outcome).toBe("nothing-there");
  });
});
