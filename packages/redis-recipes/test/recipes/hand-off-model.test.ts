import { expect, test } from "vitest";
import { type Figures, noFigures, Schedule } from "./schedule.js";

const full = process.env.HOLDFAST_FULL === "1";
const count = full ? 10_000 : 1_000;

/** Schedules whose seeds come from one: any of them can be run again alone. */
const firstSeed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 1_000_000_000);

test(
  "whatever chance does to clients, messages, clocks and masters: one holder, rising tokens, and nobody waits for ever",
  async () => {
    console.log(`share ${count}/10000 schedules of the mutex, seeds from ${firstSeed} (HOLDFAST_SEED)`);
    const sum = noFigures();
    for (let seed = firstSeed; seed < firstSeed + count; seed++) {
      const figures = await new Schedule(seed).run();
      for (const key of Object.keys(sum) as (keyof Figures)[]) sum[key] += figures[key];
    }
    console.log(sum);
    // Schedules that never meet a case prove nothing of it.
    for (const key of Object.keys(sum) as (keyof Figures)[]) expect(sum[key], key).toBeGreaterThan(0);
  },
  full ? 1_800_000 : 240_000,
);
