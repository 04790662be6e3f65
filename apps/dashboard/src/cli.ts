#!/usr/bin/env node
import { hashPassword } from "./auth/passwords.js";
import { help, parseCommand, UsageError } from "./cli/arguments.js";
import { readPassword } from "./cli/read-password.js";
import { ConfigError } from "./config/config-error.js";
import { loadConfig } from "./config/load.js";
import { checkDashboard, startDashboard } from "./start.js";

const wrong = 2;
/** A backend that does not answer must not keep a container from ending. */
const closeMs = 10_000;

async function serve(file: string): Promise<void> {
  const { config, directory } = await loadConfig(file);
  const dashboard = await startDashboard(config, { directory, log: true });
  console.error(`holdfast-dashboard: ${dashboard.url}`);
  let closing = false;
  const close = (): void => {
    // The second time means now.
    if (closing) process.exit(1);
    closing = true;
    setTimeout(() => process.exit(1), closeMs).unref();
    dashboard.close().catch((error: unknown) => fail(error));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, close);
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
      const { config, directory } = await loadConfig(command.config);
      await checkDashboard(config, { directory, env: process.env });
      console.log(`${command.config}: right`);
      return;
    }
    case "serve":
      await serve(command.config);
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

main().catch(fail);
