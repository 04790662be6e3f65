import type { LockHandle, PrimitiveKind } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import { lockName, Scene } from "./scene.js";
import type { SimulatedClient } from "./simulated-client.js";
import { calm } from "./simulated-line.js";

test("a holder whose lock was freed by force loses it as stolen, and a revocable one is asked first", async () => {
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

type Asked = (client: SimulatedClient) => Promise<LockHandle>;

/** The kinds of lock as the driver names them, each with a call that acquires it. */
const asks: readonly (readonly [PrimitiveKind, Asked])[] = [
  ["mutex", (client) => client.mutex(lockName).acquire()],
  ["read-write-lock", (client) => client.provider.readWriteLock(lockName).write.acquire()],
];

describe.each(asks)(
  "a %s that is taken by force, with news that overtakes the answer of the grant,",
  (kind, acquire) => {
    test("is not delivered beside the next holder's, but asked for again behind it", async () => {
      const scene = new Scene();
      const [victim, operator, rival] = [scene.client(), scene.client(), scene.client()];
      // The first request of each client finds out what the server can do.
      for (const client of [victim, rival])
        await scene.settle((await scene.settle(acquire(client))).release());
      const handles: LockHandle[] = [];
      const asked = acquire(victim).then((handle) => handles.push(handle));
      // The request has arrived, but its answer is slow.
      await scene.runtime.advance(0.5);
      victim.line.weather = { ...calm, delayMs: () => 250 };
      await scene.runtime.advance(1);
      victim.line.weather = { ...calm, delayMs: () => 1 };
      expect(await scene.settle(operator.driver.force(kind, lockName))).toBe(true);
      const next = await scene.settle(acquire(rival));
      await scene.runtime.advance(1_000);
      next.assertHeld();
      expect(handles).toEqual([]);
      expect(await scene.settle(next.release())).toBe("released");
      await scene.settle(asked);
      expect(handles.map(({ state }) => state)).toEqual(["held"]);
      expect(victim.provider.holds()).toHaveLength(1);
    });
  },
);

test("a heartbeat's answer that calls the waiter a holder is not believed when news of a forced release overtook it", async () => {
  const scene = new Scene();
  const [operator, rival] = [scene.client(), scene.client()];
  const first = await scene.acquire(scene.client());
  const victim = scene.client({}, { message: () => [] });
  const handles: LockHandle[] = [];
  const { granted, owner } = await scene.queue(victim);
  const asked = granted.then((handle) => handles.push(handle));
  // The hand-over message is lost, and the answer to the heartbeat that would find the grant is slow.
  await scene.settle(first.release());
  expect(scene.holder).toBe(owner);
  victim.line.weather = { ...calm, delayMs: () => 250 };
  const heartbeats = scene.count("mutex-heartbeat");
  while (scene.count("mutex-heartbeat") === heartbeats) await scene.runtime.step();
  expect(await scene.settle(operator.driver.force("mutex", lockName))).toBe(true);
  const next = await scene.acquire(rival);
  victim.line.weather = calm;
  await scene.runtime.advance(1_000);
  next.assertHeld();
  expect(handles).toEqual([]);
  expect(await scene.settle(next.release())).toBe("released");
  await scene.settle(asked);
  expect(handles.map(({ state }) => state)).toEqual(["held"]);
});
