import type { RedisLocks } from "@holdfast/redis-recipes";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { RedissonClient } from "../../support/redisson/redisson-client.js";
import { withEachRedisson } from "./each-redisson.js";
import { RedissonFixture } from "./fixture.js";

const heartbeatMs = 200;
const keeping = { leaseMs: 180_000, keepMs: 60_000, maxKeepMs: 120_000, heartbeatMs };

withEachRedisson("locks that ours keeps, beside Redisson", (redisson) => {
  let fixture: RedissonFixture;
  let locks: RedisLocks;
  let client: RedissonClient;

  beforeAll(async () => {
    fixture = await RedissonFixture.start(redisson, 10_000);
    [locks, client] = await Promise.all([fixture.ours(keeping), fixture.redisson()]);
    // From this hold on, the provider's first subscription is confirmed.
    await (await locks.mutex("before").acquire({ revocable: true })).release();
  });

  afterAll(() => fixture?.close());

  const kept = (name: string) => locks.kept().filter((each) => each.name === name);

  async function keep(name: string): Promise<void> {
    for (let pair = 0; pair < 2; pair++) await (await locks.mutex(name).acquire()).release();
    expect(kept(name)).toMatchObject([{ lent: false }]);
  }

  /** Waits until Redisson has subscribed, as a waiter of the lock. */
  async function untilListens(name: string): Promise<void> {
    const channel = `redisson_lock__channel:{${name}}`;
    const listeners = () => fixture.redis.command("PUBSUB", "NUMSUB", channel);
    await expect.poll(listeners, { timeout: 10_000 }).toEqual([channel, 1]);
  }

  it("Redisson reads a kept lock and its marked owner as it reads any other", async () => {
    const name = "kept:read";
    await keep(name);
    const theirs = await client.lock(name);
    expect([await theirs.isLocked(), await theirs.isHeldByCurrentThread(), await theirs.holdCount()]).toEqual(
      [true, false, 0],
    );
    const leftMs = await theirs.remainingMs();
    expect(leftMs).toBeGreaterThan(100_000);
    const [own] = (await locks.mutex(name).inspect()).held;
    expect(own?.backendId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-e[0-9a-f]{3}-/);
    await expect(theirs.unlock()).rejects.toThrow("IllegalMonitorStateException");
    const handle = await locks.mutex(name).acquire();
    await handle.confirm();
    expect(await handle.release({ keep: false })).toBe("released");
  });

  it("Redisson waits for an idle kept lock and is granted within some heartbeats, also when ours asks next", async () => {
    const name = "kept:waits";
    await keep(name);
    const theirs = await client.lock(name);
    const beganMs = performance.now();
    const granted = theirs.lock();
    await expect.poll(() => kept(name), { timeout: 10_000 }).toEqual([]);
    // Our provider leaves a short head start to Java. A JVM that needs longer comes behind this acquire of ours.
    const next = locks.mutex(name).withLock(() => {});
    await granted;
    // If Java's subscription did not end the keeping, it would last for a minute.
    expect(performance.now() - beganMs).toBeLessThan(10_000);
    await theirs.unlock();
    await next;
  });

  it("Redisson waits for the owner of a kept lock, and is granted once that one is done", async () => {
    const name = "kept:owner";
    await keep(name);
    const holder = await locks.mutex(name).acquire();
    expect(kept(name)).toMatchObject([{ lent: true }]);
    const theirs = await client.lock(name);
    let granted = false;
    const theirTurn = theirs.lock().then(() => {
      granted = true;
    });
    await untilListens(name);
    await holder.confirm();
    expect(granted).toBe(false);
    expect(["kept", "released"]).toContain(await holder.release());
    await theirTurn;
    await theirs.unlock();
  });

  it("Redisson is granted a lock that owners of ours take again and again without a pause", async () => {
    const name = "kept:busy";
    await keep(name);
    const theirs = await client.lock(name);
    let granted = false;
    const theirTurn = theirs.lock().then(async () => {
      granted = true;
      await theirs.unlock();
    });
    let pairs = 0;
    while (!granted) {
      await (await locks.mutex(name).acquire()).release();
      pairs++;
    }
    await theirTurn;
    expect(pairs).toBeGreaterThan(1);
  });

  it("a try of Redisson is refused while a lock is kept, and granted when it is given back", async () => {
    const name = "kept:tries";
    await keep(name);
    const theirs = await client.lock(name);
    expect(await theirs.tryOnce()).toBe(false);
    expect(kept(name)).toHaveLength(1);
    await (await locks.mutex(name).acquire({ fresh: true })).release({ keep: false });
    expect(await theirs.tryOnce()).toBe(true);
    await theirs.unlock();
  });

  it("a lock that Redisson had in between is kept again only after two pairs in a row, with tokens above all lent before", async () => {
    const name = "kept:again";
    await keep(name);
    const lent = await locks.mutex(name).acquire();
    const token = lent.token as bigint;
    const theirs = await client.lock(name);
    const granted = theirs.lock();
    await untilListens(name);
    await lent.release({ keep: false });
    await granted;
    await theirs.unlock();
    const next = await locks.mutex(name).acquire();
    expect((next.token as bigint) > token).toBe(true);
    expect(await next.release()).toBe("released");
    expect(await (await locks.mutex(name).acquire()).release({ keep: false })).toBe("released");
  });
});
