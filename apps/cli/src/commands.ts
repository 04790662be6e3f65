import type { Command } from "./command.js";

/** All commands, in the order of the help. What a command needs is loaded when it is looked for, so that `run` starts quickly. */
export async function allCommands(): Promise<readonly Command[]> {
  const { runCommand } = await import("./run/index.js");
  const { lookCommands } = await import("./look/index.js");
  return [runCommand, ...lookCommands];
}

/** The command of this name, without loading the others where that is possible; `undefined` when there is none. */
export async function findCommand(name: string): Promise<Command | undefined> {
  const { runCommand } = await import("./run/index.js");
  if (name === runCommand.name) return runCommand;
  const { lookCommands } = await import("./look/index.js");
  return lookCommands.find((command) => command.name === name);
}
