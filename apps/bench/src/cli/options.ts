import { parseArgs } from "node:util";

export interface Options {
  readonly command: "help" | "pairs" | "memory";
  /** `null`: start servers of our own. */
  readonly connect: string | null;
  readonly nodes: number;
  readonly pairs: number;
  readonly holds: number;
  readonly waiters: number;
  readonly sessionTimeoutMs: number;
}

/** What was typed cannot be right. The message names what to change. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

export const help = `Usage: node apps/bench/dist/main.js <command> [options]

Commands
  pairs    one session, alone, acquires and releases one lock again and again; prints the rate and how late answers
           came, and fails when one came later than a second
  memory   bytes of heap for each lock held and for each waiter

Options
  --nodes <n>               servers to start: 1 for one on its own, else an ensemble (default: 3 for pairs, 1 for memory)
  --connect <servers>       use this ZooKeeper instead, such as h1:2181,h2:2181/app; the path must exist
  --pairs <n>               default 200000
  --session-timeout <ms>    for pairs (default 30000)
  --holds <n>               for memory (default 10000)
  --waiters <n>             for memory (default 1000)
  --help                    this text

The exit code is 0 when all is well, 1 when not, 2 for wrong options. Progress goes to the error output.`;

/** @throws UsageError */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args);
  const [command, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`one command at a time, not also ${more.join(" ")}`);
  if (values.connect !== undefined && values.nodes !== undefined) {
    throw new UsageError("--connect uses servers that are there, --nodes starts some: give one of the two");
  }
  return {
    command: values.help === true ? "help" : commandOf(command),
    connect: values.connect ?? null,
    nodes: count("--nodes", values.nodes ?? (command === "memory" ? "1" : "3"), 9),
    pairs: count("--pairs", values.pairs ?? "200000", 1e9),
    holds: count("--holds", values.holds ?? "10000", 1e6),
    waiters: count("--waiters", values.waiters ?? "1000", 1e5),
    sessionTimeoutMs: count("--session-timeout", values["session-timeout"] ?? "30000", 1e7),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        nodes: { type: "string" },
        connect: { type: "string" },
        pairs: { type: "string" },
        holds: { type: "string" },
        waiters: { type: "string" },
        "session-timeout": { type: "string" },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function commandOf(name: string | undefined): "pairs" | "memory" {
  if (name === "pairs" || name === "memory") return name;
  throw new UsageError(name === undefined ? "a command is missing" : `there is no command ${name}`);
}

function count(option: string, text: string, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw new UsageError(`${option} takes a whole number from 1 to ${most}, not ${JSON.stringify(text)}`);
}
