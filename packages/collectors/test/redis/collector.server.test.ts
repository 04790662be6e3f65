import { eventually, type RedisNode, startRedis } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { expectFiguresOfRows } from "../figures.js";
import { collect, lockOn, shown } from "./support.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node.stop());
beforeEach(async () => {
  await node.command("FLUSHALL");
  await node.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
});

const java = "0c1b9c2e-3b0a-4c5d-9e6f-112233445566";

describe("what a collector shows", () => {
  it("shows each kind that holdfast makes, and nothing that is no lock", async () => {
    const locks = await lockOn(node);
    await locks.mutex("x:mutex").acquire();
    await locks.readWriteLock("x:read").read.acquire();
    await locks.readWriteLock("x:write").write.acquire();
    await locks.plainSemaphore("x:semaphore", 3).acquire();
    await locks.plainSemaphore("x:none-left", 1).acquire();
    const permits = locks.permitSemaphore("x:permits");
    await permits.setLimit(4);
    await permits.acquire();
    const fair = await locks.fairMutex("x:fair").acquire();
    const waits = locks.fairMutex("x:fair").acquire();
    await locks.leaderElection("x:boss").campaign();
    await node.command("SET", "x:number", "17");
    await node.command("SET", "x:text", "hello");
    await node.command("HSET", "x:hash", "name", "Ada", "mode", "read");
    await node.command("RPUSH", "x:list", "1");
    const { collector } = collect({ url: node.url, patterns: ["x:*"] });
    const boss = "holdfast_election:{x:boss}";
    const fairRow = await shown(collector, "x:fair", ({ waiterCount }) => waiterCount === 1);
    await eventually(() => collector.sources()[0]?.state === "ok", { what: "a whole pass" });
    expect(fairRow).toMatchObject({ kind: "fair-mutex", state: "contended", waiterUnit: "participants" });
    const kinds = Object.fromEntries([...collector.locks()].map(({ key, kind }) => [key, kind]));
    expect(kinds).toEqual({
      "x:mutex": "mutex",
      "x:read": "read-write-lock",
      "x:write": "read-write-lock",
      "x:semaphore": "semaphore",
      "x:none-left": "semaphore",
      "x:permits": "permit-semaphore",
      "x:fair": "fair-mutex",
      [boss]: "leader-election",
    });
    expect(collector.get("x:read")?.holders[0]).toMatchObject({ mode: "shared", library: "holdfast" });
    expect(collector.get("x:write")?.holders[0]).toMatchObject({ mode: "exclusive" });
    expect(collector.get("x:permits")).toMatchObject({ limit: 4, holderCount: 1 });
    // Redis does not know which clients hold permits of a plain semaphore. That some are held shows only once none is left.
    expect(collector.get("x:semaphore")).toMatchObject({ state: "idle", holderCount: 0 });
    expect(collector.get("x:none-left")).toMatchObject({ state: "held", holderCount: 0 });
    expectFiguresOfRows(collector);
    await fair.release();
    await (await waits).release();
    await eventually(() => collector.get("x:fair") === undefined, {
      what: "the free lock to go",
      withinMs: 15_000,
    });
  });

  it("keeps a semaphore of Redisson, which has no key beside its own, over all passes of the scan", async () => {
    await node.command("SET", "x:java", "0");
    const listener = new Redis(node.port);
    onTestFinished(() => listener.disconnect());
    await listener.subscribe("redisson_sc:{x:java}");
    const { collector, events } = collect({ url: node.url, patterns: ["x:*"] });
    await shown(collector, "x:java", ({ state }) => state === "contended");
    await eventually(() => events.filter(({ type }) => type === "pass").length >= 3, {
      what: "three passes",
      withinMs: 20_000,
    });
    expect(collector.get("x:java")).toMatchObject({ kind: "semaphore", state: "contended" });
    expect(events.filter(({ type }) => type === "removed")).toEqual([]);
    await node.command("SET", "x:java", "no number");
    await eventually(() => collector.get("x:java") === undefined, { what: "what is no semaphore to go" });
  });

  it("distinguishes a hold whose lease ran out from one that was given back", async () => {
    const { collector, events } = collect({ url: node.url });
    const keys = ["ends:alone", "ends:given", "ends:crowd"];
    const looking = collector.attend(keys);
    // All three must be seen as held before the first of them ends, also on a busy machine.
    const leaseMs = 4_000;
    await node.command("HSET", "ends:alone", `${java}:1`, "1");
    await node.command("PEXPIRE", "ends:alone", leaseMs);
    await node.command("HSET", "ends:given", `${java}:2`, "1");
    await node.command("PEXPIRE", "ends:given", 60_000);
    await node.command("HSET", "ends:crowd", "mode", "read", `${java}:3`, "1", `${java}:4`, "1");
    await node.command("PEXPIRE", "ends:crowd", leaseMs);
    for (const key of keys) await shown(collector, key, ({ state }) => state === "held");
    // From a third and 1.5 s after this renewal on, any reading shows that the lease is not renewed any more.
    await node.command("PEXPIRE", "ends:alone", 2 * leaseMs);
    await shown(collector, "ends:alone", ({ holders }) => holders[0]?.lease === "renewing");
    await node.command("DEL", "ends:given");
    const ends = () => events.filter((event) => event.type === "released");
    await eventually(() => ends().length === 4, { what: "all ends", withinMs: 20_000 });
    const told = ends().map((event) => (event.type === "released" ? [event.key, event.ranOut] : []));
    expect(told.sort()).toEqual([
      ["ends:alone", true],
      // Several holders share one lease, and it cannot be seen for which of them the lease was last raised.
      ["ends:crowd", false],
      ["ends:crowd", false],
      ["ends:given", false],
    ]);
    looking.end();
  });

  it("gives the moment of a grant of holdfast from its token, and of Redisson none", async () => {
    const locks = await lockOn(node);
    const fromMs = Date.now();
    const handle = await locks.mutex("y:ours").acquire();
    const untilMs = Date.now();
    await node.command("HSET", "y:java", `${java}:1`, "1");
    await node.command("PEXPIRE", "y:java", "30000");
    const { collector } = collect({ url: node.url, patterns: ["y:*"] });
    const ours = await shown(collector, "y:ours");
    expect(ours.oldestHold.provenance).toBe("exact");
    expect(ours.oldestHold.atMs).toBeGreaterThanOrEqual(fromMs - 1);
    expect(ours.oldestHold.atMs).toBeLessThanOrEqual(untilMs + 1);
    expect(ours.token).toBe(String(handle.token));
    const javas = await shown(collector, "y:java");
    expect(javas).toMatchObject({ libraries: ["redisson"], token: null, waiterUnit: "connections" });
    expect(javas.holders[0]).toMatchObject({ session: java, actor: `${java}:1`, token: null });
    expect(javas.oldestHold.provenance).toBe("at-least");
  });

  it("says of a hold whose provider keeps locks that it may be kept, and shows no token that may be only reserved", async () => {
    const keeps = await lockOn(node, { keepMs: 1_000, leaseMs: 30_000 });
    await keeps.mutex("may:be").acquire();
    await keeps.readWriteLock("may:read").read.acquire();
    await keeps.leaderElection("may:lead").campaign();
    await (await lockOn(node)).mutex("may:not").acquire();
    const { collector } = collect({ url: node.url, patterns: ["may:*"] });
    const holderOf = async (key: string) =>
      (await shown(collector, key, ({ state }) => state === "held")).holders[0];
    expect(await holderOf("may:be")).toMatchObject({
      mayBeKept: true,
      token: null,
      since: { provenance: "at-least" },
    });
    for (const key of ["may:read", "may:not", "holdfast_election:{may:lead}"]) {
      expect(await holderOf(key)).toMatchObject({ mayBeKept: false });
    }
    expect((await holderOf("may:not"))?.token).not.toBeNull();
  });

  it("shows a hand-off of an attended row within a second", async () => {
    const locks = await lockOn(node);
    const one = await locks.mutex("hand").acquire();
    const next = locks.mutex("hand").acquire();
    const { collector, events } = collect({ url: node.url, rowsEveryMs: 500 });
    const attention = collector.attend(["hand"]);
    await shown(collector, "hand", ({ waiterCount }) => waiterCount === 1);
    await one.release();
    const two = await next;
    const grantedMs = performance.now();
    // A reading may also have come between the release and the grant.
    await shown(collector, "hand", ({ holders }) => holders[0]?.token === String(two.token));
    expect(performance.now() - grantedMs).toBeLessThan(10_000);
    const told = events.filter(({ type }) => type === "granted" || type === "released");
    expect(told.map(({ type }) => type)).toEqual(["released", "granted"]);
    expect(told[0]).toMatchObject({ key: "hand", heldMs: expect.any(Number) });
    attention.end();
  });

  it("finds a lock by its exact name without any pattern, and says that it does not scan", async () => {
    const locks = await lockOn(node);
    await locks.mutex("lone").acquire();
    const waiting = locks.mutex("lone").acquire({ waitMs: 20_000 });
    waiting.catch(() => {});
    const { collector } = collect({ url: node.url });
    await eventually(() => collector.sources()[1]?.state === "ok", { what: "contact" });
    expect(collector.sources()[0]).toMatchObject({ source: "scan", state: "off" });
    expect(collector.size).toBe(0);
    await eventually(async () => (await collector.detail("lone", { maxWaiters: 10 }))?.waiters.length === 1, {
      what: "the waiter",
    });
    expect(await collector.detail("lone", { maxWaiters: 10 })).toMatchObject({
      holderCount: 1,
      waiters: [{ position: 0, library: "holdfast" }],
    });
    expect(await collector.detail("nobody", { maxWaiters: 10 })).toBeNull();
    await node.command("HSET", "{lone}:java", `${java}:1`, "1");
    const explained = async (key: string) =>
      (await collector.detail(key, { maxWaiters: 10 }))?.explain.join();
    expect(await explained("lone")).toContain("waiting since");
    // This lock has no queue, although its name contains the name of one that has.
    expect(await explained("{lone}:java")).not.toContain("waiting since");
  });

  it("names clients that say who they are, and no others", async () => {
    const known = await lockOn(node, { identity: true });
    const unknown = await lockOn(node);
    await known.mutex("who:1").acquire();
    await unknown.mutex("who:2").acquire();
    const { collector } = collect({ url: node.url, patterns: ["who:*"] });
    collector.attend(["who:1", "who:2"]);
    const row = await shown(collector, "who:1", ({ holders }) => holders[0]?.identity !== null);
    expect(row.holders[0]?.identity).toMatchObject({ pid: process.pid, host: expect.any(String) });
    const other = await shown(collector, "who:2", ({ state }) => state === "held");
    expect(other.holders[0]?.identity).toBeNull();
    // Before the channels are read for the first time, it is not known whether a client is connected.
    const states = async () => (await collector.sessions()).map(({ holds, state }) => ({ holds, state }));
    await expect.poll(states, { timeout: 30_000 }).toEqual([
      { holds: ["who:1"], state: "connected" },
      { holds: ["who:2"], state: "connected" },
    ]);
    const [record] = ((await node.command("KEYS", "hf:client:*")) as string[]).sort();
    expect(Number(await node.command("PTTL", record ?? ""))).toBeGreaterThan(60_000);
  });

  it("reports locks without a TTL, mixed kinds, dead queues, tokens that went back, and unsafe eviction", async () => {
    await node.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    await node.command("HSET", "f:forever", `${java}:1`, "1");
    await node.command("HSET", "f:mixed", `${java}:1`, "1", `${java}:2`, "1");
    await node.command("PEXPIRE", "f:mixed", "60000");
    await node.command("RPUSH", "redisson_lock_queue:{f:queue}", `${java}:3`);
    await node.command("ZADD", "redisson_lock_timeout:{f:queue}", "1", `${java}:3`);
    const locks = await lockOn(node);
    const held = await locks.mutex("f:token").acquire();
    const { collector } = collect({ url: node.url, patterns: ["f:*"] });
    const kinds = (): string[] =>
      collector
        .findings()
        .map(({ kind, object }) => `${kind} ${object}`)
        .sort();
    await shown(collector, "f:token");
    await node.command("SET", "redisson_lock_token:{f:token}", String((held.token ?? 1n) - 1n));
    await collector.servers();
    await eventually(() => kinds().length === 5, {
      what: "five findings",
      withinMs: 15_000,
      detail: () => kinds().join(),
    });
    expect(kinds()).toEqual([
      `eviction-policy 127.0.0.1:${node.port}`,
      "mixed-kinds f:mixed",
      "no-lease f:forever",
      "queue-without-holder f:queue",
      "token-regressed f:token",
    ]);
  });

  it("says of a dead server that what it shows is stale, keeps that, and comes back", async () => {
    const own = await startRedis();
    try {
      await own.command("HSET", "d:1", `${java}:1`, "1");
      const { collector } = collect({ url: own.url, patterns: ["d:*"] });
      await shown(collector, "d:1");
      await own.kill();
      await eventually(() => collector.sources().every(({ state }) => state === "stale"), {
        what: "every source to be stale",
        withinMs: 15_000,
        detail: () => JSON.stringify(collector.sources()),
      });
      expect([...new Set(collector.sources().map(({ message }) => message))]).toEqual([
        "no contact with Redis: connecting again",
      ]);
      expect(collector.get("d:1")).toBeDefined();
      expect((await collector.servers())[0]).toMatchObject({ reachable: false });
      await expect(collector.detail("d:1", { maxWaiters: 1 })).rejects.toThrow();
      await own.restart();
      await own.command("HSET", "d:2", `${java}:1`, "1");
      await shown(collector, "d:2", () => true, 15_000);
    } finally {
      await own.stop();
    }
  });

  it("names the right that is missing, and goes on without it", async () => {
    await node.command(
      "ACL",
      "SETUSER",
      "viewer",
      "on",
      ">secret",
      "~*",
      "resetchannels",
      "+@read",
      "+@connection",
      "+info",
      "+time",
      "+multi",
      "+exec",
      "-scan",
      "-pubsub",
    );
    await node.command("HSET", "acl:1", `${java}:1`, "1");
    const { collector } = collect({
      url: node.url,
      username: "viewer",
      password: "secret",
      patterns: ["acl:*"],
    });
    await eventually(
      () =>
        collector
          .sources()
          .slice(0, 2)
          .every(({ state }) => state === "denied"),
      {
        what: "scan and pubsub to be denied",
        detail: () => JSON.stringify(collector.sources()),
      },
    );
    expect(collector.sources()[0]?.message).toContain("+scan");
    const detail = await collector.detail("acl:1", { maxWaiters: 1 });
    expect(detail).toMatchObject({ holderCount: 1, waiterUnit: "hidden" });
    // The collector may not count channels. So it does not know whether a client listens on its own channel.
    await (await lockOn(node)).mutex("acl:2").acquire();
    collector.attend(["acl:2"]);
    await shown(collector, "acl:2", ({ holderCount }) => holderCount === 1);
    expect(await collector.sessions()).toContainEqual(
      expect.objectContaining({ holds: ["acl:2"], state: "unknown" }),
    );
  });
});
