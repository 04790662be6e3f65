import type { LockHandle, Millis } from "@holdfast/core";
import { expect, test } from "vitest";
import { javaOwner, lockName, Scene } from "./scene.js";
import type { SimulatedClient } from "./simulated-client.js";

const other = "another lock, whose renewals show the step";

/** How far the server's clock is set, and for how long an answer from just before that is on its way. */
const stepMs: Millis = 29_900;
const lateMs: Millis = 500;

/** From now on answers come late and may be overtaken, as by an answer on another connection of the same client. */
function late(client: SimulatedClient): void {
  client.line.weather = { ...client.line.weather, delayMs: () => lateMs / 2, reorders: () => true };
}

function inTime(client: SimulatedClient): void {
  client.line.weather = { ...client.line.weather, delayMs: () => 1, reorders: () => false };
}

/** Sets the server's clock. The client notices it by the answer to a request that it sends then. */
async function stepNoticed(scene: Scene, beside: LockHandle): Promise<void> {
  // This hold outlasts the step, because it is renewed right before it.
  await scene.settle(beside.confirm());
  scene.redis.offsetMs += stepMs;
  await scene.settle(beside.confirm());
}

function told(granted: Promise<LockHandle>): { readonly yes: boolean } {
  const seen = { yes: false };
  granted.then(
    () => {
      seen.yes = true;
    },
    () => {
      // The acquire may also be refused, which is no grant either.
    },
  );
  return seen;
}

test("rule 1: a grant that was answered before a step, and comes after it was noticed, is confirmed and not believed", async () => {
  const scene = new Scene();
  const client = scene.client();
  const beside = await scene.settle(client.mutex(other).acquire());
  const granted = client.mutex(lockName).acquire();
  const seen = told(granted);
  await scene.runtime.advance(0.5);
  late(client);
  await scene.runtime.advance(1);
  expect(scene.holder).toBeDefined();
  inTime(client);
  await stepNoticed(scene, beside);
  await scene.runtime.advance(100);
  // At the server the lease is over, although the answer says that it has just begun.
  expect(scene.holder).toBeUndefined();
  scene.javaTakes();
  await scene.runtime.advance(lateMs + 100);
  expect(seen.yes).toBe(false);
  expect(scene.count("renew")).toBeGreaterThanOrEqual(2);
});

test("rule 1: a read lock that was granted before a step, and comes after it was noticed, is confirmed and not believed", async () => {
  const scene = new Scene();
  const client = scene.client();
  const beside = await scene.settle(client.mutex(other).acquire());
  const seen = told(client.provider.readWriteLock(lockName).read.acquire());
  await scene.runtime.advance(0.5);
  late(client);
  await scene.runtime.advance(1);
  inTime(client);
  await stepNoticed(scene, beside);
  await scene.runtime.advance(100);
  scene.redis.space.del(lockName);
  scene.javaTakes();
  await scene.runtime.advance(lateMs + 100);
  expect(seen.yes).toBe(false);
});

/** Two holds in one slot of a cluster. The second is renewed together with the first. */
async function twoInASlot() {
  const scene = new Scene();
  const client = scene.client();
  (client.line as { slotOf(): number | null }).slotOf = () => 0;
  const first = await scene.settle(client.mutex(other).acquire());
  await scene.runtime.advance(1_000);
  const second = await scene.acquire(client);
  const { leaseMs } = client.state.requests.settings;
  // Each hold has been renewed once by its own timer. From then on they are renewed together.
  await scene.runtime.advance(leaseMs / 2);
  return { scene, first, second, leaseMs };
}

test("in a cluster a holder learns of its loss by the renewal that went along with that of another hold", async () => {
  const { scene, first, second, leaseMs } = await twoInASlot();
  const { lost } = second;
  scene.redis.space.del(lockName);
  await scene.runtime.advance(leaseMs / 2);
  expect([first.state, lost.aborted, second.state]).toEqual(["held", true, "lost"]);
});

test("in a cluster a hold is not proven by a renewal of before the machine slept", async () => {
  const { scene, second, leaseMs } = await twoInASlot();
  const { lost } = second;
  const renewedAt = scene.count("renew");
  while (scene.count("renew") === renewedAt) await scene.runtime.advance(10);
  // All leases end while the machine sleeps. The clock that never steps does not show that.
  scene.runtime.stepWall(2 * leaseMs);
  scene.redis.offsetMs += 2 * leaseMs;
  scene.javaTakes();
  // The test does not read the handle until its renewal was due, because reading it would check the hold by itself.
  await scene.runtime.advance(leaseMs / 12);
  expect(lost.aborted || second.remainingMs() === 0).toBe(true);
});

test("rule 1: a request that does not wait and whose confirmation finds nothing is refused, and sends no heartbeat", async () => {
  const scene = new Scene();
  const client = scene.client();
  const beside = await scene.settle(client.mutex(other).acquire());
  const asked = client.mutex(lockName).acquire({ waitMs: 0 });
  asked.catch(() => {});
  await scene.runtime.advance(0.5);
  late(client);
  await scene.runtime.advance(1);
  inTime(client);
  await stepNoticed(scene, beside);
  await scene.runtime.advance(100);
  // At the server the lease is over, although the answer says that it has just begun.
  expect(scene.holder).toBeUndefined();
  scene.javaTakes();
  await expect(scene.settle(asked)).rejects.toThrow("no renewal could confirm it");
  expect(scene.count("mutex-heartbeat")).toBe(0);
  expect(scene.waiters).toEqual([]);
  expect(scene.holder).toBe(javaOwner);
});

test("rule 1: a heartbeat that was answered before a step grants nothing after it was noticed", async () => {
  const scene = new Scene();
  const client = scene.client({}, { message: () => [] });
  const beside = await scene.settle(client.mutex(other).acquire());
  const first = await scene.acquire(scene.client());
  const { granted } = await scene.queue(client);
  const seen = told(granted);
  await scene.settle(first.release());
  const beats = scene.count("mutex-heartbeat");
  // The waiter's next heartbeat finds the hand-over, but that answer is slow.
  scene.redis.onExecute = (name) => {
    if (name === "mutex-heartbeat") late(client);
  };
  while (scene.count("mutex-heartbeat") === beats) await scene.runtime.step();
  scene.redis.onExecute = () => {};
  inTime(client);
  await stepNoticed(scene, beside);
  await scene.runtime.advance(10);
  expect(scene.holder).toBeUndefined();
  scene.javaTakes();
  await scene.runtime.advance(lateMs + 100);
  expect(seen.yes).toBe(false);
});

test("rule 1: a confirmation that was answered before a step confirms nothing after it was noticed", async () => {
  const scene = new Scene();
  const client = scene.client({ heartbeatMs: 20_000, aliveMs: 70_000 }, { message: () => [2_500] });
  const beside = await scene.settle(client.mutex(other).acquire());
  const first = await scene.acquire(scene.client());
  const { granted } = await scene.queue(client);
  const seen = told(granted);
  await scene.settle(first.release());
  // The message comes so late that it must be confirmed, and the answer to the confirmation is slow.
  const renewals = scene.count("renew");
  scene.redis.onExecute = (name) => {
    if (name === "renew") late(client);
  };
  while (scene.count("renew") === renewals) await scene.runtime.step();
  scene.redis.onExecute = () => {};
  inTime(client);
  await stepNoticed(scene, beside);
  await scene.runtime.advance(110);
  expect(scene.holder).toBeUndefined();
  scene.javaTakes();
  await scene.runtime.advance(lateMs + 100);
  expect(seen.yes).toBe(false);
});

test("rule 1: a renewal that was answered before a step prolongs nothing after it was noticed", async () => {
  const scene = new Scene();
  const client = scene.client();
  const beside = await scene.settle(client.mutex(other).acquire());
  const handle = await scene.acquire(client);
  const confirmed = handle.confirm();
  // The test reads the outcome from the handle.
  confirmed.catch(() => {});
  scene.redis.onExecute = () => late(client);
  const renewals = scene.count("renew");
  while (scene.count("renew") === renewals) await scene.runtime.step();
  scene.redis.onExecute = () => {};
  inTime(client);
  // From now on all requests time out, except the one whose answer shows the step.
  await stepNoticed(scene, beside);
  client.line.weather = { ...client.line.weather, delayMs: () => 900, reorders: () => false };
  await scene.runtime.advance(lateMs + 10);
  expect(handle.state).toBe("uncertain");
});

test.each([
  ["a mutex", (client: SimulatedClient) => client.mutex(lockName).tryAcquire()],
  ["a read lock", (client: SimulatedClient) => client.provider.readWriteLock(lockName).read.tryAcquire()],
])(
  "rule 1: %s that is tried after a step which no answer has shown yet is asked for once more, with a right date",
  async (_what, attempt) => {
    const scene = new Scene();
    const client = scene.client();
    await scene.settle((await scene.settle(client.mutex(other).acquire())).release());
    scene.redis.offsetMs += 5_000;
    const held = await scene.settle(attempt(client));
    expect(held?.state).toBe("held");
  },
);
