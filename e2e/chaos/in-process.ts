import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunOutcome } from "@holdfast/chaos";
import { main } from "../../apps/chaos/src/cli/main.js";

/** A command line that was run to its end. */
export interface Ran extends Disposable {
  readonly code: number;
  /** What it said, less the lines of scenarios, which are in `outcomes`. */
  readonly output: string;
  /** What its reports have; empty without any. */
  readonly outcomes: RunOutcome["outcomes"];
  /** The folder of its reports. */
  readonly out: string;
}

/**
 * Runs a command line of holdfast-chaos in this process; its workers are processes of their own all the same. A process for each command
 * line would take as long to load as many of them take to run.
 */
export async function ran(args: (out: string) => readonly string[]): Promise<Ran> {
  const out = mkdtempSync(join(tmpdir(), "chaos-e2e-"));
  const lines: string[] = [];
  const code = await main(args(out), (line) => lines.push(line));
  const results = join(out, "results.json");
  const { outcomes } = existsSync(results)
    ? (JSON.parse(readFileSync(results, "utf8")) as RunOutcome)
    : { outcomes: [] };
  return {
    code,
    output: lines.join("\n"),
    outcomes,
    out,
    [Symbol.dispose]: () => rmSync(out, { recursive: true, force: true }),
  };
}

/** Checkers that convicted. */
export const convicted = ({ outcomes }: Ran): readonly string[] =>
  outcomes.flatMap(({ results }) =>
    results.filter(({ verdict }) => verdict === "violation").map(({ checker }) => checker),
  );
