import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { historiesFolder } from "../../src/checkers/self-test/hand-made.js";
import { main } from "../../src/cli/main.js";
import { reportCommand } from "../../src/report/commands.js";
import { readResults } from "../../src/report/results-json.js";
import { writeReports } from "../../src/report/write-reports.js";
import { everyKind, outcome, runOf } from "./outcomes.js";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "holdfast-reports-"));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function kept(id: string, history = "two-holders"): Promise<string> {
  const folder = join(dir, id);
  await mkdir(folder, { recursive: true });
  await copyFile(join(historiesFolder, `${history}.jsonl`), join(folder, "history.jsonl"));
  return folder;
}

it("writes everything, and reads a run back as it was", async () => {
  const run = everyKind();
  expect(await writeReports(run, dir)).toEqual([]);
  expect(await readResults(dir)).toEqual(run);
  expect(await readFile(join(dir, "junit.xml"), "utf8")).toContain("<testsuites");
  expect(await readFile(join(dir, "summary.md"), "utf8")).toContain("# Chaos run");
});

it("puts a timeline beside each history, and goes on when one cannot be drawn", async () => {
  const [good, bad, none] = [await kept("Z01"), await kept("Z02"), join(dir, "Z03")];
  await writeFile(join(bad, "history.jsonl"), "{");
  const run = runOf(
    outcome({ folder: bad, scenario: { id: "Z02" } }),
    outcome({ folder: none, scenario: { id: "Z03" } }),
    outcome({ folder: good }),
  );
  expect(await writeReports(run, dir)).toEqual([
    expect.stringMatching(/^Z02: no timeline: line 1: not JSON/),
  ]);
  expect(await readFile(join(good, "timeline.html"), "utf8")).toContain("<title>Z01: a fair lock");
});

it("writes the same again from a folder that was moved", async () => {
  await writeReports(runOf(outcome({ folder: await kept("Z01") })), dir);
  const texts = async (of: string): Promise<string[]> =>
    Promise.all(
      ["results.json", "summary.md", "Z01/timeline.html"].map((file) => readFile(join(of, file), "utf8")),
    );
  const before = await texts(dir);
  const moved = `${dir}-moved`;
  await rename(dir, moved);
  try {
    for (const file of ["summary.md", "junit.xml", "Z01/timeline.html"]) await rm(join(moved, file));
    expect(await reportCommand([moved], () => {})).toBe(0);
    expect(await texts(moved)).toEqual(before);
  } finally {
    await rm(moved, { recursive: true, force: true });
  }
});

it("draws a history without a run, and refuses what it cannot read", async () => {
  const lines: string[] = [];
  const out = (line: string): void => void lines.push(line);
  const folder = await kept("alone");
  expect(await reportCommand([join(folder, "history.jsonl")], out)).toBe(0);
  expect(await readFile(join(folder, "timeline.html"), "utf8")).toContain("two-holders");
  expect(await reportCommand([folder], out)).toBe(0);
  const refused = (...args: string[]): Promise<number> => main(["report", ...args], out);
  expect(await refused(join(dir, "nothing"))).toBe(254);
  await writeFile(join(dir, "results.json"), '{"v":2,"outcomes":[]}');
  expect(await refused(dir)).toBe(254);
  expect(lines.at(-1)).toContain("version 2 of the format is not known");
  expect(await refused()).toBe(254);
  expect(await refused("--what")).toBe(254);
  expect(await reportCommand(["--help"], out)).toBe(0);
});
