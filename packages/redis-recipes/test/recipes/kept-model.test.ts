import { beforeAll, expect, test } from "vitest";
import { addFigures, noFigures } from "./figures.js";
import { Schedule } from "./schedule.js";
import { withoutLongWaits } from "./without-long-waits.js";

beforeAll(withoutLongWaits);

const full = process.env.HOLDFAST_FULL === "1";
const all = 5_000;
const count = full ? all : 100;

/** The first of consecutive seeds. Any schedule can be run again alone by its seed. */
const firstSeed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 1_000_000_000);

test("whatever chance does while locks are kept for their next owners: one holder, rising tokens, and no waiter waits for ever", async () => {
  console.log(`share ${count}/${all} schedules of kept locks, seeds from ${firstSeed} (HOLDFAST_SEED)`);
  const sum = noFigures();
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    addFigures(sum, await new Schedule(seed, { keeping: true }).run());
  }
  console.log(sum);
  // Schedules that never meet a case prove nothing about it.
  const { lent, keptUntilWish, keptUntilLost, javaGrants, crashes, pauses, cuts, failovers, forced } = sum;
  const met = { lent, keptUntilWish, keptUntilLost, javaGrants, crashes, pauses, cuts, failovers, forced };
  for (const [key, times] of Object.entries(met)) expect(times, key).toBeGreaterThan(0);
}, 3_600_000);
