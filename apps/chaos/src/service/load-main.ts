// The load of a service: a worker that makes no records. It runs the default export of the user's module from start to stop.
import { createInterface } from "node:readline";
import type { ToWorker } from "../workload/protocol.js";
import { say } from "../workload/records.js";
import type { Load, LoadSetup } from "./service.js";

// Standard output is reserved for messages to the runner. What the module prints goes into the log instead, because on
// standard output it would be taken for a message.
globalThis.console = new console.Console(process.stderr);

const { module, urls } = JSON.parse(process.env.CHAOS_LOAD ?? "{}") as LoadSetup;
const stop = new AbortController();
let load: Load | undefined;
let running: Promise<unknown> = Promise.resolve();

function fail(error: unknown): never {
  say({
    say: "failed",
    error: `the load ${module}: ${error instanceof Error ? (error.stack ?? error.message) : error}`,
  });
  process.exit(1);
}
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);

async function follow(word: ToWorker): Promise<void> {
  switch (word.do) {
    case "setup":
      load = ((await import(module)) as { default?: Load }).default;
      if (typeof load !== "function") fail(new TypeError("its default export is no function"));
      say({ say: "ready" });
      break;
    case "start":
      running = Promise.resolve(load?.({ urls, signal: stop.signal }));
      running.catch(fail);
      break;
    case "stop":
      stop.abort();
      void running.then(() => {
        say({ say: "done" });
        process.exit(0);
      });
      break;
    default:
      break;
  }
}

let turn: Promise<void> = Promise.resolve();
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  turn = turn.then(() => follow(JSON.parse(line) as ToWorker));
  turn.catch(fail);
});
lines.on("close", () => process.exit(1));
