import { beforeAll, expect, test } from "vitest";
import { addFigures, noFigures } from "./figures.js";
import { Schedule } from "./schedule.js";
import { withoutLongWaits } from "./without-long-waits.js";

beforeAll(withoutLongWaits);

const full = process.env.HOLDFAST_FULL === "1";
const all = 5_000;
const count = full ? all : 150;

/** The first of consecutive seeds. Any schedule can be run again alone by its seed. */
const firstSeed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 1_000_000_000);

test("whatever chance does to clients, messages, clocks and masters: one holder, rising tokens, and no waiter waits for ever", async () => {
  console.log(`share ${count}/${all} schedules of the hand-off, seeds from ${firstSeed} (HOLDFAST_SEED)`);
  const sum = noFigures();
  // Schedules that never meet a case prove nothing about it. The rarest case comes once in 50 schedules, and seeds vary.
  const missing = (): string[] => {
    const { lent: _lent, keptUntilWish: _wish, keptUntilLost: _lost, ...met } = sum;
    return Object.keys(met).filter((key) => met[key as keyof typeof met] === 0);
  };
  let seed = firstSeed;
  for (; seed < firstSeed + count || (missing().length > 0 && seed < firstSeed + 10 * count); seed++) {
    addFigures(sum, await new Schedule(seed).run());
  }
  console.log(`${seed - firstSeed} schedules`, sum);
  expect(missing()).toEqual([]);
}, 3_600_000);
