import { InvalidArgumentError, type LockProvider, MemorySpace, memoryLocks } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import cron from "node-cron";
import { expect, onTestFinished, test } from "vitest";
import { cronCoordinator, lastRun } from "../src/index.js";
import { loseAnswerToClaim } from "./records.js";

function replicas(count: number): LockProvider[] {
  const space = new MemorySpace();
  return Array.from({ length: count }, () => memoryLocks({ space }));
}
const keyOf = (second: number): string => `report:2026-01-31T03:00:${String(second).padStart(2, "0")}.000Z`;

test("one replica of many may run for each key, and none for a due time before one that was claimed", async () => {
  const coordinators = replicas(5).map((locks) => cronCoordinator(locks));
  for (const second of [1, 2, 5]) {
    const may = await Promise.all(coordinators.map((each) => each.shouldRun(keyOf(second), 30_000)));
    expect(may.filter((yes) => yes)).toHaveLength(1);
  }
  expect(await coordinators[0]?.shouldRun(keyOf(4), 30_000)).toBe(false);
});

test("the end of a run is noted, unless a later one was claimed meanwhile", async () => {
  const [locks] = replicas(1) as [LockProvider];
  const coordinator = cronCoordinator(locks, { by: "host-1/17" });
  await coordinator.shouldRun(keyOf(1), 30_000);
  expect(await lastRun(locks, "report")).toMatchObject({ state: "running", by: "host-1/17" });
  await coordinator.onComplete(keyOf(1));
  expect(await lastRun(locks, "report")).toMatchObject({ state: "done" });
  await coordinator.shouldRun(keyOf(2), 30_000);
  await coordinator.shouldRun(keyOf(3), 30_000);
  await coordinator.onComplete(keyOf(2));
  expect(await lastRun(locks, "report")).toMatchObject({
    state: "running",
    due: new Date("2026-01-31T03:00:03.000Z"),
  });
});

test("a claim that was written although its answer was lost is a run of the replica that made it", async () => {
  const [one, two] = replicas(2) as [LockProvider, LockProvider];
  const lost = loseAnswerToClaim(one);
  const coordinator = cronCoordinator(one);
  expect(await coordinator.shouldRun(keyOf(1), 30_000)).toBe(true);
  expect(lost()).toBe(true);
  expect(await cronCoordinator(two).shouldRun(keyOf(1), 30_000)).toBe(false);
  await coordinator.onComplete(keyOf(1));
  expect(await lastRun(two, "report")).toMatchObject({ state: "done" });
});

test("a claim whose answer was lost, and which another replica has passed over meanwhile, rejects and is no plain no", async () => {
  const [one, two] = replicas(2) as [LockProvider, LockProvider];
  loseAnswerToClaim(one, () => cronCoordinator(two).shouldRun(keyOf(2), 30_000));
  await expect(cronCoordinator(one).shouldRun(keyOf(1), 30_000)).rejects.toThrow("the answer was lost");
  expect(await cronCoordinator(one).shouldRun(keyOf(1), 30_000)).toBe(false);
});

test.each(["report", ":2026-01-31T03:00:01.000Z", "report:soon", "report:2026-99-31T03:00:01.000Z"])(
  "a key without a name and a due time is refused: %s",
  async (key) => {
    const [locks] = replicas(1) as [LockProvider];
    await expect(cronCoordinator(locks).shouldRun(key, 1)).rejects.toBeInstanceOf(InvalidArgumentError);
  },
);

test("tasks of node-cron in three replicas run once a second together", async () => {
  const runs: string[] = [];
  const tasks = replicas(3).map((locks) =>
    cron.schedule("* * * * * *", ({ date }) => void runs.push(date.toISOString()), {
      name: "report",
      distributed: true,
      runCoordinator: cronCoordinator(locks),
    }),
  );
  onTestFinished(async () => {
    for (const task of tasks) await task.destroy();
  });
  await eventually(() => runs.length >= 3, { what: "three runs" });
  expect(new Set(runs).size).toBe(runs.length);
});
