#!/usr/bin/env node
import { main } from "./cli/main.js";
import { settleInside } from "./engine/network/index.js";

// The reader of the output may end early, as `head` does. The work, its clean-up and its exit code go on without a reader.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}
await settleInside();
process.exitCode = await main(process.argv.slice(2), (line) => process.stdout.write(`${line}\n`));
