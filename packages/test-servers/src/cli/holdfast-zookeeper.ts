#!/usr/bin/env node
import { runEmbeddedCli } from "./run-embedded.js";

process.exitCode = await runEmbeddedCli(process.argv.slice(2));
