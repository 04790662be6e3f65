// A worker: one process with one client and some contenders. `protocol.ts` describes what it reads and writes. With an
// argument, its client is the default export of that module, whatever the group names.
import { createInterface } from "node:readline";
import { RunClock } from "../engine/clock.js";
import { Random } from "../engine/random.js";
import { Contender } from "./contender.js";
import { importRecipe } from "./define-recipe.js";
import { namesOf } from "./names.js";
import type { ToWorker, WorkerSetup } from "./protocol.js";
import { openRecipe } from "./recipes/registry.js";
import { RecordedCalls } from "./recorded-calls.js";
import { say } from "./records.js";
import { ResourceClient } from "./resource-client.js";

// Standard output is reserved for messages to the runner. What a client prints goes into the log instead, because on
// standard output it would be taken for a message.
globalThis.console = new console.Console(process.stderr);

function fail(error: unknown): never {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  console.error(text);
  say({ say: "failed", error: text.slice(0, 2_000) });
  process.exit(1);
}

/** A rejected promise without a handler is a defect of the client, and ends the run. */
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);

const [, , module] = process.argv;

interface Shift {
  start(): void;
  stop(): void;
  abort(): void;
}

async function setUp(setup: WorkerSetup): Promise<Shift> {
  const { p, keys, group, seed } = setup;
  const clock = new RunClock(setup.clockBase);
  const stop = new AbortController();
  const abort = new AbortController();
  const idOf = new Map(keys.flatMap((key) => namesOf(key).map((name) => [name, key.id] as const)));
  const leaseMs = Math.max(...keys.map((key) => key.leaseMs));
  const resource =
    group.writes === undefined || setup.resource === null ? null : await ResourceClient.open(setup.resource);
  const client = await (await (module === undefined ? openRecipe(group.recipe) : importRecipe(module))).open({
    p,
    servers: setup.servers,
    keys,
    leaseMs,
    options: group.options ?? {},
    random: new Random(seed, `${p}/client`),
    tell: ({ f, name, cause }) => {
      const key = idOf.get(name);
      if (key === undefined) return;
      say({ t: clock.now(), type: "event", p, f, key, ...(cause === undefined ? {} : { cause }) });
    },
  });
  const calls = new RecordedCalls(
    {
      p,
      clock,
      client,
      resource,
      fenced: group.writes === "fenced",
      signal: abort.signal,
      say,
      broken: fail,
    },
    Math.max(20, Math.min(...keys.map((key) => key.leaseMs)) / 20),
  );
  const contenders = Array.from({ length: group.contenders ?? 1 }, (_, at) => {
    const name = `c${at}`;
    return new Contender({
      calls,
      group,
      keys,
      random: new Random(seed, `${p}/${name}`),
      name,
      stop: stop.signal,
    });
  });
  let working: Promise<unknown> = Promise.resolve();
  return {
    start: () => {
      working = Promise.all(contenders.map((contender) => contender.run()));
      working.catch(fail);
    },
    abort: () => abort.abort(new Error("the run is over")),
    stop: () => {
      stop.abort();
      void working.then(async () => {
        calls.close();
        await client.close();
        resource?.close();
        say({ say: "done" });
        process.exit(0);
      }, fail);
    },
  };
}

let shift: Shift | null = null;

async function follow(word: ToWorker): Promise<void> {
  if (word.do === "about") {
    if (module === undefined) throw new Error("the clients of this package are described by the catalogue");
    say({ say: "about", provides: (await importRecipe(module)).provides });
  } else if (word.do === "setup") {
    shift = await setUp(word.setup);
    say({ say: "ready", versions: { node: process.versions.node } });
  } else shift?.[word.do]();
}

let turn: Promise<void> = Promise.resolve();
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  turn = turn.then(() => follow(JSON.parse(line) as ToWorker));
  turn.catch(fail);
});
// The runner is gone, so nothing reads this worker's output any more.
lines.on("close", () => process.exit(1));
