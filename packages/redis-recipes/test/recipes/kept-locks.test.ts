import type { LockHandle } from "@holdfast/core";
import { describe, expect, test, vi } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { mostReserved } from "../../src/scripts/mutex/prove.js";
import { keys, lockName, Scene } from "./scene.js";
import type { SimulatedClient } from "./simulated-client.js";

type Settings = NonNullable<Parameters<Scene["client"]>[0]>;

/** Settings under which no keeping ends by itself during a test, and no proof is sent unless the test causes it. */
const quiet: Settings = { leaseMs: 300_000, heartbeatMs: 60_000, aliveMs: 120_000, javaPeers: false };

function keeper(scene: Scene, settings: Settings = quiet, options = {}): SimulatedClient {
  return scene.client(settings, {}, { keepMs: 100_000, maxKeepMs: 200_000, ...options });
}

/** Acquires and releases at most twice, until the lock is kept and its proof is answered. */
async function keep(scene: Scene, client: SimulatedClient): Promise<void> {
  for (let pair = 0; pair < 2 && client.provider.kept().length === 0; pair++) {
    const handle = await scene.acquire(client);
    await scene.runtime.advance(3);
    await scene.settle(handle.release());
  }
  await scene.runtime.advance(5);
  expect(client.provider.kept()).toMatchObject([{ lent: false, lends: 0 }]);
}

/** Acquires a kept lock for its next owner, while no time passes at the server. */
async function lend(scene: Scene, client: SimulatedClient): Promise<LockHandle> {
  const { lends } = client.provider.kept()[0] ?? { lends: -1 };
  const asked = client.mutex(lockName).acquire();
  await scene.runtime.advance(0);
  expect(client.provider.kept()).toMatchObject([{ lends: lends + 1, lent: true }]);
  return await asked;
}

function endings(client: SimulatedClient): string[] {
  const reasons: string[] = [];
  client.provider.events.on("keeping-ended", ({ reason }) => reasons.push(reason));
  return reasons;
}

/** The channel on which Java waits for the lock. */
const channel = redissonChannels.mutex(lockName);

describe("a mutex that is kept on Redis", () => {
  test("is lent after two pairs in a row without a request, and each owner has a token of its own", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await keep(scene, client);
    expect(scene.count("prove")).toBe(1);
    const before = Object.fromEntries(scene.redis.executed);
    const tokens: bigint[] = [];
    for (let pair = 0; pair < 100; pair++) {
      const handle = await lend(scene, client);
      expect(handle.turn).toBe(0);
      tokens.push(handle.token as bigint);
      expect(await handle.release()).toBe("kept");
    }
    expect(Object.fromEntries(scene.redis.executed)).toEqual(before);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => (a < b ? -1 : 1)));
  });

  test("is not kept where another client had it in between, or where its grant was waited for", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    const other = scene.client();
    for (let turn = 0; turn < 3; turn++) {
      const mine = await scene.acquire(client);
      await scene.runtime.advance(3);
      expect(await scene.settle(mine.release())).toBe("released");
      await scene.settle((await scene.acquire(other)).release());
    }
    const holder = await scene.acquire(other);
    const { granted } = await scene.queue(client);
    await scene.settle(holder.release());
    const waited = await scene.settle(granted);
    expect(await scene.settle(waited.release())).toBe("released");
  });

  test("is given back where an answer takes longer than a proof counts, and its next owner waits for no more proofs", async () => {
    const scene = new Scene();
    const client = keeper(scene, { ...quiet, heartbeatMs: 100, aliveMs: 120_000 });
    const ended = endings(client);
    client.line.weather = { ...client.line.weather, delayMs: () => 60 };
    for (let pair = 0; pair < 2; pair++) await scene.settle((await scene.acquire(client)).release());
    const proofs = scene.count("prove");
    await scene.settle(client.mutex(lockName).acquire(), 500);
    expect(ended).toEqual(["wanted"]);
    expect(scene.count("prove") - proofs).toBeLessThanOrEqual(1);
  });

  test("costs nothing extra where the keeping provider uses each name once, and publishes no message", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    for (let name = 0; name < 5; name++) {
      await scene.settle((await scene.settle(client.mutex(`n${name}`).acquire())).release());
    }
    expect(Object.fromEntries(scene.redis.executed)).toEqual({ "mutex-acquire": 5, "mutex-release": 5 });
    expect(scene.published.filter(({ channel: to }) => to.startsWith("holdfast"))).toEqual([]);
  });

  // -------- wishes

  test("goes to a contender at once while it is idle, and with the release of its owner while it is lent", async () => {
    for (const isLent of [false, true]) {
      const scene = new Scene();
      const client = keeper(scene);
      const other = scene.client();
      await keep(scene, client);
      const reasons = endings(client);
      const owner = isLent ? await lend(scene, client) : null;
      let granted = other.mutex(lockName).acquire();
      let grantedMs = Infinity;
      granted = granted.finally(() => {
        grantedMs = scene.runtime.nowMs();
      });
      const askedMs = scene.runtime.nowMs();
      await scene.runtime.advance(10);
      if (owner !== null) {
        // A waiter in memory asks the server at once, and queues there behind the other client.
        const next = client.mutex(lockName).acquire();
        await scene.runtime.advance(10);
        expect(scene.waiters).toHaveLength(2);
        await scene.settle(owner.release());
        await scene.settle(granted.then((handle) => handle.release()));
        await scene.settle(next.then((handle) => handle.release()));
      } else {
        expect(grantedMs - askedMs).toBeLessThan(8);
      }
      expect(reasons).toEqual(["wanted"]);
    }
  });

  test("is given back when a fair lock of the same name is tried, so that the next try has it", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    const other = scene.client();
    await keep(scene, client);
    const reasons = endings(client);
    expect(await scene.settle(other.fairMutex(lockName).tryAcquire())).toBeNull();
    await scene.runtime.advance(10);
    expect(reasons).toEqual(["wanted"]);
    const handle = await scene.settle(other.fairMutex(lockName).tryAcquire());
    expect(handle?.state).toBe("held");
  });

  test("goes to a contender whose first message was lost, by its next heartbeat", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    const other = scene.client();
    await keep(scene, client);
    client.line.weather = { ...client.line.weather, message: () => [] };
    const { granted } = await scene.queue(other);
    client.line.weather = { ...client.line.weather, message: () => [1] };
    await scene.settle(granted, 1_200);
  });

  test("is given up at the next proof by which a contender stands in the queue, though none of its messages was heard", async () => {
    const scene = new Scene();
    const client = keeper(scene, { ...quiet, heartbeatMs: 1_000, aliveMs: 3_500 });
    const other = scene.client();
    await keep(scene, client);
    const owner = await lend(scene, client);
    client.line.weather = { ...client.line.weather, message: () => [] };
    const { granted } = await scene.queue(other);
    await scene.runtime.advance(1_100);
    expect(await scene.settle(owner.release())).toBe("released");
    await scene.settle(granted, 100);
  });

  test("is given up when Java listens for it, and leaves Java a turn before this provider asks again", async () => {
    const scene = new Scene();
    const client = keeper(scene, { ...quiet, heartbeatMs: 1_000, aliveMs: 3_500, javaPeers: true });
    await keep(scene, client);
    scene.redis.space.listeners.set(channel, 1);
    const reasons = endings(client);
    await scene.runtime.advance(1_100);
    expect(reasons).toEqual(["wanted"]);
    expect(scene.holder).toBeUndefined();
    expect(scene.published.map(({ channel: to }) => to)).toContain(channel);

    scene.redis.space.listeners.set(channel, 0);
    await keep(scene, client);
    scene.redis.space.listeners.set(channel, 1);
    const owner = await lend(scene, client);
    await scene.runtime.advance(1_100);
    const released = owner.release();
    const asked = client.mutex(lockName).acquire();
    await scene.settle(released);
    await scene.runtime.advance(15);
    expect(scene.holder).toBeUndefined();
    scene.redis.space.listeners.set(channel, 0);
    await scene.settle(asked);
  });

  test("leaves Java a turn when the whole time is over, and none where there is no Java", async () => {
    for (const javaPeers of [true, false]) {
      const scene = new Scene();
      const client = keeper(scene, { ...quiet, javaPeers }, { maxKeepMs: 1_000 });
      await keep(scene, client);
      const reasons = endings(client);
      const owner = await lend(scene, client);
      await scene.runtime.advance(1_100);
      const released = owner.release();
      const asked = client.mutex(lockName).acquire();
      await scene.settle(released);
      expect(reasons).toEqual(["max-keep"]);
      const freedMs = scene.runtime.nowMs();
      await scene.settle(asked);
      if (javaPeers) expect(scene.runtime.nowMs() - freedMs).toBeGreaterThanOrEqual(20);
      else expect(scene.runtime.nowMs() - freedMs).toBeLessThan(5);
    }
  });

  test("is asked for by a try that stays in the queue for a moment, and only where the holder may keep it", async () => {
    for (const kept of [true, false]) {
      const scene = new Scene();
      const client = kept ? keeper(scene) : scene.client(quiet);
      const other = scene.client();
      await scene.acquire(client);
      const askedMs = scene.runtime.nowMs();
      expect(await scene.settle(other.mutex(lockName).tryAcquire())).toBeNull();
      const tookMs = scene.runtime.nowMs() - askedMs;
      if (kept) expect(tookMs).toBeGreaterThanOrEqual(50);
      else expect(tookMs).toBeLessThan(5);
      expect(scene.count("mutex-cancel")).toBe(kept ? 1 : 0);
      expect(scene.waiters).toEqual([]);
    }
  });

  test("that was asked for by a try is not kept by the release behind it", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    const other = scene.client();
    await scene.settle((await scene.acquire(client)).release());
    const second = await scene.acquire(client);
    await scene.settle(other.mutex(lockName).tryAcquire());
    expect(await scene.settle(second.release())).toBe("released");
  });

  test("is given back for a request to let go, which does not reach the owner after the one it was meant for", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    const other = scene.client();
    await keep(scene, client);
    const reasons = endings(client);
    await scene.settle(other.driver.requestRevoke("mutex", lockName));
    await scene.runtime.advance(5);
    expect(reasons).toEqual(["wanted"]);
    await scene.settle((await scene.acquire(client)).release());
    const second = await scene.acquire(client);
    await scene.settle(other.driver.requestRevoke("mutex", lockName));
    await scene.runtime.advance(5);
    expect(await scene.settle(second.release())).toBe("released");
  });

  test("is not kept by a grant for which the queue had to be looked at, since its answer lacks the token before it", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    for (let pair = 0; pair < 4; pair++) {
      // Puts a dead waiter into the queue.
      scene.redis.now.push(keys.waiters, "11111111-1111-8111-a111-111111111111:7 30000");
      expect(await scene.settle((await scene.acquire(client)).release())).toBe("released");
    }
  });

  // -------- what lending reads

  test("is not lent with less than a third of its lease ahead", async () => {
    const scene = new Scene();
    const client = keeper(scene, { ...quiet, leaseMs: 30_000 });
    await keep(scene, client);
    const reasons = endings(client);
    await scene.runtime.advance(20_500);
    const handle = await scene.acquire(client);
    expect(reasons).toEqual(["lost"]);
    expect(scene.count("mutex-acquire")).toBe(3);
    expect(handle.remainingMs()).toBeGreaterThan(25_000);
  });

  test("with acks is lent only while its replicas have a third of its lease, however often it was proven since", async () => {
    for (const acks of [0, 1]) {
      const scene = new Scene();
      const own = { leaseMs: 30_000, heartbeatMs: 1_000, aliveMs: 3_500, acks, replicas: 1 };
      const client = keeper(scene, { ...quiet, ...own });
      await keep(scene, client);
      await scene.runtime.advance(15_000);
      await scene.settle((await scene.acquire(client)).release());
      const before = scene.count("mutex-acquire");
      await scene.runtime.advance(6_000);
      await scene.acquire(client);
      expect(scene.count("mutex-acquire") - before).toBe(acks);
    }
  });

  test("is proven again before it is lent more than a heartbeat after the last proof was sent", async () => {
    const scene = new Scene();
    const client = keeper(scene, { ...quiet, heartbeatMs: 1_000, aliveMs: 3_500 });
    const other = scene.client();
    await keep(scene, client);
    // The keeper gets no messages: it misses that an operator frees the lock, and who takes it then.
    client.line.weather = { ...client.line.weather, message: () => [] };
    await scene.settle(other.driver.force("mutex", lockName));
    const holder = await scene.acquire(other);
    await scene.runtime.advance(1_001);
    const asked = client.mutex(lockName).acquire();
    await scene.runtime.advance(20);
    expect(client.provider.holds()).toEqual([]);
    await scene.settle(holder.release());
    expect((await scene.settle(asked)).state).toBe("held");
  });

  test("counts a proof from its sending, for its lease and for its age", async () => {
    const scene = new Scene();
    const client = keeper(scene, { ...quiet, leaseMs: 30_000, heartbeatMs: 1_000, aliveMs: 3_500 });
    await scene.settle((await scene.acquire(client)).release());
    const second = await scene.acquire(client);
    client.line.weather = { ...client.line.weather, delayMs: () => 450 };
    const sentMs = scene.runtime.nowMs();
    expect(await second.release()).toBe("kept");
    await scene.runtime.advance(905);
    const owner = await lend(scene, client);
    expect(owner.remainingMs()).toBeLessThanOrEqual(sentMs + 30_000 - scene.runtime.nowMs());
    expect(await owner.release()).toBe("kept");
    await scene.runtime.advance(100);
    const before = scene.count("prove");
    const asked = client.mutex(lockName).acquire();
    await scene.runtime.advance(1);
    expect(client.provider.holds()).toEqual([]);
    await scene.settle(asked);
    expect(scene.count("prove")).toBe(before + 1);
  });

  test("is not lent, nor kept, while messages may be missing", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await keep(scene, client);
    const reasons = endings(client);
    client.line.cutSubscriptions();
    const owner = await scene.acquire(client);
    expect(reasons).toEqual(["lost"]);
    await scene.settle(owner.release());
    for (const back of ["not yet", "unsaid", "said"] as const) {
      client.line.mend();
      await keep(scene, client);
      await scene.settle((await lend(scene, client)).release({ keep: false }));
      await scene.settle((await scene.acquire(client)).release());
      const next = await scene.acquire(client);
      client.line.cutSubscriptions();
      if (back === "unsaid") client.line.hearAgain();
      if (back === "said") client.line.mend();
      expect(await scene.settle(next.release())).toBe("released");
    }
    client.line.mend();
    await keep(scene, client);
    client.line.cutSubscriptions();
    client.line.hearAgain();
    const before = scene.count("mutex-acquire");
    await scene.acquire(client);
    expect(scene.count("mutex-acquire")).toBe(before + 1);
  });

  test("is not kept where messages were missing all the time, by the grant and by the release alike", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await scene.settle((await scene.acquire(client)).release());
    client.line.cutSubscriptions();
    const second = await scene.acquire(client);
    expect(await scene.settle(second.release())).toBe("released");
  });

  test("is not kept by the word of a master that was replaced before the release, though nothing else has said so", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await scene.settle((await scene.acquire(client)).release());
    const second = await scene.acquire(client);
    const master = vi.spyOn(client.line, "masterOf").mockReturnValue("b".repeat(40));
    const outcome = second.release();
    master.mockRestore();
    expect(await scene.settle(outcome)).toBe("released");
  });

  test("is given back when the server refuses its proof, and what waits for that in memory asks the server", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await scene.settle((await scene.acquire(client)).release());
    const second = await scene.acquire(client);
    const reasons = endings(client);
    client.line.weather = {
      ...client.line.weather,
      refuses: (script) => (script === "prove" ? "NOPERM this user has no permissions to run it" : null),
    };
    expect(await second.release()).toBe("kept");
    const next = client.mutex(lockName).acquire();
    expect((await scene.settle(next)).state).toBe("held");
    expect(reasons).toEqual(["wanted"]);
    expect(scene.count("prove")).toBe(0);
  });

  test("counts a proof from its sending also for the clock: what jumped while it was under way is proven again", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await scene.settle((await scene.acquire(client)).release());
    const second = await scene.acquire(client);
    client.line.weather = { ...client.line.weather, delayMs: () => 100 };
    expect(await second.release()).toBe("kept");
    const { wallMs } = client.runtime;
    vi.spyOn(client.runtime, "wallMs").mockImplementation(() => wallMs() + 5_000);
    await scene.runtime.advance(250);
    expect(scene.count("prove")).toBe(1);
    const asked = client.mutex(lockName).acquire();
    await scene.runtime.advance(1);
    expect(client.provider.holds()).toEqual([]);
    await scene.settle(asked);
    expect(scene.count("prove")).toBe(2);
  });

  test("is over once the grant channel was subscribed again, because the wish of another client may be missing", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await keep(scene, client);
    client.line.cutSubscriptions();
    client.line.mend();
    await scene.runtime.advance(10);
    expect(client.provider.kept()).toEqual([]);
    expect(scene.holder).toBeUndefined();
  });

  test("is over when contact breaks, and freed with the next", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await keep(scene, client);
    const reasons = endings(client);
    client.line.cut();
    await scene.runtime.advance(1);
    expect(reasons).toEqual(["lost"]);
    expect(scene.holder).toBeDefined();
    client.line.mend();
    await scene.runtime.advance(10);
    expect(scene.holder).toBeUndefined();
  });

  test("is over and freed when the master of its slot is lost, while others still answer", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await keep(scene, client);
    client.line.cutShard();
    await scene.runtime.advance(10);
    expect(client.provider.kept()).toEqual([]);
    expect(scene.holder).toBeUndefined();
  });

  test("is not lent by the word of a master that was replaced, though nothing else has said so", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await keep(scene, client);
    const reasons = endings(client);
    const master = vi.spyOn(client.line, "masterOf").mockReturnValue("b".repeat(40));
    const asked = client.mutex(lockName).acquire();
    await scene.runtime.advance(0);
    expect(reasons).toEqual(["lost"]);
    master.mockRestore();
    await scene.settle(asked);
  });

  test("is over when an answer shows that the server's clock was stepped", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await keep(scene, client);
    scene.redis.offsetMs += 10_000;
    await scene.settle(client.mutex("another").acquire());
    await scene.runtime.advance(10);
    expect(client.provider.kept()).toEqual([]);
  });

  test("is proven again before it is lent after the machine seems to have slept", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await keep(scene, client);
    const { wallMs } = client.runtime;
    vi.spyOn(client.runtime, "wallMs").mockImplementation(() => wallMs() + 5_000);
    const before = scene.count("prove");
    const asked = client.mutex(lockName).acquire();
    await scene.runtime.advance(0);
    expect(client.provider.holds()).toEqual([]);
    await scene.settle(asked);
    expect(scene.count("prove")).toBe(before + 1);
  });

  // -------- owners and tokens

  test("is lost for its present owner when an answer to the owner before says that the lock is gone", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    const other = scene.client();
    await keep(scene, client);
    client.line.weather = { ...client.line.weather, message: () => [] };
    await scene.settle(other.driver.force("mutex", lockName));
    const former = await lend(scene, client);
    const confirmed = former.confirm().catch((error: unknown) => error);
    await Promise.resolve();
    expect(await former.release()).toBe("kept");
    const next = await lend(scene, client);
    await scene.settle(confirmed);
    await scene.runtime.advance(5);
    expect(next.lost.aborted).toBe(true);
    expect(next.state).toBe("lost");
  });

  test("has tokens for its owners only as far as the server has reserved them", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    await scene.settle((await scene.acquire(client)).release());
    const second = await scene.acquire(client);
    // The token is so far ahead of the clock that there is room for only a few when tokens are reserved 1 ms from now.
    scene.redis.now.set(keys.token, String(scene.redis.nowUs + mostReserved + 990), null);
    expect(await second.release()).toBe("kept");
    await scene.runtime.advance(5);
    const reserved = BigInt(scene.redis.now.string(keys.token) as string);
    let last = 0n;
    for (let pair = 0; last < reserved; pair++) {
      expect(pair).toBeLessThan(20);
      const handle = await lend(scene, client);
      expect((handle.token as bigint) > last).toBe(true);
      last = handle.token as bigint;
      await handle.release();
    }
    expect(last).toBe(reserved);
    const before = scene.count("prove");
    const next = await scene.acquire(client);
    expect(scene.count("prove")).toBe(before + 1);
    expect((next.token as bigint) > last).toBe(true);
    expect((next.token as bigint) <= BigInt(scene.redis.now.string(keys.token) as string)).toBe(true);
  });

  test("leaves lower tokens than any other client gets, also when its process dies", async () => {
    const scene = new Scene();
    const client = keeper(scene, { ...quiet, leaseMs: 3_000 });
    const other = scene.client();
    await keep(scene, client);
    const owner = await lend(scene, client);
    const token = owner.token as bigint;
    client.crash();
    const next = await scene.acquire(other);
    expect((next.token as bigint) > token).toBe(true);
  });

  test("has its present owner's token for a read beside the write, and is not kept then", async () => {
    const scene = new Scene();
    const client = keeper(scene);
    const lock = client.provider.readWriteLock("shelf");
    for (const outcome of ["released", "kept"]) {
      const handle = await scene.settle(lock.write.acquire());
      await scene.runtime.advance(3);
      expect(await scene.settle(handle.release())).toBe(outcome);
    }
    await scene.runtime.advance(5);
    const asked = lock.write.acquire();
    await scene.runtime.advance(0);
    const write = await asked;
    const read = await scene.settle(write.downgrade());
    expect(read.token).toBe(write.token);
    expect(client.provider.kept()).toEqual([]);
    await scene.settle(read.release());
    expect(scene.redis.fieldsOf("shelf")).toEqual([]);
  });
});
