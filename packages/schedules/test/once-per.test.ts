import { BackendError, InvalidArgumentError, LayoutConflictError } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";
import { beforeEach, expect, it, onTestFinished, test, vi } from "vitest";
import {
  lastRun,
  lastRuns,
  type OncePerOptions,
  oncePer,
  type Run,
  type RunReport,
  runDue,
} from "../src/index.js";
import { loseAnswerToClaim, refuseNotes, standBefore } from "./records.js";
import { everyMs, minutes, replicas } from "./replicas.js";

let { runtime, provider } = replicas();
beforeEach(() => {
  ({ runtime, provider } = replicas());
});

/** A wait on the simulated clock, which takes no real time. */
const simulated = (ms: number): Promise<void> => new Promise((resolve) => void runtime.setTimer(ms, resolve));

function start(
  job: (run: Run) => unknown,
  options: Partial<OncePerOptions> = {},
  locks = provider(),
): ReturnType<typeof oncePer> {
  const schedule = oncePer(locks, "job", { every: everyMs, runtime, ...options }, job);
  onTestFinished(async () => {
    const stopped = schedule.stop();
    await runtime.advance(1_000_000);
    await stopped;
  });
  return schedule;
}

/** Collects the codes of our process warnings. */
function warnings(): string[] {
  const codes: string[] = [];
  const spy = vi.spyOn(process, "emitWarning").mockImplementation((_text, options) => {
    codes.push((options as { code: string }).code);
  });
  onTestFinished(() => spy.mockRestore());
  return codes;
}

test("a schedule runs at each due time from its first start on, and never at one before", async () => {
  const runs: Run[] = [];
  start((run) => runs.push(run));
  await runtime.advance(3.5 * everyMs);
  expect(minutes(runs)).toEqual([1, 2, 3]);
  expect(runs.map(({ attempt, name }) => [attempt, name])).toEqual([
    [1, "job"],
    [1, "job"],
    [1, "job"],
  ]);
});

test("the claim alone keeps two replicas from running one due time, also where the lock lets both in", async () => {
  const runs: Run[] = [];
  for (const own of ["a", "b"]) {
    const locks = provider();
    const { mutex } = locks;
    locks.mutex = (name) => mutex.call(locks, `${name}-${own}`);
    // A read takes 10 ms, so that both replicas have read the same record before either claims the run.
    standBefore(locks, (shared) => ({
      async read() {
        const text = await shared.read();
        await simulated(10);
        return text;
      },
    }));
    start((run) => runs.push(run), {}, locks);
  }
  await runtime.advance(20.5 * everyMs);
  expect(minutes(runs)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
});

test("a claim that was written although its answer was lost is run by the replica that made it, once", async () => {
  const locks = provider();
  const lost = loseAnswerToClaim(locks);
  const runs: Run[] = [];
  start((run) => runs.push(run), {}, locks);
  start((run) => runs.push(run));
  await runtime.advance(3.5 * everyMs);
  expect(lost()).toBe(true);
  expect(minutes(runs)).toEqual([1, 2, 3]);
  expect(runs.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
});

test("runs that take longer than the time between them do not overlap, in whichever replica they are, and the last due time is caught up", async () => {
  let going = 0;
  let most = 0;
  const runs: Run[] = [];
  const job = async (run: Run): Promise<void> => {
    runs.push(run);
    most = Math.max(most, ++going);
    await simulated(2.5 * everyMs);
    going--;
  };
  start(job);
  start(job);
  await runtime.advance(10 * everyMs);
  expect(most).toBe(1);
  expect(minutes(runs)).toEqual([1, 3, 6, 8]);
});

test.each([
  ["the last of them, by default", {}, [5]],
  ["each of them, in order", { catchUp: "all" }, [1, 2, 3, 4, 5]],
  ["those that are not too late", { catchUp: "all", maxLateMs: 2.2 * everyMs }, [4, 5]],
] as const)(
  "of due times that passed while no replica was there, %s is run",
  async (_, options, expected) => {
    const first = start(() => {});
    await runtime.advance(100);
    await first.stop();
    await runtime.advance(5.5 * everyMs);
    const runs: Run[] = [];
    start((run) => runs.push(run), options);
    await runtime.advance(100);
    expect(minutes(runs)).toEqual(expected);
  },
);

test("between the begins of two runs there is at least the time that atLeastMs says", async () => {
  const first = start(() => {});
  await runtime.advance(100);
  await first.stop();
  await runtime.advance(3.5 * everyMs);
  const begins: number[] = [];
  start(() => begins.push(runtime.nowMs()), { catchUp: "all", atLeastMs: 5_000 });
  await runtime.advance(20_000);
  expect(begins).toHaveLength(3);
  const apart = begins.slice(1).map((begin, i) => begin - (begins[i] as number));
  for (const ms of apart) expect(ms).toBeGreaterThanOrEqual(5_000);
});

test("between the begins of two runs there is the time that atLeastMs says, also where the first began long after its claim", async () => {
  const first = start(() => {});
  await runtime.advance(100);
  await first.stop();
  await runtime.advance(3.5 * everyMs);
  const locks = provider();
  const lost = loseAnswerToClaim(locks, () => simulated(12_000));
  const begins: number[] = [];
  start(() => begins.push(runtime.nowMs()), { catchUp: "all", atLeastMs: 5_000 }, locks);
  await runtime.advance(25_000);
  expect(lost()).toBe(true);
  expect(begins).toHaveLength(3);
  const apart = begins.slice(1).map((begin, i) => begin - (begins[i] as number));
  for (const ms of apart) expect(ms).toBeGreaterThanOrEqual(5_000);
});

test("a replica that rests because of atLeastMs looks at the wall clock meanwhile, and runs soon after its machine has slept", async () => {
  const hourMs = 3_600_000;
  const runs: Run[] = [];
  start((run) => runs.push(run), { atLeastMs: hourMs });
  await runtime.advance(2.5 * everyMs);
  expect(minutes(runs)).toEqual([1]);
  runtime.stepWall(3 * hourMs);
  await runtime.advance(everyMs);
  expect(runs).toHaveLength(2);
});

test("a due time may come from a function, such as a library of cron expressions", async () => {
  const runs: Run[] = [];
  const every = (after: Date): Date =>
    new Date(Math.floor(after.getTime() / everyMs) * everyMs + 1.5 * everyMs);
  start((run) => runs.push(run), { every });
  await runtime.advance(3 * everyMs);
  expect(minutes(runs)).toEqual([1.5, 2.5]);
});

test("lastRun gives the due time, the replica and the outcome of the last run, also once all replicas are gone", async () => {
  const codes = warnings();
  const locks = provider();
  expect(await lastRun(locks, "job")).toBeNull();
  const schedule = start(
    () => {
      throw new Error("no paper");
    },
    { by: "host-1/17" },
  );
  await runtime.advance(everyMs);
  await schedule.stop();
  const due = new Date(Date.UTC(2026, 0, 1) + everyMs);
  expect(await lastRun(locks, "job")).toMatchObject({
    due,
    state: "failed",
    by: "host-1/17",
    error: "no paper",
  });
  expect(codes).toEqual(["HF_RUN_FAILED"]);
});

test("all schedules of a provider are listed with their last runs, whichever replica started them first", async () => {
  const locks = provider();
  expect([...(await lastRuns(locks))]).toEqual([]);
  const options = { every: everyMs, runtime };
  const started = ["b", "a", "c"].map((name) => oncePer(provider(), name, options, () => {}));
  started.push(oncePer(provider(), "a", options, () => {}));
  await runtime.advance(100);
  expect([...(await lastRuns(locks))]).toEqual([
    ["a", null],
    ["b", null],
    ["c", null],
  ]);
  await runtime.advance(everyMs);
  const states = [...(await lastRuns(locks)).values()].map((last) => last?.state);
  expect(states).toEqual(["done", "done", "done"]);
  const record = locks.record("schedules/b");
  expect(await record.replace(await record.read(), "something else")).toBe(true);
  expect([...(await lastRuns(locks)).keys()]).toEqual(["a", "c"]);
  const stopped = Promise.all(started.map((each) => each.stop()));
  await runtime.advance(100);
  await stopped;
});

test("reports tell how each run of this replica has ended", async () => {
  const reports: RunReport[] = [];
  let fail = false;
  const failure = new Error("no paper");
  const job = (): void => {
    fail = !fail;
    if (fail) throw failure;
  };
  start(job, { onRun: (report) => reports.push(report) });
  await runtime.advance(2.5 * everyMs);
  expect(reports.map(({ outcome, error }) => [outcome, error])).toEqual([
    ["failed", failure],
    ["done", undefined],
  ]);
});

test("stop() lets a run come to its end and begins no other", async () => {
  const ends: string[] = [];
  const schedule = start(async () => {
    await simulated(everyMs / 2);
    ends.push("run");
  });
  await runtime.advance(everyMs);
  const stopped = schedule.stop().then(() => ends.push("stop"));
  await runtime.advance(5 * everyMs);
  await stopped;
  expect(ends).toEqual(["run", "stop"]);
});

test("stop() while the record is read begins no run, and another replica makes it", async () => {
  const locks = provider();
  let reads = 0;
  standBefore(locks, (shared) => ({
    async read() {
      const text = await shared.read();
      // The second reading is the look under the lock.
      if (shared.name === "schedules/job" && text !== null && ++reads === 2) void schedule.stop();
      return text;
    },
  }));
  const [mine, others]: [Run[], Run[]] = [[], []];
  await runDue(provider(), "job", { every: everyMs, runtime }, () => {});
  await runtime.advance(everyMs);
  const schedule = start((run) => mine.push(run), {}, locks);
  await runtime.advance(1_000);
  expect(reads).toBe(2);
  expect(mine).toEqual([]);
  start((run) => others.push(run));
  await runtime.advance(1_000);
  expect(minutes(others)).toEqual([1]);
});

test("the end of a run is noted as soon as the backend is back, so that it does not look like one that was cut", async () => {
  const locks = provider();
  const refusals = refuseNotes(locks, 5);
  const codes = warnings();
  const runs: Run[] = [];
  start((run) => runs.push(run), { ifCut: "again" }, locks);
  start((run) => runs.push(run), { ifCut: "again" });
  await runtime.advance(3.5 * everyMs);
  expect(refusals()).toBe(5);
  expect(minutes(runs)).toEqual([1, 2, 3]);
  expect(runs.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
  expect(codes).toEqual([]);
});

test("the end of a run is noted although the lock is in doubt until then", async () => {
  const locks = provider();
  const { mutex } = locks;
  const doubted = { state: "uncertain", remainingMs: () => 0 };
  locks.mutex = (name) => {
    const own = mutex.call(locks, name);
    own.acquire = async (options) => {
      const handle = await Object.getPrototypeOf(own).acquire.call(own, options);
      return new Proxy(handle, {
        get(target, key) {
          const value = key in doubted ? doubted[key as "state"] : Reflect.get(target, key, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    };
    return own;
  };
  const refusals = refuseNotes(locks, 5);
  const codes = warnings();
  const runs: Run[] = [];
  start((run) => runs.push(run), { ifCut: "again" }, locks);
  await runtime.advance(1.5 * everyMs);
  expect(refusals()).toBe(5);
  expect(runs.map(({ attempt }) => attempt)).toEqual([1]);
  expect(await lastRun(provider(), "job")).toMatchObject({ state: "done" });
  expect(codes).toEqual([]);
});

test("a run that was cut longer ago than maxLateMs is not made again", async () => {
  const runs: Run[] = [];
  const born = { v: 1, state: "running", claim: "dead", attempt: 1, by: "dead" };
  const dueMs = runtime.wallMs() - 90_000;
  await provider()
    .record("schedules/job")
    .replace(null, JSON.stringify({ ...born, due: dueMs, at: dueMs }));
  start((run) => runs.push(run), { ifCut: "again", maxLateMs: 80_000 });
  await runtime.advance(2.5 * everyMs);
  expect(runs.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
  expect(Math.min(...runs.map(({ due }) => due.getTime()))).toBeGreaterThan(dueMs);
});

test("a provider that is closed ends its schedules", async () => {
  const locks = provider();
  const runs: Run[] = [];
  const schedule = start((run) => runs.push(run), {}, locks);
  await runtime.advance(everyMs);
  await locks.close();
  await runtime.advance(everyMs);
  await schedule.stop();
  expect(runs).toHaveLength(1);
});

test("a replica that sees a run claimed later than now, by more than clocksWithinMs, warns once that the clocks are apart", async () => {
  const codes = warnings();
  const ahead = { ...runtime, wallMs: () => runtime.wallMs() + 2_000 };
  start(() => {}, { runtime: ahead });
  await runtime.advance(everyMs - 1_500);
  start(() => {}, { clocksWithinMs: 400 });
  await runtime.advance(3 * everyMs);
  expect(codes).toEqual(["HF_SCHEDULE_CLOCKS"]);
});

test.each([
  ["the first run of all", 0],
  ["a run", 1.5 * everyMs],
])(
  "a clock that was ahead at %s, and is set back, keeps due times from running until then, which a warning names each hour",
  async (_what, ranMs) => {
    const texts: string[] = [];
    const spy = vi.spyOn(process, "emitWarning").mockImplementation((text) => void texts.push(String(text)));
    onTestFinished(() => spy.mockRestore());
    const dayMs = 24 * 3_600_000;
    const runs: Run[] = [];
    const locks = provider();
    let aheadMs = 0;
    const drifting = { ...runtime, wallMs: () => runtime.wallMs() + aheadMs };
    if (ranMs > 0) start((run) => runs.push(run), { runtime: drifting }, locks);
    await runtime.advance(ranMs);
    aheadMs = dayMs;
    const begin = runtime.wallMs();
    if (ranMs === 0) start((run) => runs.push(run), { runtime: drifting }, locks);
    await runtime.advance(everyMs / 2);
    aheadMs = 0;
    const before = runs.length;
    await runtime.advance(dayMs / 2);
    expect(runs).toHaveLength(before);
    expect(texts.length).toBeGreaterThanOrEqual(11);
    expect(texts.length).toBeLessThanOrEqual(13);
    const [text = ""] = texts;
    const until = Date.parse(/until ([\dTZ:.-]+):/.exec(text)?.[1] ?? "");
    expect(Math.abs(until - begin - dayMs)).toBeLessThanOrEqual(everyMs);
    expect(text).toContain('delete the record "schedules/job"');
    await runtime.advance(dayMs / 2 + 2 * everyMs);
    expect(runs.length).toBeGreaterThan(before);
  },
);

test("a record of something else is left as it is, and the schedule says so and looks again", async () => {
  const codes = warnings();
  const record = provider().record("schedules/job");
  await record.replace(null, "mine");
  start(() => {});
  await runtime.advance(1_000);
  expect(codes[0]).toBe("HF_SCHEDULE_STUCK");
  expect(await record.read()).toBe("mine");
  await expect(lastRun(provider(), "job")).rejects.toBeInstanceOf(LayoutConflictError);
});

test("a record of the application under the name of the list of schedules is left as it is, and the schedule runs", async () => {
  const record = provider().record("schedules");
  await record.replace(null, '{"mine":1}');
  const runs: Run[] = [];
  start((run) => runs.push(run));
  await runtime.advance(1.5 * everyMs);
  expect(await record.read()).toBe('{"mine":1}');
  expect(runs).toHaveLength(1);
});

test("a run that cannot be noted until its lock is gone is warned of, and the schedule still stops", async () => {
  const codes = warnings();
  const locks = provider();
  standBefore(locks, (shared) => ({
    async replace(seen, text) {
      if (!text.includes('"done"')) return await shared.replace(seen, text);
      throw new BackendError("away", { backend: "memory" });
    },
  }));
  const schedule = start(() => {}, {}, locks);
  await runtime.advance(1.5 * everyMs);
  expect(codes).toEqual([]);
  memoryControls(locks).expire();
  await runtime.advance(20_000);
  expect(codes).toContain("HF_RUN_NOT_NOTED");
  let stopped = false;
  void schedule.stop().then(() => (stopped = true));
  await runtime.advance(10_000);
  expect(stopped).toBe(true);
});

const wrong: readonly [string, unknown, RegExp][] = [
  ["no options", undefined, /options must be an object/],
  ["an interval of nothing", { every: 0 }, /every must be a function or a number of milliseconds/],
  ["an interval in words", { every: "1d" }, /every must be .*; got 1d/],
  [
    "a negative distance",
    { every: 1_000, atLeastMs: -1 },
    /atLeastMs must be milliseconds, 0 or more; got -1/,
  ],
  [
    "an unknown rule for what was missed",
    { every: 1_000, catchUp: "some" },
    /catchUp must be "latest" or "all"; got some/,
  ],
  [
    "an unknown rule for what was cut",
    { every: 1_000, ifCut: "twice" },
    /ifCut must be "leave" or "again"; got twice/,
  ],
  ["an option that it does not know", { every: 1_000, ifcut: "again" }, /ifcut/],
  ["a listener that is none", { every: 1_000, onRun: 5 }, /onRun must be a function; got 5/],
];
it.each(wrong)("refuses %s with an InvalidArgumentError at once", (_, options, message) => {
  const call = () => oncePer(provider(), "job", options as OncePerOptions, () => {});
  expect(call).toThrow(InvalidArgumentError);
  expect(call).toThrow(message);
});

test("a function for due times that returns none after the given one is refused with what it returned", async () => {
  const locks = provider();
  const options = { every: (after: Date) => after, runtime };
  await runDue(locks, "job", options, () => {});
  await expect(runDue(locks, "job", options, () => {})).rejects.toThrow(/must return a Date after the one/);
});

test("a job is not begun once its lock is lost: the answer to its claim came late", async () => {
  const [late, other] = [provider(), provider()];
  standBefore(late, (shared) => ({
    async replace(seen, text) {
      const replaced = await shared.replace(seen, text);
      if (text.includes('"running"')) {
        memoryControls(late).expire();
        await simulated(100);
      }
      return replaced;
    },
  }));
  const began: [string, boolean][] = [];
  const reports: RunReport[] = [];
  const job = (by: string) => async (run: Run) => {
    began.push([by, run.signal.aborted]);
    await simulated(10_000);
  };
  start(job("late"), { ifCut: "again", onRun: (report) => reports.push(report) }, late);
  // The other schedule begins later, so the first one claims what is due.
  await runtime.advance(everyMs - 10);
  start(job("other"), { ifCut: "again" }, other);
  await runtime.advance(30_000);
  expect(began).toEqual([["other", false]]);
  expect(reports).toMatchObject([{ outcome: "lost", attempt: 1, error: { name: "LockLostError" } }]);
});

test.each(["a schedule", "runDue()"])(
  "a due time that %s claims after its lock is lost is not left out: the claim is taken back, and the job runs once",
  async (how) => {
    const late = provider();
    let losses = 0;
    standBefore(late, (shared) => ({
      async replace(seen, text) {
        const replaced = await shared.replace(seen, text);
        if (text.includes('"running"') && losses++ === 0) {
          memoryControls(late).expire();
          memoryControls(late).reconnect();
        }
        return replaced;
      },
    }));
    const runs: Run[] = [];
    const reports: RunReport[] = [];
    const options = { every: everyMs, runtime, onRun: (report: RunReport) => reports.push(report) };
    const job = (run: Run) => runs.push(run);
    await runDue(provider(), "job", options, job);
    await runtime.advance(everyMs - 10);
    if (how === "a schedule") start(job, options, late);
    await runtime.advance(10);
    if (how === "runDue()") void runDue(late, "job", options, job);
    await runtime.advance(everyMs / 2);
    expect(losses).toBe(2);
    expect(minutes(runs)).toEqual([1]);
    expect(reports).toMatchObject([{ outcome: "done", attempt: 1 }]);
  },
);

test("a due time that a replica claims after its lock is lost is run by another replica where the first one stops", async () => {
  const late = provider();
  standBefore(late, (shared) => ({
    async replace(seen, text) {
      const replaced = await shared.replace(seen, text);
      if (text.includes('"running"')) {
        void schedule.stop();
        memoryControls(late).expire();
        memoryControls(late).reconnect();
      }
      return replaced;
    },
  }));
  const [mine, others]: [Run[], Run[]] = [[], []];
  await runDue(provider(), "job", { every: everyMs, runtime }, () => {});
  await runtime.advance(everyMs);
  const schedule = start((run) => mine.push(run), {}, late);
  await runtime.advance(1_000);
  start((run) => others.push(run));
  await runtime.advance(1_000);
  expect(mine).toEqual([]);
  expect(minutes(others)).toEqual([1]);
});

test.each(["a schedule", "runDue()"])(
  "%s that loses its lock before its claim claims nothing, and runs the job under the next lock",
  async (how) => {
    const locks = provider();
    let losses = 0;
    let held = false;
    locks.events.on("acquire-settled", ({ outcome }) => {
      held = outcome === "granted";
    });
    standBefore(locks, (shared) => ({
      async read() {
        const seen = await shared.read();
        if (held && losses === 0) {
          losses += 1;
          memoryControls(locks).expire();
          memoryControls(locks).reconnect();
        }
        return seen;
      },
    }));
    const runs: Run[] = [];
    const reports: RunReport[] = [];
    const options = { every: everyMs, runtime, onRun: (report: RunReport) => reports.push(report) };
    const job = (run: Run) => runs.push(run);
    if (how === "a schedule") start(job, options, locks);
    else await runDue(locks, "job", options, job);
    await runtime.advance(everyMs);
    if (how === "runDue()") void runDue(locks, "job", options, job);
    await runtime.advance(everyMs / 2);
    expect(losses).toBe(1);
    expect(minutes(runs)).toEqual([1]);
    expect(reports).toMatchObject([{ outcome: "done", attempt: 1 }]);
  },
);

test.each([
  [
    "throws",
    (): void => {
      throw new Error("the report was not sent");
    },
  ],
  [
    "rejects",
    async (): Promise<void> => {
      throw new Error("the report was not sent");
    },
  ],
])("an onRun that %s changes no outcome, and a warning names it", async (_, onRun) => {
  const told: string[] = [];
  const spy = vi.spyOn(process, "emitWarning").mockImplementation((text) => void told.push(String(text)));
  onTestFinished(() => spy.mockRestore());
  await runDue(provider(), "job", { every: everyMs, runtime }, () => {});
  await runtime.advance(everyMs);
  const report = await runDue(provider(), "job", { every: everyMs, runtime, onRun }, () => {});
  expect(report).toMatchObject({ outcome: "done" });
  await expect.poll(() => told).toHaveLength(1);
  expect(told[0]).toMatch(/^onRun of the schedule "job" threw: .*the report was not sent/);
});

test("a job that throws an error without a text has failed, and is not run again", async () => {
  const codes = warnings();
  const locks = provider();
  let runs = 0;
  const job = async (): Promise<void> => {
    runs++;
    throw Object.assign(new Error(), { message: Object.create(null) });
  };
  start(job, { ifCut: "again" }, locks);
  await runtime.advance(everyMs + 30_000);
  expect([runs, (await lastRun(locks, "job"))?.state, codes]).toEqual([1, "failed", ["HF_RUN_FAILED"]]);
});
