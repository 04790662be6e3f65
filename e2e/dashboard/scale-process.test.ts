import { fileURLToPath } from "node:url";
import type { DashboardReport } from "@holdfast/bench";
import { expect, it } from "vitest";
import { Program } from "../packaging/program.js";
import { buildPackages } from "../support/process/emit.js";
import { share } from "../support/share.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const full = 100_000;
const locks = share("locks on each backend behind the dashboard's own process", 4_000, full);
const streams = share("streams in front of it, a tenth of them stalled", 50, 500);
const phaseMs = share("ms of each phase", 2_000, 20_000);

/** 500 MB with all locks. A good third of that is the program itself, and what streams and answers take for a while. */
const rssBound = (180 + (320 * locks) / full) * 2 ** 20;
const stallBoundMs = 100;

it("keeps the dashboard's own process small and its event loop turning, with many locks, a viewer and very many streams", {
  timeout: 400_000,
}, async () => {
  await buildPackages("@holdfast/bench");
  const args = ["dashboard", "--json", "--locks", locks, "--streams", streams, "--phase", phaseMs];
  const program = Program.start(`${root}apps/bench/dist/main.js`, root, args.map(String));
  await program.ended;
  const [told] = program.lines;
  if (told === undefined) throw new Error(`the bench told nothing: ${program.errors}`);
  const report = JSON.parse(told) as DashboardReport;
  for (const { what, ...inside } of report.phases)
    console.log(
      `${what}: ${Math.round(inside.highestBytes / 2 ** 20)} MB at most, longest work between two turns ${Math.round(inside.longestWorkMs)} ms, by the clock ${Math.round(inside.longestWallMs)} ms`,
    );
  expect(report.phases.map(({ what }) => what)).toEqual([
    "start",
    "sync",
    "nobody looks",
    "one viewer",
    `${streams} streams`,
  ]);
  const [, ...serving] = report.phases;
  for (const { what, rssBytes, highestBytes, longestWorkMs } of serving) {
    expect(Math.max(rssBytes, highestBytes), what).toBeLessThan(rssBound);
    // Its own processor time is measured. Elapsed time would include what other processes on this machine take.
    expect(longestWorkMs, what).toBeLessThan(stallBoundMs);
  }
  // The reading clients must have received events while contenders came and went.
  expect(report.streams?.pairs).toBeGreaterThan(phaseMs / 100);
  expect(report.streams?.least).toBeGreaterThan(3);
});
