import { type ChildProcess, fork } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunOutcome } from "@holdfast/chaos";
import { afterAll, beforeAll } from "vitest";

/** A command line that was run to its end. */
export interface Ran extends Disposable {
  readonly code: number;
  /** Its output, without the lines of scenarios, which are in `outcomes`. */
  readonly output: string;
  /** The outcomes in its reports; empty if there are no reports. */
  readonly outcomes: RunOutcome["outcomes"];
  /** The folder of its reports. */
  readonly out: string;
}

/** The answer of the process that runs the command lines, for one of them. */
type Answer = Pick<Ran, "code" | "output"> & { readonly id: number };

/**
 * Runs command lines of holdfast-chaos beside each other in one process, which runs for the tests of one file. A process for
 * each would take as long to load as many of them take to run. Their workers are separate processes all the same.
 */
export function commandLines(): (args: (out: string) => readonly string[]) => Promise<Ran> {
  let host: ChildProcess;
  let asked = 0;
  const waiting = new Map<number, { settle(answer: Answer): void; fail(error: Error): void }>();
  beforeAll(() => {
    const file = fileURLToPath(new URL("support/command-lines.mjs", import.meta.url));
    // The process runs without the import conditions of Vitest, which resolve packages to their sources.
    host = fork(file, { execArgv: [], env: { ...process.env, NO_COLOR: "1" }, stdio: "pipe" });
    let said = "";
    for (const stream of [host.stdout, host.stderr]) {
      stream?.on("data", (data: Buffer) => {
        said += data.toString();
      });
    }
    host.on("message", (answer: Answer) => waiting.get(answer.id)?.settle(answer));
    host.on("exit", (code) => {
      for (const { fail } of waiting.values()) fail(new Error(`it ended with ${code}: ${said}`));
    });
  });
  afterAll(() => {
    host?.disconnect();
  });
  return async (args) => {
    const out = mkdtempSync(join(tmpdir(), "chaos-e2e-"));
    const id = asked++;
    const { code, output } = await new Promise<Answer>((settle, fail) => {
      waiting.set(id, { settle, fail });
      host.send({ id, args: args(out) });
    });
    waiting.delete(id);
    const results = join(out, "results.json");
    const { outcomes } = existsSync(results)
      ? (JSON.parse(readFileSync(results, "utf8")) as RunOutcome)
      : { outcomes: [] };
    const remove = (): void => rmSync(out, { recursive: true, force: true });
    return { code, output, outcomes, out, [Symbol.dispose]: remove };
  };
}

/** The checkers whose verdict is `violation`. */
export const convicted = ({ outcomes }: Ran): readonly string[] =>
  outcomes.flatMap(({ results }) =>
    results.filter(({ verdict }) => verdict === "violation").map(({ checker }) => checker),
  );
