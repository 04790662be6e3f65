import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type Course, runSchedule, type ScheduleOptions } from "./schedule.js";

const fullRun = process.env.HOLDFAST_FULL === "1";

// The clocks of a schedule run at different rates, and each schedule would emit a warning about that.
beforeAll(() => {
  vi.spyOn(process, "emitWarning").mockImplementation(() => {});
});
afterAll(() => vi.restoreAllMocks());

async function schedules(part: number, full: number, what: string, options: ScheduleOptions) {
  const count = fullRun ? full : part;
  const first = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 30));
  console.log(`share ${count}/${full} ${what}, seeds from ${first}`);
  const courses: Course[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const course = await runSchedule(seed, options);
    expect(course.wrong, `seed ${seed}: HOLDFAST_SEED=${seed} repeats it`).toEqual([]);
    courses.push(course);
  }
  const sum = (of: (course: Course) => number) => courses.reduce((all, course) => all + of(course), 0);
  const told = {
    grants: sum(({ grants }) => grants),
    losses: sum(({ losses }) => losses),
    cancelled: sum(({ cancelled }) => cancelled),
    restarts: sum(({ restarts }) => restarts),
  };
  console.log(JSON.stringify(told));
  // Without these the test proves nothing.
  expect(told.grants).toBeGreaterThan(4 * count);
  expect(told.losses).toBeGreaterThan(count / 20);
  expect(told.restarts).toBeGreaterThan(count);
}

it(
  "never two that may rely on their hold at one instant, whatever happens to nodes, connections and processes",
  () => schedules(75, 2_500, "schedules of crashes, empty restarts, pauses and lost replies", {}),
  3_600_000,
);

it(
  "tokens that are written back rise from grant to grant while nodes remember",
  () => schedules(50, 1_000, "schedules with tokens", { durable: true }),
  3_600_000,
);
