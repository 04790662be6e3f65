import type { Command } from "./command.js";
import { commonOptions } from "./settings.js";

/**
 * All commands, in the order of the help. Modules are loaded only when they are needed, so that `run` starts quickly.
 */
export async function allCommands(): Promise<readonly Command[]> {
  const { runCommand } = await import("./run/index.js");
  const { lookCommands } = await import("./look/index.js");
  const { completionCommand } = await import("./look/completion.js");
  const completion = completionCommand(async () => ({
    commands: await allCommands(),
    common: commonOptions,
  }));
  return [runCommand, ...lookCommands, completion];
}

/**
 * Returns the command of this name, or `undefined` if there is none. Finds `run` without loading the other commands.
 */
export async function findCommand(name: string): Promise<Command | undefined> {
  const { runCommand } = await import("./run/index.js");
  if (name === runCommand.name) return runCommand;
  return (await allCommands()).find((command) => command.name === name);
}
