import { readFile } from "node:fs/promises";
import { isAbsolute, join, relative, resolve } from "node:path";
import type { RunOutcome, ScenarioOutcome } from "../engine/outcome.js";

const format = 1;

/** Thrown if a folder has no results that this version can read. */
export class ResultsError extends Error {
  override readonly name: string = "ResultsError";
}

/** The text of `results.json` for a run. Folders inside `dir` become relative, so that the whole folder can be moved. */
export function resultsJson(run: RunOutcome, dir: string): string {
  const outcomes = run.outcomes.map((outcome) => ({ ...outcome, folder: inside(outcome.folder, dir) }));
  return `${JSON.stringify({ v: format, ...run, outcomes }, null, 2)}\n`;
}

/** Reads the results of a run. Throws `ResultsError`. */
export async function readResults(dir: string): Promise<RunOutcome> {
  const path = join(dir, "results.json");
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw new ResultsError(`${path}: ${(error as Error).message}`, { cause: error });
  }
  const run = value as Partial<RunOutcome> & { v?: unknown };
  if (typeof value !== "object" || value === null || !Array.isArray(run.outcomes))
    throw new ResultsError(`${path}: not the results of a run`);
  if (run.v !== format)
    throw new ResultsError(`${path}: version ${String(run.v)} of the format is not known, only ${format}`);
  const { seed = 0, startedAt = "", tookMs = 0 } = run;
  return { seed, startedAt, tookMs, outcomes: run.outcomes.map((outcome) => outside(outcome, dir)) };
}

function inside(folder: string | null, dir: string): string | null {
  if (folder === null) return null;
  const path = relative(resolve(dir), resolve(folder));
  return path.startsWith("..") || isAbsolute(path) ? resolve(folder) : path === "" ? "." : path;
}

function outside(outcome: ScenarioOutcome, dir: string): ScenarioOutcome {
  return outcome.folder === null ? outcome : { ...outcome, folder: resolve(dir, outcome.folder) };
}
