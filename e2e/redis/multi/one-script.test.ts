import type { LockHandle, MultiHandle, Mutex } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import {
  eventually,
  type RedisCluster,
  type RedisProxy,
  startRedis,
  startRedisCluster,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";

const server = new OneServer();
const java = "8b7b9e7c-5d6e-4f6e-9a47-2b0c3c1a7d11:54";

/** Three names of one test. `mutexes` takes them in the reverse order. */
function three(what: string): readonly [string, string, string] {
  const name = server.name(what);
  return [`${name}:a`, `${name}:b`, `${name}:c`];
}

const mutexes = (locks: RedisLocks, names: readonly string[]): Mutex[] =>
  [...names].reverse().map((name) => locks.mutex(name));
const held = async (names: readonly string[]): Promise<number> => await server.number("EXISTS", ...names);

/** The scripts that were sent. Probes and subscriptions do not count, since no caller waits for them. */
function scriptsOver(link: RedisProxy): { readonly scripts: number; readonly flights: number } {
  const sent = link.trace.filter(({ kind, name }) => kind === "command" && name.startsWith("EVAL"));
  return {
    scripts: sent.length,
    flights: new Set(sent.map(({ connection, flight }) => `${connection} ${flight}`)).size,
  };
}

describe("several mutexes on one server", () => {
  it("that are free are taken by one script in one round trip, and look like plain locks to other clients", async () => {
    const { locks, link } = await server.linked({ leaseMs: 30_000 });
    const names = three("free");
    // The first run of a script sends its text.
    await (await multiLock(mutexes(locks, three("warm"))).acquire()).release();
    link.reset();
    const handle = await multiLock(mutexes(locks, names)).acquire();
    expect(scriptsOver(link)).toEqual({ scripts: 1, flights: 1 });
    expect(handle.parts.map(({ name }) => name)).toEqual(names);
    const owners = new Set<string>();
    for (const [i, name] of names.entries()) {
      const [[owner = ""] = [], counts] = [
        await server.texts("HKEYS", name),
        await server.texts("HVALS", name),
      ];
      expect(counts).toEqual(["1"]);
      owners.add(owner);
      const leftMs = await server.number("PTTL", name);
      expect(leftMs).toBeGreaterThan(20_000);
      expect(leftMs).toBeLessThanOrEqual(30_000);
      const token = (handle.parts[i] as LockHandle).token;
      expect(await server.node.command("GET", `redisson_lock_token:{${name}}`)).toBe(String(token));
      const { held: holders } = await locks.mutex(name).inspect();
      expect(holders.map(({ backendId }) => backendId)).toEqual([owner]);
    }
    expect(owners.size).toBe(3);
    link.reset();
    expect(await handle.release()).toBe("released");
    // No release waits for the answer to another.
    expect(scriptsOver(link)).toEqual({ scripts: 3, flights: 1 });
    expect(await held(names)).toBe(0);
  });

  it.each(["first", "second", "third"] as const)(
    "are not taken, and nothing is written, when the %s is held and the caller does not wait",
    async (which) => {
      const locks = await server.locks();
      const names = three("taken");
      const taken = names[["first", "second", "third"].indexOf(which)] as string;
      await server.node.command("HSET", taken, java, 1);
      await server.node.command("PEXPIRE", taken, 60_000);
      expect(await multiLock(mutexes(locks, names)).tryAcquire()).toBeNull();
      const keys = await server.texts("KEYS", `*${names[0].slice(0, -2)}*`);
      expect(keys).toEqual([taken]);
      expect(await server.texts("HKEYS", taken)).toEqual([java]);
      await server.node.command("DEL", taken);
      await (await multiLock(mutexes(locks, names)).acquire()).release();
    },
  );

  it("are waited for one by one in their order, with no place in any queue behind that", async () => {
    const locks = await server.locks();
    const other = await server.locks();
    const names = three("waits");
    const holder = await other.mutex(names[1]).acquire();
    const waiting = multiLock(mutexes(locks, names)).acquire({ waitMs: 20_000 });
    await server.untilLong(`holdfast_waiters:{${names[1]}}`, 1);
    expect(await held([names[0]])).toBe(1);
    expect(await server.number("EXISTS", `holdfast_waiters:{${names[2]}}`)).toBe(0);
    const last = await other.mutex(names[2]).acquire({ waitMs: 5_000 });
    await last.release();
    await holder.release();
    const handle = await waiting;
    await handle.confirm();
    expect(await handle.release()).toBe("released");
    expect(await held(names)).toBe(0);
  });

  it("do not pass a waiter of ours in the queue of one of them while it is free", async () => {
    const locks = await server.locks();
    const names = three("line");
    const now = await server.nowMs();
    const waiter = "11111111-1111-8111-a111-111111111111:1";
    await server.node.command("RPUSH", `holdfast_waiters:{${names[2]}}`, `${waiter} 30000`);
    await server.node.command("ZADD", `holdfast_alive:{${names[2]}}`, now + 60_000, waiter);
    expect(await multiLock(mutexes(locks, names)).tryAcquire()).toBeNull();
    expect(await held(names)).toBe(0);
    // The waiter has now been silent for too long.
    await server.node.command("ZADD", `holdfast_alive:{${names[2]}}`, 1, waiter);
    await (await multiLock(mutexes(locks, names)).acquire()).release();
  });

  it("are refused for good where one of the keys is no lock, and none of the others is touched", async () => {
    const locks = await server.locks();
    const names = three("foreign");
    await server.node.command("SET", names[2], "data");
    const error = await multiLock(mutexes(locks, names))
      .acquire({ waitMs: 5_000 })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "HF_LAYOUT_CONFLICT", lockName: names[2] });
    await server.node.command("DEL", names[2]);
    await server.node.command("SET", `holdfast_waiters:{${names[1]}}`, "data");
    const beside = await multiLock(mutexes(locks, names))
      .acquire({ waitMs: 5_000 })
      .catch((reason: unknown) => reason);
    expect(beside).toMatchObject({ code: "HF_LAYOUT_CONFLICT" });
    expect(await held(names)).toBe(0);
  });

  it("whose answer is lost are given back and asked for again, and nothing of the first request is left", async () => {
    const { locks, link } = await server.linked({ leaseMs: 30_000 });
    const names = three("lost");
    await (await multiLock(mutexes(locks, three("warm"))).acquire()).release();
    const rule = link.dropReply({ name: ["EVAL", "EVALSHA"], key: names[0] });
    const handle = await multiLock(mutexes(locks, names)).acquire({ waitMs: 20_000 });
    expect(rule.hits).toHaveLength(1);
    await handle.confirm();
    for (const name of names) expect(await server.texts("HKEYS", name)).toHaveLength(1);
    expect(await handle.release()).toBe("released");
    expect(await held(names)).toBe(0);
  });

  it("that are aborted while the script is under way leave nothing", async () => {
    const { locks, link } = await server.linked({ leaseMs: 30_000 });
    const names = three("aborted");
    await (await multiLock(mutexes(locks, three("warm"))).acquire()).release();
    const answer = link.holdReply({ name: "EVALSHA", key: names[0] });
    const controller = new AbortController();
    const waiting = multiLock(mutexes(locks, names)).acquire({ waitMs: 20_000, signal: controller.signal });
    const aborted = expect(waiting).rejects.toThrow("enough");
    await eventually(async () => (await held(names)) === 3, { what: "the script to have run" });
    controller.abort(new Error("enough"));
    answer.release();
    await aborted;
    await eventually(async () => (await held(names)) === 0, { what: "all to be given back" });
    expect(locks.holds()).toEqual([]);
  });

  it("are asked to let go through any one of them", async () => {
    const locks = await server.locks();
    const other = await server.locks();
    const names = three("revoked");
    const handle = await multiLock(mutexes(locks, names)).acquire({ revocable: true });
    expect(await other.mutex(names[1]).requestRevoke()).toBe(true);
    await eventually(() => handle.revokeRequested.aborted, { what: "the wish to be heard" });
    await handle.release();
  });

  it("wait for replicas as a single grant does, and are given back where too few have them", async () => {
    const replica = await startRedis();
    await replica.command("REPLICAOF", server.node.host, server.node.port);
    onTestFinished(() => replica.stop());
    const locks = redisLocks({
      url: server.node.url,
      leaseMs: 30_000,
      replicas: 1,
      acks: 1,
      waitTimeoutMs: 300,
    });
    onTestFinished(async () => {
      await locks.close({ releaseTimeoutMs: 500 });
    });
    const names = three("acks");
    const all = multiLock(mutexes(locks, names));
    await eventually(
      async () =>
        await all.acquire({ waitMs: 1_000 }).then(
          async (handle) => (await handle.release()) === "released",
          () => false,
        ),
      { what: "a grant that the replica has", withinMs: 20_000 },
    );
    // The replica stays connected, but applies no writes.
    await replica.pause();
    try {
      await expect(all.tryAcquire()).rejects.toThrow("0 of 1 replicas have it");
      expect(await held(names)).toBe(0);
    } finally {
      await replica.resume();
    }
  });
});

describe("several mutexes in a cluster", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster({ masters: 3, replicas: 0, clientProxies: true });
  }, 300_000);
  afterAll(() => cluster?.stop());

  async function open(): Promise<RedisLocks> {
    const locks = redisLocks({ cluster: { nodes: cluster.addresses }, heartbeatMs: 300, aliveMs: 1_200 });
    onTestFinished(async () => {
      await locks.close({ releaseTimeoutMs: 500 });
    });
    await locks.ready();
    return locks;
  }

  const scripts = (): number =>
    cluster.nodes.reduce((sum, node) => sum + (cluster.proxyOf(node).counts().byName.EVALSHA ?? 0), 0);

  it("are taken by one script for each slot, where they follow each other", async () => {
    const locks = await open();
    const cost = async (names: readonly string[]): Promise<number> => {
      const all = multiLock(mutexes(locks, names));
      // The first run on a node sends the text of the script.
      await (await all.acquire()).release();
      for (const node of cluster.nodes) cluster.proxyOf(node).reset();
      const handle = await all.acquire();
      const count = scripts();
      await handle.release();
      return count;
    };
    expect(await cost(["{x}a", "{x}b", "{x}c"])).toBe(1);
    expect(await cost(["{x}a", "{x}b", "{y}a", "{y}b"])).toBe(2);
    // By name, `b{y}` lies between the two others, so it is taken between them.
    expect(await cost(["a{x}", "b{y}", "c{x}"])).toBe(3);
  });

  it("are asked for until the slot has arrived, while it is on its way with some of the keys", async () => {
    const locks = await open();
    const names = ["{moving}a", "{moving}b", "{moving}c"];
    const all = multiLock(mutexes(locks, names));
    await (await all.acquire()).release();
    const from = await cluster.nodeOfKey("{moving}a");
    const to = cluster.nodes.find((node) => node !== from);
    if (to === undefined) throw new Error("one node alone");
    const move = await cluster.startMove(cluster.slotOf("{moving}a"), from, to);
    await move.moveKeys();
    await expect(all.tryAcquire()).rejects.toMatchObject({ code: "HF_BACKEND", retryable: true });
    const waiting = all.acquire({ waitMs: 20_000 });
    await move.finish();
    const handle = await waiting;
    expect(await to.command("EXISTS", ...names)).toBe(3);
    expect(await handle.release()).toBe("released");
  });

  it("and single ones are granted just after their slot has moved, by whatever the client knows of it yet", async () => {
    const locks = await open();
    for (let i = 0; i < 6; i++) {
      const names = [`{moved${i}}a`, `{moved${i}}b`] as const;
      const all = multiLock(mutexes(locks, names));
      const asked = [
        () => all.acquire({ waitMs: 20_000 }),
        () => locks.mutex(names[0]).acquire({ waitMs: 20_000 }),
      ][i % 2] as () => Promise<LockHandle | MultiHandle>;
      await (await asked()).release();
      const from = await cluster.nodeOfKey(names[0]);
      const to = cluster.nodes.find((node) => node !== from);
      if (to === undefined) throw new Error("one node alone");
      await cluster.moveSlot(cluster.slotOf(names[0]), from, to);
      const handle = await asked();
      expect(handle.state).toBe("held");
      expect(await handle.release()).toBe("released");
    }
  });
});
