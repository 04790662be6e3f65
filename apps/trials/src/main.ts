#!/usr/bin/env node
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { onSignals } from "@holdfast/chaos/internal";
import { faults } from "./faults.js";
import { page } from "./page.js";
import { Results } from "./results.js";
import { runTrials } from "./run.js";
import { subjects } from "./subjects.js";
import { table } from "./table.js";

const help = `Usage: node apps/trials/dist/main.js [options]

Runs each lock library under each fault that fits it, by the engine of @holdfast/chaos, and writes what each kept: a text and a page. What was
run is kept as lines in results.jsonl; begun again, it goes on where it was interrupted, and runs our locks again where their code has
changed since.

  --subjects A,B   only these: ${subjects.map(({ id }) => id).join(", ")}
  --faults A,B     only these: ${faults.map(({ id }) => id).join(", ")}
  --seed N         the first of the seeds of each cell; default 1
  --out FOLDER     results.jsonl, index.html and what was kept of convictions; default trials-results
  --text FILE      where the text goes; default FOLDER/trials.md
  --write-only     runs nothing, and writes text and page from what is there
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      subjects: { type: "string" },
      faults: { type: "string" },
      seed: { type: "string", default: "1" },
      out: { type: "string", default: "trials-results" },
      text: { type: "string" },
      "write-only": { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help === true) {
    console.log(help);
    return 0;
  }
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  const results = new Results(join(out, "results.jsonl"));
  const interrupt = onSignals(console.log);
  let missing: ReadonlyMap<string, string> = new Map();
  try {
    if (!values["write-only"]) {
      missing = await runTrials({
        subjects: named("--subjects", values.subjects, subjects),
        faults: named("--faults", values.faults, faults),
        seed: whole("--seed", values.seed),
        out,
        results,
        signal: interrupt.signal,
        print: console.log,
      });
    }
  } catch (error) {
    if (interrupt.exitCode === null) throw error;
  } finally {
    interrupt.dispose();
    writeFileSync(resolve(values.text ?? join(out, "trials.md")), table(results, missing));
    writeFileSync(join(out, "index.html"), page(results, missing));
  }
  return interrupt.exitCode ?? 0;
}

function named(
  option: string,
  list: string | undefined,
  known: readonly { readonly id: string }[],
): string[] | null {
  if (list === undefined) return null;
  const ids = list.split(",");
  const wrong = ids.find((id) => !known.some((each) => each.id === id));
  if (wrong !== undefined) throw new RangeError(`${option} knows no ${wrong}`);
  return ids;
}

function whole(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`${option} is a whole number; not ${text}`);
  return value;
}

/** Turns wrong options into their message and the exit code that the chaos runner has for them. Other errors are thrown on. */
function refuse(error: unknown): number {
  const asked =
    error instanceof RangeError || String((error as { code?: unknown }).code).startsWith("ERR_PARSE_ARGS");
  if (!asked) throw error;
  console.error((error as Error).message);
  return 254;
}

process.exitCode = await main().catch(refuse);
