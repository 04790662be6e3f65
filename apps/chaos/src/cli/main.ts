import { readFileSync } from "node:fs";
import { attackCommand } from "../attack/attack-command.js";
import { doctorCommand } from "../engine/probe/doctor-command.js";
import { mutantsCommand } from "../mutants/mutants-command.js";
import { checkCommand, reportCommand } from "../report/commands.js";
import { SubjectError } from "../subject/subject.js";
import { workerTestCommand } from "../subject/worker-test-command.js";
import { listCommand } from "./list-command.js";
import { runCommand } from "./run-command.js";
import { exits, help, UsageError } from "./usage.js";

type Command = (args: readonly string[], out: (line: string) => void) => number | Promise<number>;

const commands: Readonly<Record<string, Command>> = {
  list: listCommand,
  doctor: (args, out) => doctorCommand(args, out),
  run: runCommand,
  "worker-test": workerTestCommand,
  check: checkCommand,
  report: reportCommand,
  mutants: mutantsCommand,
  attack: attackCommand,
};

/** Runs a command line; resolves with the exit code and never rejects. `out` gets whole lines. */
export async function main(argv: readonly string[], out: (line: string) => void): Promise<number> {
  const [name, ...args] = argv;
  if (name === "--version") {
    out(ownVersion());
    return exits.asExpected;
  }
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    out(help);
    return name === undefined ? exits.usage : exits.asExpected;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    out(`there is no command ${JSON.stringify(name)}\n\n${help}`);
    return exits.usage;
  }
  try {
    return await command(args, out);
  } catch (error) {
    if (isUsage(error)) {
      out(`${(error as Error).message}\nholdfast-chaos ${name} --help tells what there is.`);
      return exits.usage;
    }
    out(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return exits.crash;
  }
}

function ownVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

function isUsage(error: unknown): boolean {
  if (error instanceof UsageError || error instanceof SubjectError || error instanceof RangeError)
    return true;
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code.startsWith("ERR_PARSE_ARGS");
}
