import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { nearest } from "@holdfast/core/internal";
import { type Command, exits, type Given, type Io, UsageError } from "./command.js";
import { allCommands, findCommand } from "./commands.js";
import { commonHelp, commonOptions, readSettings, type Settings, type Surroundings } from "./settings.js";

/** Runs a command line; resolves with the exit code and never rejects. */
export async function main(argv: readonly string[], io: Io, surroundings: Surroundings): Promise<number> {
  const [name, ...args] = argv;
  try {
    if (name === "--version") {
      io.out(`${ownVersion()}\n`);
      return exits.done;
    }
    if (name === undefined || name === "--help" || name === "-h" || (name === "help" && args.length === 0)) {
      const text = await overview();
      if (name !== undefined) io.out(text);
      else io.err(text);
      return name === undefined ? exits.usage : exits.done;
    }
    if (name === "help") {
      io.out(helpOf(await existing(args[0] as string)));
      return exits.done;
    }
    const command = await existing(name);
    const { values, positionals } = parse(command, args);
    if (values.help === true) {
      io.out(helpOf(command));
      return exits.done;
    }
    let settings: Settings | undefined;
    const given: Given = {
      values,
      positionals,
      get settings() {
        settings ??= readSettings(values, surroundings);
        return settings;
      },
    };
    return await command.run(given, io);
  } catch (error) {
    return failed(error, name as string, io);
  }
}

class UnknownCommand extends UsageError {}

async function existing(name: string): Promise<Command> {
  const command = await findCommand(name);
  if (command !== undefined) return command;
  const like = nearest(name, [...(await allCommands()).map((each) => each.name), "help"]);
  const hint = like === null ? "" : `; did you mean ${like}?`;
  throw new UnknownCommand(`there is no command ${JSON.stringify(name)}${hint}`);
}

function parse(
  command: Command,
  args: readonly string[],
): { values: Record<string, unknown>; positionals: string[] } {
  const options = { ...commonOptions, ...command.options };
  if (command.behindDashes !== true) {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    return { values, positionals };
  }
  const dashes = args.indexOf("--");
  const own = dashes === -1 ? args : args.slice(0, dashes);
  const { values, positionals } = parseArgs({ args: [...own], options, allowPositionals: true });
  const [stray] = positionals;
  if (stray !== undefined && values.help !== true)
    throw new UsageError(`what to run stands behind --, and ${JSON.stringify(stray)} stands before it`);
  return { values, positionals: dashes === -1 ? [] : args.slice(dashes + 1) };
}

/** Error codes of the library that count as wrong usage: an invalid argument, or a feature that this backend does not have. */
const usageCodes: ReadonlySet<unknown> = new Set(["HF_INVALID_ARGUMENT", "HF_UNSUPPORTED"]);

function failed(error: unknown, name: string, io: Io): number {
  const code = (error as { code?: unknown } | null)?.code;
  const parsing = typeof code === "string" && code.startsWith("ERR_PARSE_ARGS");
  if (error instanceof UsageError || parsing || usageCodes.has(code)) {
    const page = error instanceof UnknownCommand ? "holdfast help" : `holdfast help ${name}`;
    io.err(`holdfast: ${(error as Error).message}\n${page} tells what there is.\n`);
    return exits.usage;
  }
  const known = typeof code === "string" && code.startsWith("HF_");
  const text =
    error instanceof Error ? (known ? error.message : (error.stack ?? error.message)) : String(error);
  io.err(`holdfast: ${text}\n`);
  return code === "HF_LOCK_LOST" ? exits.lost : exits.failed;
}

async function overview(): Promise<string> {
  const commands = await allCommands();
  const width = Math.max("help".length, ...commands.map(({ name }) => name.length)) + 2;
  const list = commands.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}\n`).join("");
  return `Usage: holdfast COMMAND [options]

Distributed locks of ZooKeeper and Redis for the shell.

Commands
${list}  ${"help".padEnd(width)}holdfast help COMMAND tells its options

${commonHelp}
Exit codes of holdfast itself: 0 done; 1 the lock was not obtained in time; 2 wrong usage; 124 the lock was lost or in doubt, and the
command may have done its work; 125 holdfast failed, such as without a server; 126 and 127 the command cannot be executed, or there is none. All
others are those of the command that was run, 128+N when signal N has ended it.
`;
}

const helpOf = ({ usage }: Command): string => `${usage.trimEnd()}\n\n${commonHelp}`;

function ownVersion(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
