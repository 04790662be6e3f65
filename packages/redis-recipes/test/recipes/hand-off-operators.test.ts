import { expect, test } from "vitest";
import { lockName, Scene } from "./scene.js";

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
