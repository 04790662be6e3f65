#!/usr/bin/env node
import { hashPassword } from "./auth/passwords.js";
import { type Command, help, parseCommand, UsageError } from "./cli/arguments.js";
import { readPassword } from "./cli/read-password.js";
import { keepHeapSmall } from "./cli/small-heap.js";
import { checkConfig } from "./config/check.js";
import { ConfigError } from "./config/config-error.js";
import { type LoadedConfig, loadConfig } from "./config/load.js";
import { checkDashboard, startDashboard } from "./start.js";

const wrong = 2;
/** How long to wait for backends when the program ends: a silent backend must not keep a container from ending. */
const closeMs = 10_000;

/** Reads the configuration from the file, or makes it of the options. */
async function configOf(command: Extract<Command, { do: "serve" | "check" }>): Promise<LoadedConfig> {
  return "config" in command
    ? await loadConfig(command.config)
    : { config: checkConfig(command.quick), directory: process.cwd() };
}

async function serve({ config, directory }: LoadedConfig): Promise<void> {
  const dashboard = await startDashboard(config, { directory, log: true });
  let closing = false;
  const close = (): void => {
    // A second signal ends the program at once.
    if (closing) process.exit(1);
    closing = true;
    setTimeout(() => process.exit(1), closeMs).unref();
    dashboard.close().catch((error: unknown) => fail(error));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, close);
  // At a terminal, SIGHUP means that the terminal is gone, and it ends the process as usual.
  if (process.stdin.isTTY !== true) process.on("SIGHUP", () => void dashboard.reread());
  // A supervisor that has read this line may send a signal at once.
  console.error(`holdfast-dashboard: ${dashboard.url}`);
}

async function main(): Promise<void> {
  const command = parseCommand(process.argv.slice(2));
  switch (command.do) {
    case "help":
      console.log(help);
      return;
    case "hash-password":
      console.log(await hashPassword(await readPassword()));
      return;
    case "check": {
      const { config, directory } = await configOf(command);
      await checkDashboard(config, {
        directory,
        env: process.env,
        warn: (message) => console.error(`holdfast-dashboard: warning: ${message}`),
      });
      console.log(`${"config" in command ? command.config : "the options"}: right`);
      return;
    }
    case "serve":
      await serve(await configOf(command));
  }
}

function fail(error: unknown): void {
  if (error instanceof UsageError) {
    console.error(`holdfast-dashboard: ${error.message}\nOption --help tells what there is.`);
    process.exitCode = wrong;
  } else if (error instanceof ConfigError) {
    console.error(`holdfast-dashboard: ${error.message}`);
    process.exitCode = wrong;
  } else {
    console.error(error);
    process.exitCode = 1;
  }
}

keepHeapSmall();
main().catch(fail);
