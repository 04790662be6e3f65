import { access, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunOutcome, ScenarioOutcome } from "../engine/outcome.js";
import { junitXml } from "./junit.js";
import { resultsJson } from "./results-json.js";
import { summaryMarkdown } from "./summary.js";
import { writeTimeline } from "./timeline/write-timeline.js";

/**
 * Writes `results.json`, `junit.xml` and `summary.md` into `dir`, and `timeline.html` beside every history that was
 * kept. A timeline that cannot be made (because a crash cut off its history) does not prevent the other reports. The
 * reasons are returned.
 */
export async function writeReports(run: RunOutcome, dir: string): Promise<string[]> {
  await writeSummaries(run, dir);
  return await writeTimelines(run.outcomes);
}

/**
 * Writes `results.json`, `junit.xml` and `summary.md`. Each file is replaced as a whole, so that a process which is
 * killed meanwhile leaves no half-written file.
 */
export async function writeSummaries(run: RunOutcome, dir: string): Promise<void> {
  await mkdir(dir, { recursive: true });
  const texts = {
    "results.json": resultsJson(run, dir),
    "junit.xml": junitXml(run),
    "summary.md": summaryMarkdown(run),
  };
  for (const [name, text] of Object.entries(texts)) {
    const half = join(dir, `.${name}.half`);
    await writeFile(half, text);
    await rename(half, join(dir, name));
  }
}

/** Writes `timeline.html` beside every history that was kept. Returns the reasons why timelines could not be made. */
export async function writeTimelines(outcomes: readonly ScenarioOutcome[]): Promise<string[]> {
  const problems: string[] = [];
  for (const outcome of outcomes) {
    try {
      await timelineOf(outcome);
    } catch (error) {
      problems.push(`${outcome.scenario.id}: no timeline: ${(error as Error).message}`);
    }
  }
  return problems;
}

async function timelineOf(outcome: ScenarioOutcome): Promise<void> {
  if (outcome.folder === null) return;
  const history = join(outcome.folder, "history.jsonl");
  try {
    await access(history);
  } catch {
    // The scenario was skipped, or broke before anything was recorded.
    return;
  }
  await writeTimeline(history, join(outcome.folder, "timeline.html"), outcome);
}
