import { expect, test } from "vitest";
import { lockName, Scene } from "./scene.js";

const rare = { heartbeatMs: 20_000, aliveMs: 70_000 };

test("a nudge that overtakes the answer which says queued is not forgotten", async () => {
  const scene = new Scene();
  const operator = scene.client();
  await scene.acquire(scene.client());
  const waiter = scene.client(rare, { delayMs: () => 300, message: () => [1] });
  const granted = waiter.mutex(lockName).acquire();
  while (scene.waiters.length === 0) await scene.runtime.step();
  const freedMs = scene.runtime.nowMs();
  await scene.settle(operator.driver.force("mutex", lockName));
  const handle = await scene.settle(granted);
  // That is the rest of the answer's way, and a heartbeat there and back.
  expect(scene.runtime.nowMs() - freedMs).toBeLessThan(1_000);
  expect(await scene.settle(handle.release())).toBe("released");
});
