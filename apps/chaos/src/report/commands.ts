import { parseArgs } from "node:util";
import { checkerNames, judge } from "../checkers/judge.js";
import { HistoryError } from "../history/history-error.js";
import { readHistory } from "../history/read.js";

const help = `Usage: holdfast-chaos check <history.jsonl> [--checker NAME]... [--json]

Judges a history again, without any server.
  --checker NAME   only this one; may be given more than once: ${checkerNames.join(", ")}
  --json           the results as JSON

Exit: 0 nothing is convicted; 1 a violation; 2 nothing could be judged; 254 wrong arguments or a bad history.
`;

/** The sub-command `check`; `out` gets whole lines. Returns the exit code. */
export async function checkCommand(args: readonly string[], out: (line: string) => void): Promise<number> {
  let parsed: ReturnType<typeof readArguments>;
  try {
    parsed = readArguments(args);
  } catch (error) {
    out(`${(error as Error).message}\n\n${help}`);
    return 254;
  }
  const { path, only, json } = parsed;
  if (path === null) {
    out(help);
    return parsed.help ? 0 : 254;
  }
  try {
    const results = judge(await readHistory(path), only.length === 0 ? {} : { only });
    if (json) out(JSON.stringify(results, null, 2));
    else
      for (const { checker, verdict, summary } of results)
        out(`${verdict.padEnd(9)} ${checker.padEnd(13)} ${summary}`);
    if (results.some(({ verdict }) => verdict === "violation")) return 1;
    return results.some(({ verdict }) => verdict === "pass") ? 0 : 2;
  } catch (error) {
    const known = error instanceof HistoryError || error instanceof RangeError || "code" in (error as object);
    if (!known) throw error;
    out(`${path}: ${(error as Error).message}`);
    return 254;
  }
}

function readArguments(args: readonly string[]): {
  path: string | null;
  only: string[];
  json: boolean;
  help: boolean;
} {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      checker: { type: "string", multiple: true },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  const wanted = values.help === true ? null : (positionals[0] ?? null);
  return { path: wanted, only: values.checker ?? [], json: values.json === true, help: values.help === true };
}
