import { eventually } from "@holdfast/test-servers";
import { onTestFinished } from "vitest";
import { main } from "../../src/main.js";

/** What a command has printed, and its exit code. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A command that goes on: what it has printed so far, and its end. */
export interface Running {
  readonly out: () => string;
  readonly err: () => string;
  interrupt(): void;
  readonly ended: Promise<Ran>;
}

/** Runs a whole command line in this process, as the program does. `columns`: as in a terminal of that width. */
export function begin(line: readonly string[], options: { readonly columns?: number } = {}): Running {
  const text = { out: "", err: "" };
  const abort = new AbortController();
  const { columns } = options;
  if (columns !== undefined) process.env.COLUMNS = String(columns);
  const io = {
    out: (more: string) => {
      text.out += more;
    },
    err: (more: string) => {
      text.err += more;
    },
    isTty: false,
    signal: abort.signal,
  };
  const ended = main(line, io, { env: {}, directory: "/" }).then((code) => ({ code, ...text }));
  if (columns !== undefined) void ended.finally(() => delete process.env.COLUMNS);
  onTestFinished(async () => {
    abort.abort("SIGTERM");
    await ended;
  });
  return {
    out: () => text.out,
    err: () => text.err,
    interrupt: () => abort.abort("SIGINT"),
    ended,
  };
}

export function run(line: readonly string[], options: { readonly columns?: number } = {}): Promise<Ran> {
  return begin(line, options).ended;
}

/** Waits until the command has printed a line that matches. */
export function printed(running: Running, expected: RegExp): Promise<string> {
  return eventually(
    () => `${running.out()}\n${running.err()}`.split("\n").find((line) => expected.test(line)),
    {
      what: `a line like ${expected}`,
      withinMs: 30_000,
      detail: () => `${running.out()}\n${running.err()}`,
    },
  );
}

/** The line of a table that begins with this text. */
export function lineOf(out: string, beginning: string): string {
  return (
    out.split("\n").find((line) => line.startsWith(beginning)) ??
    `no line begins with ${beginning} in\n${out}`
  );
}

/** The characters that could do more to a terminal than print: all that are neither visible nor a line end. */
export function unsafeIn(text: string): string[] {
  return [...text].filter((char) => char !== "\n" && /[\p{Cc}\p{Cf}\p{Co}\u2028\u2029]/u.test(char));
}

/** The steps of `holdfast doctor` as `ok name`, without the latency, which depends on the machine of the tests. */
export function stepsOf(out: string): string[] {
  return [...out.matchAll(/^(ok|warning|failed) +(\S+)/gm)]
    .map(([, status, name]) => `${status} ${name}`)
    .filter((step) => !step.endsWith(" latency"));
}
