import type { LockHandle } from "@holdfast/core";
import { expect, test } from "vitest";
import { slotOfKey } from "../../src/layout/hash-slot.js";
import { keys, lockName, Scene } from "./scene.js";
import type { SimulatedClient } from "./simulated-client.js";

const rare = { heartbeatMs: 20_000, aliveMs: 70_000 };

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

test("rule 9: a hold in a cluster is uncertain at once when its own master is gone, though other masters still answer", async () => {
  const scene = new Scene();
  const client = scene.client();
  const handle = await scene.acquire(client);
  client.line.cutShard();
  expect([client.line.state, handle.state]).toEqual(["connected", "uncertain"]);
});

test("rule 9: a message of a master that was replaced makes no waiter a holder", async () => {
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
  // The new master knows the earlier holder, but not the hand-over.
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
  // The new holder's own renewal was answered before the caller got the grant. It brought everything to the replica.
  scene.redis.failOver(0);
  expect(scene.holder).toBe(owner);
  expect(second.remainingMs()).toBeGreaterThan(0);
});

test("rule 9: the word of a master that was replaced meanwhile counts for nothing, neither yes nor no", async () => {
  const scene = new Scene();
  const client = scene.client();
  const handle = await scene.acquire(client);
  // Plays a cluster in which one shard moves while the connection to the old master stays open.
  client.line.weather = { ...client.line.weather, delayMs: () => 100 };
  const confirmed = handle.confirm();
  // The test reads the outcome from the handle.
  confirmed.catch(() => {});
  const renewals = scene.count("renew");
  while (scene.count("renew") === renewals) await scene.runtime.step();
  client.line.weather = { ...client.line.weather, delayMs: () => 900 };
  scene.redis.replicate();
  scene.redis.failOver(0);
  client.line.cutSubscriptions();
  client.line.mend();
  await scene.runtime.advance(150);
  expect(handle.state).toBe("uncertain");
});

test("rule 9: what a new master hands over on its own, under a token below one that was seen before, is asked about first", async () => {
  for (const fresh of [true, false]) {
    const scene = new Scene();
    const first = await scene.acquire(scene.client());
    const client = scene.client(rare);
    const { granted } = await scene.queue(client);
    // The replica gets nothing more from here on. Its clock is behind, and this client sees a higher token than it has.
    scene.redis.replicate();
    scene.redis.replicating = false;
    const seen = BigInt(scene.redis.now.string(keys.token) as string) + 60_000_000n;
    scene.redis.now.set(keys.token, String(seen));
    expect(await scene.settle(client.mutex(lockName).tryAcquire())).toBeNull();
    for (const { line } of scene.clients) line.cut();
    scene.redis.failOver(-10_000);
    scene.clients[0]?.line.mend();
    // The heartbeat would raise the token, but it is overtaken, as if its script had to be loaded first.
    client.line.weather = { ...client.line.weather, delayMs: () => 200, reorders: () => true };
    client.line.mend();
    await scene.runtime.advance(0);
    client.line.weather = { ...client.line.weather, delayMs: () => 1, reorders: () => false };
    // By then the answer to another request may have shown the clock of the new master.
    if (fresh) await scene.settle(client.mutex("another").acquire());
    await scene.settle(first.release());
    const handle = await scene.settle(granted);
    expect(handle.token, `fresh ${fresh}`).toBeGreaterThan(seen);
  }
});

test("rule 10: all keys of a script are in one slot, and our own channels begin with one prefix", async () => {
  const scene = new Scene();
  const scripts = new Set<string>();
  scene.redis.onExecute = (name, all) => {
    scripts.add(name);
    expect(new Set(all.map(slotOfKey)).size, `${name}: ${all}`).toBe(1);
  };
  const takes: ((client: SimulatedClient) => Promise<LockHandle>)[] = [
    ({ provider }) => provider.mutex(lockName).acquire(),
    ({ provider }) => provider.readWriteLock(lockName).write.acquire(),
    ({ provider }) => provider.leaderElection(lockName).campaign(),
    (client) => client.fairMutex(lockName).acquire(),
  ];
  for (const take of takes) {
    const holder = await scene.settle(take(scene.client()));
    const waiting = take(scene.client());
    await scene.runtime.advance(1_100);
    await scene.settle(holder.confirm());
    await scene.settle(holder.release());
    await scene.settle((await scene.settle(waiting)).release());
  }
  for (const kind of ["acquire", "heartbeat", "release"]) {
    for (const lock of ["mutex", "write", "fair"]) expect([...scripts]).toContain(`${lock}-${kind}`);
  }
  const toOurs = scene.published.filter(({ message }) => message.startsWith("{"));
  expect(toOurs.length).toBeGreaterThan(0);
  for (const { channel } of toOurs) expect(channel).toMatch(/^holdfast_grant:[0-9a-f-]{36}$/);
});

test("rule 11: a grant that a heartbeat has found reaches its caller once the replicas have a renewal of it", async () => {
  const scene = new Scene();
  const policy = { acks: 1, replicas: 1 };
  const first = await scene.acquire(scene.client(policy));
  const { granted, owner } = await scene.queue(scene.client(policy, { message: () => [] }));
  await scene.settle(first.release());
  await scene.settle(granted);
  scene.redis.failOver(0);
  expect(scene.holder).toBe(owner);
});

test("rule 11: after a failover a hold counts again once the replicas of the new master have it", async () => {
  const scene = new Scene();
  const client = scene.client({ acks: 1, replicas: 1 });
  const handle = await scene.acquire(client);
  client.line.cut();
  scene.redis.failOver(0);
  scene.redis.replicating = false;
  client.line.mend();
  await scene.runtime.advance(500);
  expect(handle.state).toBe("uncertain");
  scene.redis.replicating = true;
  await scene.runtime.advance(500);
  expect(handle.state).toBe("held");
});
