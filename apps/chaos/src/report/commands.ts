import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { checkerNames, judge } from "../checkers/judge.js";
import { exits, UsageError } from "../cli/usage.js";
import { HistoryError } from "../history/history-error.js";
import { readHistory } from "../history/read.js";
import { ResultsError, readResults } from "./results-json.js";
import { writeTimeline } from "./timeline/write-timeline.js";
import { writeReports } from "./write-reports.js";

type Out = (line: string) => void;

const checkHelp = `Usage: holdfast-chaos check <history.jsonl> [--checker NAME]... [--json] [--time]

Judges a history again, without any server, by the limits of its run.
  --checker NAME   only this one; may be given more than once: ${checkerNames.join(", ")}
  --json           the results as JSON
  --time           how long reading and judging took, and how much memory

Exit: 0 nothing is convicted; 1 a violation; 2 too little happened to tell; 254 wrong arguments or a bad history.
`;

const reportHelp = `Usage: holdfast-chaos report <folder of a run | history.jsonl>

Writes the reports again, without any server.
  of a folder with results.json: junit.xml, summary.md, and timeline.html beside every history.jsonl in it
  of a history.jsonl, or a folder with nothing but that: timeline.html beside it

Exit: 0 written; 254 wrong arguments, or nothing that can be read.
`;

/** The sub-command `check`. @throws UsageError, and the TypeError of `parseArgs` for unknown options */
export async function checkCommand(args: readonly string[], out: Out): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      checker: { type: "string", multiple: true },
      json: { type: "boolean" },
      time: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help === true) {
    out(checkHelp);
    return exits.asExpected;
  }
  return await reading(positionals, async (path) => {
    const beganMs = performance.now();
    const history = await readHistory(path);
    const readMs = performance.now() - beganMs;
    const { check } = history.meta;
    const only = values.checker;
    const results = judge(history, only === undefined ? check : { ...check, only });
    const judgedMs = performance.now() - beganMs - readMs;
    if (values.json === true) out(JSON.stringify(results, null, 2));
    else
      for (const { checker, verdict, summary } of results)
        out(`${verdict.padEnd(9)} ${checker.padEnd(13)} ${summary}`);
    if (values.time === true) {
      const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
      const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
      const [peakMb, cpuMs] = [Math.round(maxRSS / 1_024), (userCPUTime + systemCPUTime) / 1_000];
      out(
        `${history.records} records: read in ${seconds(readMs)} s, judged in ${seconds(judgedMs)} s; ${seconds(cpuMs)} s of processors, at most ${peakMb} MB`,
      );
    }
    if (results.some(({ verdict }) => verdict === "violation")) return exits.violation;
    const tooLittle = results.some(({ checker, verdict }) => checker === "stats" && verdict === "unknown");
    const passed = !tooLittle && results.some(({ verdict }) => verdict === "pass");
    return passed ? exits.asExpected : exits.unknown;
  });
}

/** The sub-command `report`. @throws the same as `checkCommand` */
export async function reportCommand(args: readonly string[], out: Out): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { help: { type: "boolean", short: "h" } },
  });
  if (values.help === true) {
    out(reportHelp);
    return exits.asExpected;
  }
  return await reading(positionals, async (path) => {
    const isFolder = (await stat(path)).isDirectory();
    if (isFolder && (await exists(join(path, "results.json")))) {
      for (const problem of await writeReports(await readResults(path), path)) out(problem);
      out(`written: ${join(path, "summary.md")}, junit.xml and the timelines`);
      return exits.asExpected;
    }
    const history = isFolder ? join(path, "history.jsonl") : path;
    const page = join(dirname(history), "timeline.html");
    await writeTimeline(history, page);
    out(`written: ${page}`);
    return exits.asExpected;
  });
}

/** Reads the one file or folder that was named. Errors in its content are reported to the user as wrong usage. */
async function reading(paths: readonly string[], read: (path: string) => Promise<number>): Promise<number> {
  const [path, surplus] = paths;
  if (path === undefined || surplus !== undefined) throw new UsageError("give one file or folder");
  try {
    return await read(path);
  } catch (error) {
    const known =
      error instanceof HistoryError ||
      error instanceof ResultsError ||
      error instanceof RangeError ||
      "code" in (error as object);
    throw known ? new UsageError(`${path}: ${(error as Error).message}`) : error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
