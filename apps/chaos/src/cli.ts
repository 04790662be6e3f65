#!/usr/bin/env node
import { main } from "./cli/main.js";
import { settleInside } from "./engine/network/index.js";

await settleInside();
process.exitCode = await main(process.argv.slice(2), (line) => process.stdout.write(`${line}\n`));
