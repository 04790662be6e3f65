import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { checkerNames, judge } from "../checkers/judge.js";
import { HistoryError } from "../history/history-error.js";
import { readHistory } from "../history/read.js";
import { ResultsError, readResults } from "./results-json.js";
import { writeTimeline } from "./timeline/write-timeline.js";
import { writeReports } from "./write-reports.js";

type Out = (line: string) => void;

const usageExit = 254;

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

/** The sub-command `check`; `out` gets whole lines. Returns the exit code. */
export async function checkCommand(args: readonly string[], out: Out): Promise<number> {
  return await command(
    args,
    checkHelp,
    out,
    { checker: { type: "string", multiple: true } },
    async (given) => {
      const beganMs = performance.now();
      const history = await readHistory(given.path);
      const readMs = performance.now() - beganMs;
      const { check } = history.meta;
      const results = judge(history, given.checker.length === 0 ? check : { ...check, only: given.checker });
      const judgedMs = performance.now() - beganMs - readMs;
      if (given.json) out(JSON.stringify(results, null, 2));
      else
        for (const { checker, verdict, summary } of results)
          out(`${verdict.padEnd(9)} ${checker.padEnd(13)} ${summary}`);
      if (given.time) {
        const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
        const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
        const [peakMb, cpuMs] = [Math.round(maxRSS / 1_024), (userCPUTime + systemCPUTime) / 1_000];
        out(
          `${history.records} records: read in ${seconds(readMs)} s, judged in ${seconds(judgedMs)} s; ${seconds(cpuMs)} s of processors, at most ${peakMb} MB`,
        );
      }
      if (results.some(({ verdict }) => verdict === "violation")) return 1;
      const tooLittle = results.some(({ checker, verdict }) => checker === "stats" && verdict === "unknown");
      return !tooLittle && results.some(({ verdict }) => verdict === "pass") ? 0 : 2;
    },
  );
}

/** The sub-command `report`. */
export async function reportCommand(args: readonly string[], out: Out): Promise<number> {
  return await command(args, reportHelp, out, {}, async ({ path }) => {
    const isFolder = (await stat(path)).isDirectory();
    if (isFolder && (await exists(join(path, "results.json")))) {
      for (const problem of await writeReports(await readResults(path), path)) out(problem);
      out(`written: ${join(path, "summary.md")}, junit.xml and the timelines`);
      return 0;
    }
    const history = isFolder ? join(path, "history.jsonl") : path;
    const page = join(dirname(history), "timeline.html");
    await writeTimeline(history, page);
    out(`written: ${page}`);
    return 0;
  });
}

interface Given {
  readonly path: string;
  readonly checker: readonly string[];
  readonly json: boolean;
  readonly time: boolean;
}

/** Reads the arguments, and turns what the user did wrong into a line and an exit code. */
async function command(
  args: readonly string[],
  help: string,
  out: Out,
  more: { checker?: { type: "string"; multiple: true } },
  then: (given: Given) => Promise<number>,
): Promise<number> {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args, more);
  } catch (error) {
    out(`${(error as Error).message}\n\n${help}`);
    return usageExit;
  }
  const { values, positionals } = parsed;
  const [path, surplus] = positionals;
  if (values.help === true || path === undefined || surplus !== undefined) {
    out(help);
    return values.help === true ? 0 : usageExit;
  }
  try {
    const { checker = [], json = false, time = false } = values as Partial<Given>;
    return await then({ path, checker, json, time });
  } catch (error) {
    const known =
      error instanceof HistoryError ||
      error instanceof ResultsError ||
      error instanceof RangeError ||
      "code" in (error as object);
    if (!known) throw error;
    out(`${path}: ${(error as Error).message}`);
    return usageExit;
  }
}

function parse(
  args: readonly string[],
  more: { checker?: { type: "string"; multiple: true } },
): { values: Record<string, unknown>; positionals: string[] } {
  const checks = more.checker === undefined ? {} : { json: { type: "boolean" }, time: { type: "boolean" } };
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { help: { type: "boolean", short: "h" }, ...more, ...checks } as Record<
      string,
      { type: "boolean" | "string"; short?: string }
    >,
  });
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
