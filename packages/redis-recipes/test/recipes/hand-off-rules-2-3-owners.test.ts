import { simulatedRuntime } from "@holdfast/core/testing";
import { expect, test } from "vitest";
import { grantChannel } from "../../src/layout/channels.js";
import type { WireOwners } from "../../src/layout/owners.js";
import { type Held, Holds } from "../../src/recipes/grants/holds.js";
import type { Requests } from "../../src/recipes/requests/requests.js";
import { mutexHeartbeat } from "../../src/scripts/mutex/heartbeat.js";
import { keyList, keys, lockName, Scene } from "./scene.js";
import type { SimulatedClient } from "./simulated-client.js";

test("rule 2: the first renewal goes out within 10 ms and sets the full lease, also with renew: false", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const { granted } = await scene.queue(scene.client(), { renew: false });
  await scene.settle(first.release());
  const handle = await scene.settle(granted);
  await scene.runtime.advance(20);
  expect(scene.pttlMs).toBeGreaterThan(29_000);
  expect(handle.remainingMs()).toBeGreaterThan(29_000);
  const lease = scene.count("renew");
  await scene.runtime.advance(25_000);
  expect(scene.count("renew")).toBe(lease);
  expect(handle.state).toBe("held");
  await scene.runtime.advance(6_000);
  expect(handle.state).toBe("lost");
});

test("rule 2: a hold that is released before its first renewal is due sends none", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const { granted } = await scene.queue(scene.client());
  await scene.settle(first.release());
  const handle = await scene.settle(granted);
  await scene.runtime.advance(5);
  expect(await scene.settle(handle.release())).toBe("released");
  await scene.runtime.advance(100);
  expect(scene.count("renew")).toBe(0);
  expect(scene.holder).toBeUndefined();
});

test("rule 2: of two holds that were handed over, the end of one leaves the first renewal of the other, and that of both no timer", async () => {
  const runtime = simulatedRuntime(1);
  const settings = { aliveMs: 3_500, claimLeaseMs: 3_000 };
  const holds = new Holds({ runtime, settings } as unknown as Requests, {} as WireOwners);
  const claimed: string[] = [];
  const handedOver = (name: string): Held => {
    const spec = { owner: name, field: name, lock: { key: name, sharing: "none" } };
    const claim = async (): Promise<void> => void claimed.push(name);
    const hold = { slot: null, delivered: true, spec, claim } as unknown as Held;
    holds.add(hold, true);
    holds.claimSoon(hold);
    return hold;
  };
  const first = handedOver("first");
  await runtime.advance(5);
  const second = handedOver("second");
  holds.remove(first);
  await runtime.advance(10);
  expect(claimed).toEqual(["second"]);
  expect(runtime.pendingTimers).toBe(0);
  holds.remove(second);
  const third = handedOver("third");
  holds.remove(third);
  expect(runtime.pendingTimers).toBe(0);
  handedOver("fourth");
  await runtime.advance(10);
  expect(claimed).toEqual(["second", "fourth"]);
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

test("rule 3: a grant for an owner that was never ours is left alone, and reported by an event", async () => {
  const scene = new Scene();
  const client = scene.client();
  const unknown: string[] = [];
  client.provider.events.on("unknown-grant", ({ key, owner }) => unknown.push(`${key} ${owner}`));
  await scene.settle((await scene.acquire(client)).release());
  const cancels = scene.count("mutex-cancel");
  const stranger = { type: "granted", key: lockName, owner: `${client.state.owners.uuid}:999`, token: "9" };
  const message = { ...stranger, pttl: "3000", at: String(scene.redis.nowUs), run: scene.redis.runId };
  client.line.publish(grantChannel(client.state.owners.uuid), JSON.stringify(message));
  await scene.runtime.advance(50);
  expect(client.provider.holds()).toEqual([]);
  expect(scene.count("mutex-cancel")).toBe(cancels);
  expect(unknown).toEqual([`${lockName} ${stranger.owner}`]);
});

test("rule 3: a grant for an owner that ended, however long ago, is no unknown one", async () => {
  const scene = new Scene();
  const client = scene.client();
  const unknown: string[] = [];
  client.provider.events.on("unknown-grant", ({ owner }) => unknown.push(owner));
  const first = await scene.acquire(scene.client());
  const { granted, owner } = await scene.queue(client);
  await scene.settle(first.release());
  const handle = await scene.settle(granted);
  const ended = { type: "granted", key: lockName, owner, token: String(handle.token) };
  const say = async (): Promise<void> => {
    const message = { ...ended, pttl: "3000", at: String(scene.redis.nowUs), run: scene.redis.runId };
    client.line.publish(grantChannel(client.state.owners.uuid), JSON.stringify(message));
    await scene.runtime.advance(50);
  };
  // A message for the present holder is no unknown grant either.
  await say();
  await scene.settle(handle.release());
  const cancels = scene.count("mutex-cancel");
  await say();
  expect(scene.count("mutex-cancel")).toBe(cancels + 1);
  await scene.runtime.advance(60_000);
  // After a minute and other ended owners, this owner is no longer remembered.
  const second = await scene.acquire(scene.clients[1] as SimulatedClient);
  const later = await scene.queue(client);
  await scene.settle(second.release());
  await scene.settle((await scene.settle(later.granted)).release());
  await say();
  expect(unknown).toEqual([]);
});

test("rule 3: a cancel goes out behind the acquire that it cancels, which could overtake nothing else", async () => {
  const scene = new Scene();
  const client = scene.client();
  await scene.settle((await scene.acquire(client)).release());
  const abort = new AbortController();
  client.line.weather = { ...client.line.weather, delayMs: () => 200, reorders: () => true };
  const granted = client.mutex(lockName).acquire({ signal: abort.signal });
  await scene.runtime.advance(1);
  client.line.weather = { ...client.line.weather, delayMs: () => 1, reorders: () => false };
  abort.abort(new Error("enough"));
  await expect(scene.settle(granted)).rejects.toThrow("enough");
  await scene.runtime.advance(1_000);
  expect(scene.count("mutex-acquire")).toBe(2);
  expect(scene.holder).toBeUndefined();
});

test("rule 3: a waiter that gives up in the moment it hears of its turn leaves no hold behind, neither here nor at the server", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const waiter = scene.client();
  const abort = new AbortController();
  waiter.provider.events.on("notified", () => abort.abort(new Error("enough")));
  const { granted } = await scene.queue(waiter, { signal: abort.signal });
  await scene.settle(first.release());
  await expect(scene.settle(granted)).rejects.toThrow("enough");
  expect(waiter.state.holds.on(lockName)).toEqual([]);
  await scene.runtime.advance(1_000);
  expect(scene.count("renew")).toBe(0);
  expect(scene.holder).toBeUndefined();
});

test("rule 3: a heartbeat that was under way when its wait was given up, and comes after the cancel, is cancelled too", async () => {
  const scene = new Scene();
  await scene.acquire(scene.client());
  const waiter = scene.client();
  const abort = new AbortController();
  const { granted, owner } = await scene.queue(waiter, { signal: abort.signal });
  waiter.line.weather = { ...waiter.line.weather, delayMs: () => 200, reorders: () => true };
  waiter.line.cutSubscriptions();
  waiter.line.mend();
  await scene.runtime.advance(1);
  waiter.line.weather = { ...waiter.line.weather, delayMs: () => 1, reorders: () => false };
  abort.abort(new Error("enough"));
  await expect(scene.settle(granted)).rejects.toThrow("enough");
  expect(scene.waiters).toEqual([]);
  while (scene.waiters.length === 0) await scene.runtime.step();
  expect(scene.waiters).toEqual([owner]);
  await scene.runtime.advance(50);
  expect(scene.waiters).toEqual([]);
});

test("rule 3: an owner is known before its acquire is sent, so a hand-over may overtake the answer that says queued", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const waiter = scene.client({ heartbeatMs: 20_000, aliveMs: 70_000 });
  waiter.line.weather = { ...waiter.line.weather, delayMs: () => 300 };
  const granted = waiter.mutex(lockName).acquire();
  while (scene.waiters.length === 0) await scene.runtime.step();
  const handedMs = scene.runtime.nowMs();
  await scene.settle(first.release());
  await scene.settle(granted);
  expect(scene.count("mutex-heartbeat")).toBe(0);
  // The grant came with the answer to the acquire, not by a later request.
  expect(scene.runtime.nowMs() - handedMs).toBeLessThan(350);
});

test("rule 3: what takes back a read beside a write does not end the next read beside it", async () => {
  const scene = new Scene();
  const lock = scene.client().provider.readWriteLock(lockName);
  const write = await scene.settle(lock.write.acquire());
  const abort = new AbortController();
  const first = write.downgrade({ signal: abort.signal });
  first.catch(() => {});
  await scene.runtime.advance(0);
  abort.abort();
  await first.catch(() => {});
  const read = await scene.settle(write.downgrade());
  await scene.runtime.advance(100);
  expect(read.state).toBe("held");
  expect(scene.redis.fieldsOf(lockName)).toHaveLength(1);
  const other = scene.client().provider.readWriteLock(lockName);
  expect(await scene.settle(other.write.tryAcquire())).toBeNull();
});

test("rule 3: the end of a read beside a write, delivered late by a connection that was given up, ends no later read beside it", async () => {
  const scene = new Scene();
  const client = scene.client({}, { strayMs: () => 2_600 });
  const write = await scene.settle(client.provider.readWriteLock(lockName).write.acquire());
  const abort = new AbortController();
  const first = write.downgrade({ signal: abort.signal });
  first.catch(() => {});
  await scene.runtime.advance(0);
  abort.abort();
  const executed = scene.count("read-release");
  await scene.runtime.advance(2.5);
  client.line.cut();
  client.line.mend();
  await first.catch(() => {});
  // The repeat of the end is answered before the next read is asked for.
  while (scene.count("read-release") === executed) await scene.runtime.step();
  await scene.runtime.advance(10);
  const read = await scene.settle(write.downgrade());
  const ends = scene.count("read-release");
  await scene.runtime.advance(2_700);
  expect({ ends: ends - executed, late: scene.count("read-release") - ends }).toEqual({ ends: 1, late: 1 });
  expect(read.state).toBe("held");
  expect(scene.redis.fieldsOf(lockName)).toHaveLength(1);
  const other = scene.client().provider.readWriteLock(lockName);
  expect(await scene.settle(other.write.tryAcquire())).toBeNull();
  expect(await scene.settle(read.release())).toBe("released");
});

test("rule 3: a waiter for a lock is not granted by a hand-over of the lock of the same name in braces, whose queue it shares", async () => {
  const scene = new Scene();
  const inBraces = await scene.settle(scene.client().mutex(`{${lockName}}`).acquire());
  const holder = await scene.acquire(scene.client());
  const { granted } = await scene.queue(scene.client(), { waitMs: 5_000 });
  let came = false;
  granted.then(() => {
    came = true;
  });
  await scene.settle(inBraces.release());
  await scene.runtime.advance(5);
  expect(came).toBe(false);
  expect(holder.state).toBe("held");
  await scene.settle(holder.release());
  const next = await scene.settle(granted);
  expect(next.state).toBe("held");
});
