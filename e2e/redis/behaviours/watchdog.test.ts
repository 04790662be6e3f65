import type { AcquireOptions, LockHandle } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { eventually, startRedis } from "@holdfast/test-servers";
import { expect, it, onTestFinished } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";
import { share } from "../../support/share.js";

const server = new OneServer();

/** How often each lock has been renewed. */
function renewalsOf(locks: RedisLocks): Map<string, number> {
  const counts = new Map<string, number>();
  locks.events.on("renewed", ({ name }) => counts.set(name, (counts.get(name) ?? 0) + 1));
  return counts;
}

it("23: a hold is renewed for ten times its lease, and no other client gets in meanwhile", async () => {
  // On a busy machine renewals come late, and the hold must outlast that.
  const leaseMs = 2_500;
  const name = server.name("renewed");
  const [one, other] = [await server.locks({ leaseMs }), await server.locks()];
  const renewals = renewalsOf(one);
  const startedMs = performance.now();
  const handle = await one.mutex(name).acquire();
  const { lost } = handle;
  const shortest = { leftMs: Infinity };
  await eventually(
    async () => {
      shortest.leftMs = Math.min(shortest.leftMs, await server.number("PTTL", name));
      expect(await other.mutex(name).tryAcquire()).toBeNull();
      return performance.now() - startedMs > 10 * leaseMs;
    },
    { what: "ten leases to pass", everyMs: 50, withinMs: 20 * leaseMs },
  );
  expect(lost.aborted).toBe(false);
  expect(shortest.leftMs).toBeGreaterThan(0);
  expect(renewals.get(name)).toBeGreaterThanOrEqual(20);
  expect(await handle.release()).toBe("released");
  const next = await other.mutex(name).tryAcquire();
  expect(next?.token).toBeGreaterThan(handle.token as bigint);
  await next?.release();
});

it("24: after a restart that lost all data no release claims success, and the next hold of each name is renewed again", async () => {
  const leaseMs = 3_000;
  // The server has to be back before these leases are over.
  const outageLeaseMs = 30_000;
  const own = await startRedis();
  const locks = redisLocks({ url: own.url, leaseMs, heartbeatMs: 200, aliveMs: 700 });
  onTestFinished(async () => {
    await locks.close({ releaseTimeoutMs: 200 });
    await own.stop();
  });
  const kinds: Record<string, (options: AcquireOptions) => Promise<LockHandle>> = {
    mutex: (options) => locks.mutex("of-mutex").acquire(options),
    read: (options) => locks.readWriteLock("of-read").read.acquire(options),
    write: (options) => locks.readWriteLock("of-write").write.acquire(options),
  };
  const all = async (options: AcquireOptions) =>
    await Promise.all(Object.values(kinds).map((acquire) => acquire({ waitMs: 10_000, ...options })));
  const before = await all({ leaseMs: outageLeaseMs });
  const signals = before.map(({ lost }) => lost);
  await own.kill();
  await eventually(() => before.every(({ state }) => state === "uncertain"), {
    what: "the outage to be seen",
  });
  await own.restart({ data: "none" });
  await eventually(() => signals.every(({ aborted }) => aborted), { what: "the losses" });
  // Each holder learns of its loss from the server, and not by its own deadline.
  expect(signals.map(({ reason }) => reason.reason)).toEqual(before.map(() => "lease-missing"));
  for (const handle of before) expect(await handle.release()).toBe("lost");

  const renewals = renewalsOf(locks);
  const after = await all({ leaseMs });
  await eventually(() => after.every(({ name }) => (renewals.get(name) ?? 0) >= 4), {
    what: "renewals beyond the first lease",
  });
  for (const [index, handle] of after.entries()) {
    expect(handle.token).toBeGreaterThan(before[index]?.token as bigint);
    expect(await handle.release()).toBe("released");
  }
  expect(renewals.size).toBe(3);
});

it("25: entering and leaving again, and even a late end of an earlier hold, leave the next holder's renewal intact", async () => {
  const name = server.name("pairs");
  // On a busy machine renewals come late, and the holds must outlast that.
  const locks = await server.locks({ leaseMs: 3_000 });
  const lock = locks.reentrantMutex(name);
  const renewals = renewalsOf(locks);
  const [first, second] = [{ id: "first" }, { id: "second" }];
  for (let round = 0; round < 10; round++) {
    const pairs = [await lock.acquire({ owner: first }), await lock.acquire({ owner: first })];
    const next = round === 9 ? lock.acquire({ owner: second }) : undefined;
    const outcomes = await Promise.all(pairs.map((handle) => handle.release()));
    expect(outcomes).toEqual(["still-held", "released"]);
    if (next === undefined) continue;
    const handle = await next;
    // Release them once more, by the handles of the owner before.
    for (const over of pairs) await over.release();
    renewals.clear();
    await eventually(() => (renewals.get(name) ?? 0) >= 6, { what: "renewals for two leases" });
    handle.assertHeld();
    expect(await server.number("PTTL", name)).toBeGreaterThan(0);
    expect(await handle.release()).toBe("released");
  }
  expect(await server.number("EXISTS", name)).toBe(0);
});

it("26: more locks than one call renews are all renewed, in few calls", async () => {
  const leaseMs = 6_000;
  const count = share("locks of one client", 600, 10_000);
  const { locks, link } = await server.linked({ leaseMs });
  const renewals = renewalsOf(locks);
  const names = Array.from({ length: count }, () => server.name("batch"));
  const handles = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
  link.reset();
  await eventually(() => renewals.size === count, { what: "a renewal of each", withinMs: 2 * leaseMs });
  const { commands } = link.counts();
  console.log(`${commands} commands renewed ${count} locks`);
  expect(commands).toBeLessThan(count / 10);
  expect(handles.map(({ state }) => state).filter((state) => state !== "held")).toEqual([]);
  const outcomes = await Promise.all(handles.map((handle) => handle.release()));
  expect(new Set(outcomes)).toEqual(new Set(["released"]));
});
