import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CheckerName, checkerNames } from "../judge.js";
import type { CheckOptions } from "../options.js";
import type { Verdict } from "../verdict.js";

/** The folder of the histories. The path is the same from `src` and from `dist`. */
export const historiesFolder: string = fileURLToPath(new URL("../../../histories/", import.meta.url));

/** A history written by hand, and the verdict that every checker must give. */
export interface HandMade {
  readonly name: string;
  readonly path: string;
  /** What happens in it, and why that is right or wrong. */
  readonly about: string;
  readonly options: CheckOptions;
  readonly verdicts: Readonly<Record<CheckerName, Verdict>>;
  /** Words that the conviction by this checker must contain, so that it convicts for the right reason. */
  readonly shows: Readonly<Partial<Record<CheckerName, string>>>;
}

/**
 * Reads every history of the folder with its labels. Throws if a history has no label, or its labels are not complete.
 */
export async function handMadeHistories(folder: string = historiesFolder): Promise<HandMade[]> {
  const names = (await readdir(folder))
    .filter((file) => file.endsWith(".jsonl"))
    .map((file) => basename(file, ".jsonl"));
  return Promise.all(names.sort().map((name) => labelled(folder, name)));
}

async function labelled(folder: string, name: string): Promise<HandMade> {
  const file = join(folder, `${name}.verdicts.json`);
  const { about, options = {}, verdicts, shows = {} } = JSON.parse(await readFile(file, "utf8"));
  const missing = checkerNames.filter((checker) => verdicts?.[checker] === undefined);
  const convicted = checkerNames.filter((checker) => verdicts?.[checker] === "violation");
  if (typeof about !== "string" || missing.length > 0)
    throw new Error(`${file}: says nothing of ${missing.join(", ") || "what it is about"}`);
  if (convicted.length > 0 && !convicted.some((checker) => shows[checker] !== undefined))
    throw new Error(`${file}: says that it convicts, and not what is to be shown`);
  return { name, path: join(folder, `${name}.jsonl`), about, options, verdicts, shows };
}

/**
 * Verdicts that a checker cannot give. `stats` never convicts: too little evidence is `unknown`. `cross-wgl` convicts
 * only the sweep; the self-test shows that with wrong sweeps.
 */
export const neverGiven: Readonly<Partial<Record<CheckerName, Verdict>>> = {
  stats: "violation",
  "cross-wgl": "violation",
};
