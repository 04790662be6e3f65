import { BackendError } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";
import { beforeEach, expect, test } from "vitest";
import { type Run, runDue } from "../src/index.js";
import { loseAnswerToClaim, standBefore } from "./records.js";
import { everyMs, minutes, replicas } from "./replicas.js";

let { runtime, provider } = replicas();
beforeEach(() => {
  ({ runtime, provider } = replicas());
});

test("a process that runs what is due, once in the fleet, and exits", async () => {
  const options = { every: everyMs, runtime };
  const jobs: string[] = [];
  const call = (who: string) => runDue(provider(), "job", options, () => jobs.push(who));
  expect(await call("first")).toBeNull();
  await runtime.advance(everyMs);
  const reports = await Promise.all([call("a"), call("b"), call("c")]);
  expect(reports.filter((report) => report !== null)).toMatchObject([{ outcome: "done", attempt: 1 }]);
  expect(jobs).toHaveLength(1);
  expect(await call("late")).toBeNull();
});

test("a process whose claim was written although its answer was lost makes the run", async () => {
  const options = { every: everyMs, runtime };
  await runDue(provider(), "job", options, () => {});
  await runtime.advance(everyMs);
  const locks = provider();
  const lost = loseAnswerToClaim(locks);
  const runs: Run[] = [];
  const report = runDue(locks, "job", options, (run) => runs.push(run));
  await runtime.advance(everyMs / 2);
  expect(await report).toMatchObject({ outcome: "done", attempt: 1 });
  expect(lost()).toBe(true);
  expect(minutes(runs)).toEqual([1]);
});

test("a process to whose claims no answer comes tries some more times, and rejects", async () => {
  const options = { every: everyMs, runtime };
  await runDue(provider(), "job", options, () => {});
  await runtime.advance(everyMs);
  const locks = provider();
  let claims = 0;
  standBefore(locks, () => ({
    async replace() {
      claims++;
      throw new BackendError("no answer", { backend: "memory" });
    },
  }));
  const failure = runDue(locks, "job", options, () => {}).catch((error: unknown) => error);
  await runtime.advance(everyMs / 2);
  expect(await failure).toBeInstanceOf(BackendError);
  expect(claims).toBe(6);
});

test("a process whose claim may have been written waits once more for the lock, and gives up where another client keeps it", async () => {
  const options = { every: everyMs, runtime };
  await runDue(provider(), "job", options, () => {});
  await runtime.advance(everyMs);
  const locks = provider();
  const lost = loseAnswerToClaim(locks);
  const { mutex } = locks;
  let waits = 0;
  locks.mutex = (name) => {
    waits++;
    return mutex.call(locks, name);
  };
  const runs: Run[] = [];
  const report = runDue(locks, "job", options, (run) => runs.push(run));
  await runtime.advance(100);
  expect(lost()).toBe(true);
  await provider().mutex("schedules/job/lock").acquire();
  await runtime.advance(3 * everyMs);
  expect(waits).toBe(2);
  expect(await report).toBeNull();
  expect(runs).toEqual([]);
});

test("a process waits for the lock of a replica that died before it had claimed", async () => {
  const options = { every: everyMs, runtime };
  await runDue(provider(), "job", options, () => {});
  await runtime.advance(everyMs);
  const dead = provider();
  await dead.mutex("schedules/job/lock").acquire();
  const report = runDue(provider(), "job", options, () => {});
  await runtime.advance(30_000);
  await dead.close();
  await runtime.advance(1_000);
  expect(await report).toMatchObject({ outcome: "done", attempt: 1 });
});

test("a process claims what is due although the end of the run before, whose lock was lost, is noted meanwhile", async () => {
  const options = { every: everyMs, runtime };
  await runDue(provider(), "job", options, () => {});
  await runtime.advance(everyMs);
  const [earlier, later] = [provider(), provider()];
  let finish = (): void => {};
  const job = () => new Promise<void>((resolve) => (finish = resolve));
  const cut = runDue(earlier, "job", options, job);
  await runtime.advance(100);
  memoryControls(earlier).expire();
  memoryControls(earlier).reconnect();
  await runtime.advance(everyMs);
  let reads = 0;
  standBefore(later, (shared) => ({
    async read() {
      const text = await shared.read();
      // The second reading is the look under the lock.
      if (++reads === 2) {
        finish();
        expect(await cut).toMatchObject({ outcome: "lost" });
      }
      return text;
    },
  }));
  const runs: Run[] = [];
  const report = runDue(later, "job", options, (run) => runs.push(run));
  await runtime.advance(everyMs / 2);
  expect(await report).toMatchObject({ outcome: "done", attempt: 1 });
  expect(minutes(runs)).toEqual([2]);
});

test("with catchUp all each call makes one run, until one gives null", async () => {
  const options = { every: everyMs, catchUp: "all", runtime } as const;
  const call = () => runDue(provider(), "job", options, () => {});
  expect(await call()).toBeNull();
  await runtime.advance(3.5 * everyMs);
  const reports = [await call(), await call(), await call()];
  expect(minutes(reports.filter((report) => report !== null))).toEqual([1, 2, 3]);
  expect(await call()).toBeNull();
});

test("a process gives up after some two minutes where a lock without a claim is never let go", async () => {
  const options = { every: everyMs, runtime };
  await runDue(provider(), "job", options, () => {});
  await runtime.advance(everyMs);
  await provider().mutex("schedules/job/lock").acquire();
  let over = false;
  const report = runDue(provider(), "job", options, () => {}).finally(() => {
    over = true;
  });
  await runtime.advance(100_000);
  expect(over).toBe(false);
  await runtime.advance(60_000);
  expect(over).toBe(true);
  expect(await report).toBeNull();
});
