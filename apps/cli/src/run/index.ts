import type { Command } from "../command.js";

export const runCommand: Command = {
  name: "run",
  summary: "runs a command while it holds a lock, and ends it before another client can have the lock",
  usage: "Usage: holdfast run [options] -- COMMAND [ARGUMENT...]",
  options: {},
  behindDashes: true,
  run: async () => 0,
};
