import { expect, it } from "vitest";
import { share } from "../support/share.js";
import { runSchedule } from "./schedule.js";
import { writeLog } from "./support/artefact.js";

const given = Number(process.env.HOLDFAST_SEED);
const replaying = Number.isInteger(given) && given > 0;
const replays = 10;
/** The seed times a thousand, plus a number, is the seed of each client's random numbers. */
const largestSeed = 2_000_000_000;

it.each([
  ["random schedules", false, 50, 5_000],
  ["random schedules with kept locks", true, 20, 2_500],
] as const)(
  "%s: one holder at a time, every client is served and nothing is left behind under random faults at counted requests",
  async (what, kept, part, whole) => {
    const first = replaying ? given : 1 + Math.floor(Math.random() * largestSeed);
    const count = replaying ? 1 : share(what, part, whole);
    console.log(`seeds of the schedules: ${first} to ${first + count - 1}`);
    let faults = 0;
    let grants = 0;
    let lent = 0;
    const wrong: string[] = [];
    for (let seed = first; seed < first + count; seed++) {
      const result = await runSchedule(seed, { kept });
      faults += result.faults;
      grants += result.grants;
      lent += result.lent;
      if (result.violations.length > 0) wrong.push(await report(seed, kept, result.violations, result.lines));
    }
    console.log(
      `${count} schedules: ${faults} faults happened, ${grants} grants were judged, ${lent} of them lent`,
    );
    expect(wrong, wrong.join("\n\n")).toEqual([]);
    if (replaying) return;
    // Chance decides how much happens: 20 schedules with kept locks had about 40 faults and 300 grants, and lent a lock between 18
    // and 39 times. These limits are far below that.
    expect(faults).toBeGreaterThan(count / 2);
    expect(grants).toBeGreaterThan(5 * count);
    if (kept) expect(lent).toBeGreaterThan(0);
    else expect(lent).toBe(0);
  },
  3_600_000,
);

it("has the same run again for the same seed", async () => {
  let same = 0;
  const seeds = Array.from({ length: replays }, (_, index) => 77_001 + index);
  for (const seed of seeds) {
    const [one, other] = [await runSchedule(seed), await runSchedule(seed)];
    if (one.lines.join("\n") === other.lines.join("\n")) same += 1;
  }
  console.log(`${same} of ${replays} seeds gave the same log, line by line, when run again`);
  // A busy kernel may deliver the bytes of two connections in another order, and one seed in ten then has another run. Where
  // something else than the seed decides, hardly any seed has the same run again.
  expect(same).toBeGreaterThanOrEqual(replays / 2);
});

async function report(
  seed: number,
  kept: boolean,
  violations: readonly string[],
  lines: readonly string[],
): Promise<string> {
  let failed = 0;
  for (let replay = 0; replay < replays; replay++) {
    if ((await runSchedule(seed, { kept })).violations.length > 0) failed += 1;
  }
  return [
    `seed ${seed}: ${violations.join("\n  ")}`,
    `fails again in ${failed} of ${replays} replays; event log: ${writeLog(`schedule ${seed}`, lines)}`,
    `again: HOLDFAST_SEED=${seed} npx vitest run --project servers e2e/sweep/schedules.test.ts -t "${kept ? "with kept locks" : "random schedules:"}"`,
  ].join("\n  ");
}
