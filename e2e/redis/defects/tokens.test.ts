import { readFileSync } from "node:fs";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { eventually, startRedis, startRedisReplicaSet } from "@holdfast/test-servers";
import { expect, it, onTestFinished } from "vitest";
import { share } from "../../support/share.js";
import { FaultyServer, kindNames, kinds } from "./faulty-server.js";

const server = new FaultyServer();
const tokenKey = (name: string): string => `redisson_lock_token:{${name}}`;

it("defect 37: token keys end some time after the last grant, of every kind, and each grant puts that off", async () => {
  const tokenTtlMs = 200_000;
  const locks = await server.locks({ leaseMs: 2_000, tokenTtlMs });
  for (const kind of kindNames) {
    const name = server.name("ttl");
    await (await kinds[kind](locks, name)).release();
    const leftMs = await server.number("PTTL", tokenKey(name));
    expect({ kind, leftMs: leftMs > 190_000 && leftMs <= tokenTtlMs }).toEqual({ kind, leftMs: true });
    await server.node.command("PEXPIRE", tokenKey(name), 10_000);
    await (await kinds[kind](locks, name)).release();
    expect(await server.number("PTTL", tokenKey(name))).toBeGreaterThan(190_000);
  }
});

it("a write lock whose token key has ended meanwhile is downgraded, and stays held", async () => {
  const locks = await server.locks();
  const name = server.name("downgraded");
  const write = await locks.readWriteLock(name).write.acquire();
  await server.node.command("DEL", tokenKey(name));
  const read = await write.downgrade();
  expect(read.state).toBe("held");
  expect(read.token).toBeGreaterThanOrEqual(write.token as bigint);
  expect(await server.node.command("HGET", name, "mode")).toBe("read");
  expect(await read.release()).toBe("released");
});

it.each(kindNames)(
  "defect 38: tokens of a %s rise after its keys were deleted, by whomever",
  async (kind) => {
    const [one, other] = [await server.locks(), await server.locks()];
    const name = server.name("deleted");
    let last = 0n;
    for (const [i, locks] of [one, other, one, other].entries()) {
      const handle = await kinds[kind](locks, name);
      expect(handle.token).toBeGreaterThan(last);
      last = handle.token as bigint;
      await handle.release();
      if (i % 2 === 0) await server.node.command("DEL", tokenKey(name));
      // Java's RFencedLock takes a token in this way.
      else last = BigInt(await server.number("INCR", tokenKey(name)));
    }
  },
);

it("a write whose token key is gone can be downgraded, and the read carries the write's token", async () => {
  const locks = await server.locks();
  const name = server.name("downgraded");
  const write = await locks.readWriteLock(name).write.acquire();
  await server.node.command("DEL", tokenKey(name));
  const read = await write.downgrade();
  expect(read.token).toBe(write.token);
  const others = await server.locks();
  expect(await others.readWriteLock(name).write.tryAcquire()).toBeNull();
  const beside = await others.readWriteLock(name).read.tryAcquire();
  expect(beside?.token).toBeGreaterThan(read.token as bigint);
  expect(await read.release()).toBe("released");
  expect(await beside?.release()).toBe("released");
});

it("a token key with too many digits costs no lock of the same client its renewal", async () => {
  // On a busy machine renewals come late, and these holds must outlast that.
  const { locks } = await server.client({ leaseMs: 3_000 });
  const lost: string[] = [];
  locks.events.on("lost", ({ name }) => lost.push(name));
  const renewed = new Map<string, number>();
  locks.events.on("renewed", ({ name }) => renewed.set(name, (renewed.get(name) ?? 0) + 1));
  const names = Array.from({ length: 5 }, () => server.name("digits"));
  const held = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
  await server.node.command("SET", tokenKey(names[2] as string), "12345678901234567890");
  renewed.clear();
  await eventually(() => lost.length > 0 || names.every((name) => (renewed.get(name) ?? 0) >= 4), {
    what: "more than a lease of renewals",
  });
  expect(lost).toEqual([]);
  for (const each of held) expect(await each.release()).toBe("released");
});

it("defect 38: tokens rise after a server has lost all data, for clients that have seen none of it", async () => {
  const own = await startRedis();
  onTestFinished(() => own.stop());
  const rounds = share("restarts without data", 2, 20);
  let last = 0n;
  for (let i = 0; i < rounds; i++) {
    const locks = open({ url: own.url });
    const handle = await locks.mutex("lost").acquire();
    expect(handle.token).toBeGreaterThan(last);
    last = handle.token as bigint;
    await handle.release();
    await locks.close();
    await own.restart({ data: "none" });
  }
});

it("defect 38: tokens rise over a failover to a replica that has missed them", async () => {
  const set = await startRedisReplicaSet({
    replicas: 1,
    replicationProxies: true,
    downAfterMs: 500,
    failoverTimeoutMs: 1_500,
  });
  onTestFinished(() => set.stop());
  const sentinels = { sentinels: set.sentinelAddresses, name: set.name };
  const [one, other] = [open({ sentinels }), open({ sentinels })];
  const first = await one.mutex("failover").acquire();
  await first.release();
  const [replica] = await set.replicas();
  if (replica === undefined) throw new Error("no replica");
  await eventually(async () => Number(await replica.command("EXISTS", tokenKey("failover"))) === 1, {
    what: "the first token to be replicated",
  });
  set.cutReplication(replica);
  let last = first.token as bigint;
  for (let i = 0; i < 5; i++) {
    const handle = await one.mutex("failover").acquire();
    last = handle.token as bigint;
    await handle.release();
  }
  expect(String(await replica.command("GET", tokenKey("failover")))).toBe(String(first.token));
  await set.killMaster();
  await set.untilMaster({ is: replica });
  // The client `other` has seen none of the lost tokens.
  const after = await other.mutex("failover").acquire({ waitMs: 10_000 });
  expect(after.token).toBeGreaterThan(last);
  await after.release();
});

it("defect 39: the script for a resource in Redis refuses a token below one that it has seen", async () => {
  const file = new URL("../../../packages/redis-recipes/docs/known-defects.md", import.meta.url);
  const [, script = ""] = /```lua\n([\s\S]*?)```/.exec(readFileSync(file, "utf8")) ?? [];
  const name = server.name("fenced");
  const write = (token: bigint, value: string): Promise<number> =>
    server.number("EVAL", script, "2", `fence-${name}`, `data-${name}`, String(token), value);
  const [one, other] = [await server.locks(), await server.locks()];
  const older = await one.mutex(name).acquire({ leaseMs: 100, renew: false });
  const newer = await other.mutex(name).acquire({ waitMs: 5_000 });
  expect(await write(newer.token as bigint, "newer")).toBe(1);
  expect(await write(older.token as bigint, "older")).toBe(0);
  expect(await write(newer.token as bigint, "again")).toBe(1);
  expect(String(await server.node.command("GET", `data-${name}`))).toBe("again");
  // The first two tokens would round to the same number. The last one is a shorter text.
  expect(await write(9_007_199_254_740_993n, "odd")).toBe(1);
  expect(await write(9_007_199_254_740_992n, "even")).toBe(0);
  expect(await write(10n, "short")).toBe(0);
  await newer.release();
});

function open(options: RedisLocksOptions): RedisLocks {
  const locks = redisLocks(options);
  onTestFinished(async () => {
    await locks.close({ releaseTimeoutMs: 500 });
  });
  return locks;
}
