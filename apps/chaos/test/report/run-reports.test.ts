import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { readResults } from "../../src/report/results-json.js";
import { RunReports } from "../../src/report/run-reports.js";
import { outcome } from "./outcomes.js";

it("reports are there after each scenario, and what is not finished stands in them as unknown", async () => {
  const dir = mkdtempSync(join(tmpdir(), "run-reports-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const unfinished = ["Z01", "Z02"].map((id) =>
    outcome({
      scenario: { id },
      outcome: "unknown",
      why: "not finished: the run was ended before",
      folder: null,
    }),
  );
  const reports = new RunReports(dir, 7, unfinished);
  await reports.add(outcome({ scenario: { id: "Z02" }, folder: null }));
  const { seed, outcomes } = await readResults(dir);
  expect(seed).toBe(7);
  expect(outcomes.map((each) => [each.scenario.id, each.outcome])).toEqual([
    ["Z01", "unknown"],
    ["Z02", "as-expected"],
  ]);
  expect(readFileSync(join(dir, "junit.xml"), "utf8")).toContain(
    '<error type="unknown" message="not finished',
  );
  expect(reports.finished).toBe(1);
  // Each report is written whole and then put in place, so no half of one is left.
  expect(readdirSync(dir).toSorted()).toEqual(["junit.xml", "results.json", "summary.md"]);
});

it("the verdict of a scenario is in the reports before its timeline is drawn", async () => {
  const dir = mkdtempSync(join(tmpdir(), "run-reports-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const folder = join(dir, "Z01");
  mkdirSync(folder);
  // The timeline reads a history that does not end yet.
  execFileSync("mkfifo", [join(folder, "history.jsonl")]);
  const reports = new RunReports(dir, 7, []);
  const added = reports.add(outcome({ scenario: { id: "Z01" }, outcome: "violation", folder }));
  await expect
    .poll(async () => (await readResults(dir)).outcomes.map(({ outcome: each }) => each))
    .toEqual(["violation"]);
  expect(existsSync(join(folder, "timeline.html"))).toBe(false);
  // The end of the history lets the timeline end. Opening the pipe waits for its reader, which needs the event loop meanwhile.
  await writeFile(join(folder, "history.jsonl"), "");
  await added;
});
