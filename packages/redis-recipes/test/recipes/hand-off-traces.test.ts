import { expect, test } from "vitest";
import { grantChannel, redissonChannels } from "../../src/layout/channels.js";
import { mutexHeartbeat } from "../../src/scripts/mutex/heartbeat.js";
import { keyList, keys, lockName, Scene } from "./scene.js";

const rare = { heartbeatMs: 20_000, aliveMs: 70_000 };
const javaChannel = redissonChannels.mutex(lockName);

test("rule 1: a message that sat in a buffer for most of the claim lease is confirmed before the caller is told", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const waiter = scene.client({ heartbeatMs: 4_000, aliveMs: 20_000 }, { message: () => [2_500] });
  const { granted } = await scene.queue(waiter);
  const handedMs = scene.runtime.nowMs();
  await scene.settle(first.release());
  const handle = await scene.settle(granted);
  expect(scene.runtime.nowMs() - handedMs).toBeGreaterThan(2_500);
  expect(scene.count("renew")).toBe(1);
  expect(handle.remainingMs()).toBeLessThanOrEqual(scene.pttlMs);
  expect(handle.remainingMs()).toBeGreaterThan(29_000);
});

test("rule 1: a message that comes at once is believed until its own date, not from its arrival on", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const waiter = scene.client({}, { message: () => [900] });
  const { granted } = await scene.queue(waiter);
  waiter.line.weather = { ...waiter.line.weather, delayMs: () => 950 };
  await scene.settle(first.release());
  const handle = await scene.settle(granted);
  // Its renewal is still on the way: the claim lease of 3 s began 900 ms ago.
  expect(scene.pttlMs).toBeLessThan(3_000);
  expect(handle.remainingMs()).toBeLessThanOrEqual(scene.pttlMs);
});

test("rule 1: a message whose claim lease is over makes nobody a holder", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const waiter = scene.client(rare, { message: () => [3_500] });
  const { granted, owner } = await scene.queue(waiter);
  let told = false;
  void granted.then(() => {
    told = true;
  });
  await scene.settle(first.release());
  await scene.runtime.advance(3_100);
  scene.javaTakes();
  await scene.runtime.advance(1_000);
  expect(told).toBe(false);
  expect(scene.waiters).toEqual([owner]);
});

test("rule 1: when a message had to be confirmed, the token of the confirmation counts", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const waiter = scene.client(rare, { message: () => [3_200] });
  const { granted, owner } = await scene.queue(waiter);
  await scene.settle(first.release());
  await scene.runtime.advance(3_050);
  expect(scene.holder).toBeUndefined();
  // A late copy of a heartbeat makes it holder a second time, and nobody hears of that answer.
  const common = { aliveMs: 70_000, claimMs: 3_000, notAfterMs: null, tokenTtlMs: 0, changes: "" };
  const entry = { owner, leaseMs: 30_000, floor: 0n };
  scene.redis.execute("mutex-heartbeat", keyList, mutexHeartbeat.args(common, [entry]));
  const now = scene.redis.space.string(keys.token);
  const handle = await scene.settle(granted);
  expect(String(handle.token)).toBe(now);
  expect(handle.token).toBeGreaterThan(first.token as bigint);
});

test("rule 1: an answer that says queued voids a message that was written before it", async () => {
  const scene = new Scene();
  const operator = scene.client();
  const first = await scene.acquire(scene.client());
  const waiter = scene.client({ heartbeatMs: 500, aliveMs: 3_500 }, { message: () => [2_000] });
  const { granted } = await scene.queue(waiter);
  let told = false;
  void granted.then(() => {
    told = true;
  });
  // Cut off from its heartbeats while it is made holder and the lock is taken from it again.
  waiter.line.cut();
  await scene.settle(first.release());
  await scene.settle(operator.driver.force("mutex", lockName));
  scene.javaTakes();
  await scene.runtime.advance(100);
  waiter.line.mend();
  await scene.runtime.advance(1_000);
  expect(scene.count("renew")).toBe(0);
  await scene.runtime.advance(1_500);
  expect(told).toBe(false);
  // Not even asked about: the answer that said "queued" was the later word.
  expect(scene.count("renew")).toBe(0);
});

test("rule 1: a stepped clock of the server makes a hold uncertain until a renewal confirms it", async () => {
  const scene = new Scene();
  const client = scene.client();
  const handle = await scene.acquire(client);
  const states: string[] = [];
  client.provider.events.on("uncertain", () => states.push("uncertain"));
  client.provider.events.on("recovered", () => states.push("recovered"));
  scene.redis.offsetMs += 5_000;
  await scene.settle(handle.confirm());
  await scene.runtime.advance(10);
  expect(states).toEqual(["uncertain", "recovered"]);
  expect(handle.remainingMs()).toBeLessThanOrEqual(scene.pttlMs);
});

test("rule 1: a grant learnt from a heartbeat is good from when that was sent, however late its answer", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const waiter = scene.client({}, { message: () => [] });
  const { granted } = await scene.queue(waiter);
  waiter.line.weather = { ...waiter.line.weather, delayMs: () => 200 };
  await scene.settle(first.release());
  const handle = await scene.settle(granted);
  // Its renewal is still on the way.
  expect(scene.pttlMs).toBeLessThan(3_000);
  expect(handle.remainingMs()).toBeLessThanOrEqual(scene.pttlMs);
});

test("rule 2: the first renewal goes out at once and sets the full lease, also with renew: false", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const { granted } = await scene.queue(scene.client(), { renew: false });
  await scene.settle(first.release());
  const handle = await scene.settle(granted);
  await scene.runtime.advance(10);
  expect(scene.pttlMs).toBeGreaterThan(29_000);
  expect(handle.remainingMs()).toBeGreaterThan(29_000);
  const lease = scene.count("renew");
  await scene.runtime.advance(25_000);
  expect(scene.count("renew")).toBe(lease);
  expect(handle.state).toBe("held");
  await scene.runtime.advance(6_000);
  expect(handle.state).toBe("lost");
});

test("rule 3: a lost message is made good by the next heartbeat", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const { granted } = await scene.queue(scene.client({}, { message: () => [] }));
  const releasedMs = scene.runtime.nowMs();
  await scene.settle(first.release());
  await scene.settle(granted);
  expect(scene.runtime.nowMs() - releasedMs).toBeLessThan(1_100);
});

test("rule 3: a lost answer to an acquire is made good by the same owner, with the same token", async () => {
  const scene = new Scene();
  const client = scene.client();
  const granted = client.mutex(lockName).acquire();
  await scene.runtime.advance(1);
  const owner = scene.holder;
  const token = scene.redis.space.string(keys.token);
  expect(owner).toBeDefined();
  client.line.cut();
  scene.runtime.setTimer(200, () => client.line.mend());
  const handle = await scene.settle(granted);
  expect(scene.holder).toBe(owner);
  expect(String(handle.token)).toBe(token);
  expect(scene.count("mutex-acquire")).toBe(1);
});

test("rule 3: a lost answer to a release is a release, not a loss", async () => {
  const scene = new Scene();
  const client = scene.client();
  const handle = await scene.acquire(client);
  const released = handle.release();
  await scene.runtime.advance(1);
  expect(scene.holder).toBeUndefined();
  client.line.cut();
  scene.runtime.setTimer(200, () => client.line.mend());
  expect(await scene.settle(released)).toBe("released");
});

test("rule 3: who gives up leaves nothing, and a heartbeat that comes after its cancel is cancelled too", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const waiter = scene.client();
  const abort = new AbortController();
  const { granted, owner } = await scene.queue(waiter, { signal: abort.signal });
  abort.abort(new Error("enough"));
  await expect(scene.settle(granted)).rejects.toThrow("enough");
  expect(scene.waiters).toEqual([]);
  const common = { aliveMs: 3_500, claimMs: 3_000, notAfterMs: null, tokenTtlMs: 0, changes: "" };
  const entry = { owner, leaseMs: 30_000, floor: 0n };
  scene.redis.execute("mutex-heartbeat", keyList, mutexHeartbeat.args(common, [entry]));
  expect(scene.waiters).toEqual([owner]);
  await scene.settle(first.release());
  expect(scene.holder).toBe(owner);
  await scene.runtime.advance(10);
  expect(scene.holder).toBeUndefined();
});

test("rule 3: an acquire that comes to the server after its time does nothing", async () => {
  const scene = new Scene();
  const client = scene.client();
  await scene.settle((await scene.acquire(client)).release());
  client.line.weather = { ...client.line.weather, strayMs: () => 2_500, delayMs: () => 50 };
  const abort = new AbortController();
  const granted = client.mutex(lockName).acquire({ signal: abort.signal });
  await scene.runtime.advance(10);
  client.line.cut();
  abort.abort(new Error("enough"));
  await expect(scene.settle(granted)).rejects.toThrow("enough");
  client.line.mend();
  const before = scene.count("mutex-acquire");
  await scene.runtime.advance(3_000);
  expect(scene.count("mutex-acquire")).toBe(before + 1);
  expect(scene.holder).toBeUndefined();
});

test("rule 3: a grant for an owner that was never ours is left alone", async () => {
  const scene = new Scene();
  const client = scene.client();
  await scene.settle((await scene.acquire(client)).release());
  const cancels = scene.count("mutex-cancel");
  const stranger = { type: "granted", key: lockName, owner: `${client.desk.uuid}:999`, token: "9" };
  const message = { ...stranger, pttl: "3000", at: String(scene.redis.nowUs), run: scene.redis.runId };
  client.line.publish(grantChannel(client.desk.uuid), JSON.stringify(message));
  await scene.runtime.advance(50);
  expect(client.provider.holds()).toEqual([]);
  expect(scene.count("mutex-cancel")).toBe(cancels);
});

test("rule 4: a dead waiter in the line is passed over, and one made holder costs a claim lease", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const dead = scene.client();
  await scene.queue(dead);
  const { granted } = await scene.queue(scene.client());
  dead.crash();
  const releasedMs = scene.runtime.nowMs();
  await scene.settle(first.release());
  const second = await scene.settle(granted);
  const tookMs = scene.runtime.nowMs() - releasedMs;
  expect(tookMs).toBeGreaterThan(2_900);
  expect(tookMs).toBeLessThan(3_100);

  const dead2 = scene.client();
  await scene.queue(dead2);
  const last = await scene.queue(scene.client());
  dead2.crash();
  await scene.runtime.advance(3_600);
  const againMs = scene.runtime.nowMs();
  await scene.settle(second.release());
  await scene.settle(last.granted);
  expect(scene.runtime.nowMs() - againMs).toBeLessThan(20);
});

test("rule 5: the first in line finds a lapsed hold at its time, long before its heartbeat", async () => {
  const scene = new Scene();
  const dying = scene.client({ leaseMs: 4_000 });
  await scene.acquire(dying);
  const { granted } = await scene.queue(scene.client(rare));
  dying.crash();
  const crashedMs = scene.runtime.nowMs();
  await scene.settle(granted);
  expect(scene.runtime.nowMs() - crashedMs).toBeLessThan(4_050);
});

test("rule 6: after so many hand-offs in a row one release frees the lock for all, and none where no Java is", async () => {
  for (const javaPeers of [true, false]) {
    const scene = new Scene();
    const own = { maxDirectRun: 2, javaPeers };
    let handle = await scene.acquire(scene.client(own));
    const line = [];
    for (let each = 0; each < 6; each++) line.push(await scene.queue(scene.client(own)));
    for (const { granted } of line) {
      await scene.settle(handle.release());
      handle = await scene.settle(granted);
    }
    const plain = scene.published.filter(({ channel }) => channel === javaChannel);
    expect(plain).toHaveLength(javaPeers ? 2 : 0);
  }
});

test("rule 6: while Java holds, the first in line listens to its channel, and nobody behind it", async () => {
  const scene = new Scene();
  scene.javaTakes();
  const first = scene.client(rare);
  const second = scene.client(rare);
  const { granted } = await scene.queue(first);
  await scene.queue(second);
  expect(first.line.listensTo(javaChannel)).toBe(true);
  expect(second.line.listensTo(javaChannel)).toBe(false);
  const beats = scene.count("mutex-heartbeat");
  scene.redis.space.del(lockName);
  scene.redis.onPublish(javaChannel, "0");
  const freedMs = scene.runtime.nowMs();
  await scene.settle(granted);
  expect(scene.runtime.nowMs() - freedMs).toBeLessThan(20);
  expect(scene.count("mutex-heartbeat")).toBe(beats + 1);
  expect(first.line.listensTo(javaChannel)).toBe(false);
});

test("rule 8: after a reconnect of either connection every wait and every hold asks at once", async () => {
  const scene = new Scene();
  const client = scene.client(rare);
  await scene.acquire(client);
  await scene.queue(client);
  for (const cut of [() => client.line.cut(), () => client.line.cutSubscriptions()]) {
    const before = { beats: scene.count("mutex-heartbeat"), renewals: scene.count("renew") };
    cut();
    client.line.mend();
    await scene.runtime.advance(20);
    expect(scene.count("mutex-heartbeat")).toBe(before.beats + 1);
    expect(scene.count("renew")).toBe(before.renewals + 1);
  }
});

test("rule 8: a hold is uncertain from the moment that contact breaks, and certain once a renewal was answered", async () => {
  const scene = new Scene();
  const client = scene.client();
  const handle = await scene.acquire(client);
  client.line.cut();
  await scene.runtime.advance(1);
  expect(handle.state).toBe("uncertain");
  handle.assertHeld();
  client.line.mend();
  await scene.runtime.advance(1);
  expect(handle.state).toBe("uncertain");
  await scene.runtime.advance(20);
  expect(handle.state).toBe("held");
});

test("rule 9: with another master a hold is uncertain at once, and lost when that one does not know it", async () => {
  for (const known of [true, false]) {
    const scene = new Scene();
    const client = scene.client();
    const handle = await scene.acquire(client);
    if (known) scene.redis.replicate();
    client.line.cut();
    scene.redis.failOver(0);
    client.line.mend();
    await scene.runtime.advance(0);
    expect(handle.state).toBe("uncertain");
    await scene.runtime.advance(20);
    expect(handle.state).toBe(known ? "held" : "lost");
  }
});

test("rule 9: a message of a master that is none any more makes nobody a holder", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  scene.redis.replicate();
  const waiter = scene.client({}, { message: () => [700] });
  const { granted } = await scene.queue(waiter);
  let told = false;
  void granted.then(() => {
    told = true;
  });
  await scene.settle(first.release());
  for (const { line } of scene.clients) line.cut();
  scene.redis.failOver(0);
  // The new master knows the holder before, not the hand-over.
  for (const { line } of scene.clients) line.mend();
  await scene.runtime.advance(1_000);
  expect(told).toBe(false);
  expect(scene.count("renew")).toBe(0);
});

test("rule 9: a master that has lost tokens gets the highest that a client has seen", async () => {
  const scene = new Scene();
  const client = scene.client();
  const first = await scene.acquire(client);
  await scene.settle(first.release());
  client.line.cut();
  scene.redis.failOver(-60_000);
  client.line.mend();
  const second = await scene.acquire(client);
  expect(second.token).toBeGreaterThan(first.token as bigint);
});

test("rule 11: no grant reaches its caller before the replicas have it, be it direct or handed over", async () => {
  const scene = new Scene();
  const policy = { acks: 1, replicas: 1 };
  const client = scene.client(policy);
  scene.redis.replicating = false;
  await expect(scene.acquire(client, { waitMs: 3_000 })).rejects.toThrow(
    /0 of 1 replicas have it|not granted/,
  );
  expect(scene.holder).toBeUndefined();
  scene.redis.replicating = true;
  const first = await scene.acquire(client);
  const { granted, owner } = await scene.queue(scene.client(policy));
  await scene.settle(first.release());
  const second = await scene.settle(granted);
  // Its own renewal, answered before it was told, took everything to the replica.
  scene.redis.failOver(0);
  expect(scene.holder).toBe(owner);
  expect(second.remainingMs()).toBeGreaterThan(0);
});

test("a holder whose lock was taken by force is told so, and a revocable one is asked first", async () => {
  const scene = new Scene();
  const client = scene.client();
  const operator = scene.client();
  const handle = await scene.settle(client.mutex(lockName).acquire({ revocable: true }));
  expect(await scene.settle(operator.mutex(lockName).requestRevoke())).toBe(true);
  await scene.runtime.advance(10);
  expect(handle.revokeRequested.aborted).toBe(true);
  expect(await scene.settle(operator.driver.force("mutex", lockName))).toBe(true);
  await scene.runtime.advance(10);
  expect(handle.lost.reason).toMatchObject({ reason: "stolen" });
});

test("a hand-off costs the same commands, however many wait", async () => {
  const costs = new Map<number, number>();
  for (const waiting of [2, 10, 100, 1_000]) {
    const scene = new Scene();
    const own = { ...rare, javaPeers: false };
    let handle = await scene.acquire(scene.client(own));
    const client = scene.client(own);
    const line = Array.from({ length: waiting }, () => client.mutex(lockName).acquire());
    await scene.runtime.advance(50);
    expect(scene.waiters).toHaveLength(waiting);
    const all = () => [...scene.redis.executed.values()].reduce((sum, each) => sum + each, 0);
    const before = all();
    for (const granted of line.slice(0, 2)) {
      await scene.settle(handle.release());
      handle = await scene.settle(granted);
      await scene.runtime.advance(5);
    }
    costs.set(waiting, (all() - before) / 2);
    for (const granted of line.slice(2)) granted.catch(() => {});
  }
  // A release, and the new holder's first renewal.
  expect([...costs.values()]).toEqual([2, 2, 2, 2]);
});

test("10,000 holds are renewed, and 10,000 waits kept alive, in at most 100 calls of a period", async () => {
  const scene = new Scene();
  const client = scene.client();
  const names = Array.from({ length: 10_000 }, (_, each) => `${lockName}-${each}`);
  // One after the other over some seconds, so that nothing makes them come together but the batches.
  for (const [each, name] of names.entries()) {
    void client.mutex(name).acquire();
    if (each % 50 === 0) await scene.runtime.advance(20);
  }
  await scene.runtime.advance(100);
  expect(client.provider.holds()).toHaveLength(10_000);
  await scene.runtime.advance(10_000);
  const renewals = scene.count("renew");
  await scene.runtime.advance(10_000);
  expect(client.provider.holds()).toHaveLength(10_000);
  expect(scene.count("renew") - renewals).toBeGreaterThanOrEqual(10);
  expect(scene.count("renew") - renewals).toBeLessThanOrEqual(100);

  const waiter = scene.client();
  for (const [each, name] of names.entries()) {
    waiter
      .mutex(name)
      .acquire()
      .catch(() => {});
    if (each % 50 === 0) await scene.runtime.advance(20);
  }
  await scene.runtime.advance(2_000);
  const beats = scene.count("mutex-heartbeat");
  await scene.runtime.advance(1_000);
  expect(scene.count("mutex-heartbeat") - beats).toBeGreaterThanOrEqual(50);
  expect(scene.count("mutex-heartbeat") - beats).toBeLessThanOrEqual(100);
}, 120_000);
