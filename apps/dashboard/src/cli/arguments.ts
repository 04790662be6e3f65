import { parseArgs } from "node:util";

export type Command =
  | { readonly do: "help" }
  | { readonly do: "hash-password" }
  | { readonly do: "serve" | "check"; readonly config: string };

/** What was typed cannot be right. The message names what to change. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

export const help = `Usage: holdfast-dashboard --config <file> [--check]
       holdfast-dashboard hash-password

Shows who holds and who waits for locks of Curator, kazoo, Redisson and holdfast, and what is wrong.

Options
  --config <file>   the configuration, YAML or JSON
  --check           read it and the secrets that it names, see that the port is free, and exit
  --help            this text

Commands
  hash-password     reads a password from the standard input and prints what belongs into the file of
                    auth.basic, behind name:role:

The exit code is 0 after SIGINT or SIGTERM and after a check that found nothing, 2 for a wrong
configuration or option, 1 for anything else.`;

/** @throws UsageError */
export function parseCommand(args: readonly string[]): Command {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const { values, positionals } = parsed;
  if (values.help === true) return { do: "help" };
  const [command, ...more] = positionals;
  if (command === "hash-password" && more.length === 0) return { do: "hash-password" };
  if (command !== undefined) throw new UsageError(`there is no command ${command}`);
  if (values.config === undefined) throw new UsageError("--config names the file to start with");
  return { do: values.check === true ? "check" : "serve", config: values.config };
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      config: { type: "string" },
      check: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
}
