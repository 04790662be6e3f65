import { expect, test, vi } from "vitest";
import { ServerClock } from "../../src/recipes/requests/server-clock.js";
import { mutexHeartbeat } from "../../src/scripts/mutex/heartbeat.js";
import { keyList, keys, lockName, Scene } from "./scene.js";

const rare = { heartbeatMs: 20_000, aliveMs: 70_000 };

test("rule 1: a message that sat in a buffer for most of the claim lease is confirmed before the caller gets the grant", async () => {
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
  // The new holder's renewal is still on the way. Its claim lease of 3 s began 900 ms ago.
  expect(scene.pttlMs).toBeLessThan(3_000);
  expect(handle.remainingMs()).toBeLessThanOrEqual(scene.pttlMs);
});

test("rule 1: a message of a server whose clock was stepped forward gives no more time than its claim lease", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const waiter = scene.client();
  const { granted } = await scene.queue(waiter);
  waiter.line.weather = { ...waiter.line.weather, delayMs: () => 950 };
  scene.redis.offsetMs += 2_000;
  await scene.settle(first.release());
  const handle = await scene.settle(granted);
  // The new holder's renewal, which shows the step of the clock, is still on the way.
  expect(scene.pttlMs).toBeLessThanOrEqual(3_000);
  expect(handle.remainingMs()).toBeLessThanOrEqual(scene.pttlMs);
});

test("rule 1: a message whose claim lease is over makes no waiter a holder", async () => {
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
  // A late copy of a heartbeat makes the waiter the holder a second time. The answer to that copy reaches no client.
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
  // The waiter is cut off. It misses that it is made the holder, and that the lock is taken from it again.
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
  // The message was not even confirmed: the answer that said "queued" was the later word.
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
  // The new holder's renewal is still on the way.
  expect(scene.pttlMs).toBeLessThan(3_000);
  expect(handle.remainingMs()).toBeLessThanOrEqual(scene.pttlMs);
});

test("rule 1: a message without the run id of its server is confirmed before the caller gets the grant", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const { granted } = await scene.queue(scene.client(rare));
  // The messages are those of a server whose scripts may not ask for the run id.
  scene.redis.runIdInMessages = false;
  await scene.settle(first.release());
  await scene.settle(granted);
  expect(scene.count("renew")).toBe(1);
});

test("rule 1: with a bound of the server's clock that is older than three seconds a message has to be confirmed", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const waiter = scene.client({ aliveMs: 20_000 });
  const { granted } = await scene.queue(waiter);
  let told = false;
  void granted.then(() => {
    told = true;
  });
  // The waiter's requests are executed, but their answers do not come in time.
  waiter.line.weather = { ...waiter.line.weather, delayMs: () => 1_500 };
  await scene.runtime.advance(3_000);
  await scene.settle(first.release());
  await scene.runtime.advance(500);
  expect(told).toBe(false);
  waiter.line.weather = { ...waiter.line.weather, delayMs: () => 1 };
  const handle = await scene.settle(granted);
  expect(handle.remainingMs()).toBeLessThanOrEqual(scene.pttlMs);
});

test("rule 1: a grant and a confirmation are good from when they were asked for, however late their answers", async () => {
  const scene = new Scene();
  const client = scene.client();
  client.line.weather = { ...client.line.weather, delayMs: () => 450 };
  const handle = await scene.acquire(client);
  expect(handle.remainingMs()).toBeLessThanOrEqual(scene.pttlMs);
  const waiter = scene.client(rare, { message: () => [2_500] });
  const { granted } = await scene.queue(waiter);
  await scene.settle(handle.release());
  waiter.line.weather = { ...waiter.line.weather, delayMs: () => 450 };
  const second = await scene.settle(granted);
  expect(scene.count("renew")).toBe(1);
  expect(second.remainingMs()).toBeLessThanOrEqual(scene.pttlMs);
});

test("rule 1: a waiter whose heartbeats are late at a node of another clock asks again with its next turn, not at once", async () => {
  const scene = new Scene();
  await scene.acquire(scene.client());
  const waiter = scene.client();
  await scene.queue(waiter);
  let asked = 0;
  // Plays a slot that is on its way to that node: the clock of the master that is asked shows nothing of the node's clock.
  vi.spyOn(waiter.line, "runAll").mockImplementation(() => {
    asked++;
    const sentMs = waiter.runtime.nowMs();
    const late = { status: "late", serverMs: sentMs + 5_000 };
    const answer = { reply: [late], sentMs, answeredMs: sentMs + 1, runId: "b".repeat(40) };
    return [waiter.pass(1).then(() => answer as never)];
  });
  await scene.runtime.advance(5_000);
  expect(asked).toBeGreaterThan(3);
  expect(asked).toBeLessThan(7);
});

test("rule 1: a step of the server's clock that a slow answer hides shows with the next quick answer", () => {
  const clock = new ServerClock();
  expect(clock.observe({ serverMs: 10_000, sentMs: 0, answeredMs: 2 })).toBe(true);
  // The clock may have been read 700 ms after the request. Or it was read after 500 ms and had been set forward by 200 ms.
  expect(clock.observe({ serverMs: 11_700, sentMs: 1_000, answeredMs: 1_750 })).toBe(true);
  expect(clock.observe({ serverMs: 12_201, sentMs: 2_000, answeredMs: 2_002 })).toBe(false);
  // All bounds of the clock are forgotten.
  expect(clock.upperMs(2_002)).toBeNull();
  expect(clock.observe({ serverMs: 12_201.5, sentMs: 2_001, answeredMs: 2_003 })).toBe(true);
  expect(clock.observe({ serverMs: 12_204, sentMs: 2_003, answeredMs: 2_005 })).toBe(true);
  expect(clock.trusts(2_001)).toBe(false);
  expect(clock.trusts(2_003)).toBe(true);
});

test("rule 1: the bound of the server's clock counts from when it was asked for, not from its answer", () => {
  const clock = new ServerClock();
  clock.observe({ serverMs: 10_000, sentMs: 0, answeredMs: 800 });
  // The clock may have been read at once, with a slow answer. So what ends at 13 s may end 3 s after the request.
  expect(clock.localMs(13_000)).toBe(3_000);
  expect(clock.upperMs(800)).toBe(10_800);
  expect(clock.ageMs(800)).toBe(800);
});
