// The order-stock example: what a lock is for, and what fencing adds. `--help` lists the options.
import { HoldfastError, InvalidArgumentError } from "@holdfast/core";
import { TestServerError } from "@holdfast/test-servers";
import { fencedAct } from "./acts/fenced.js";
import { lockedAct } from "./acts/locked.js";
import { Stage } from "./acts/stage.js";
import { unlockedAct } from "./acts/unlocked.js";
import { showVerdict, type Verdict } from "./acts/verdict.js";
import { type ActNumber, help, type Options, parseOptions, UsageError } from "./cli/options.js";
import { Screen } from "./console/screen.js";
import { WorkerError } from "./worker/worker-process.js";

const interrupted = 130;

const acts: Readonly<
  Record<ActNumber, { title: string; play: (stage: Stage, options: Options) => Promise<Verdict> }>
> = {
  1: { title: "without a lock", play: (stage, options) => unlockedAct(stage, options) },
  2: {
    title: "with the lock",
    play: (stage, { workers, items }) => lockedAct(stage, { workers, items }),
  },
  3: { title: "a holder that stops for too long", play: (stage) => fencedAct(stage) },
};

async function play(options: Options, signal: AbortSignal): Promise<number> {
  const screen = new Screen({ out: process.stdout, env: process.env });
  await using stage = await Stage.open({
    screen,
    programs: new URL(".", import.meta.url),
    connect: options.connect,
    real: options.real,
    signal,
  });
  let asPromised = true;
  for (const number of options.acts) {
    signal.throwIfAborted();
    screen.line();
    screen.line(screen.styled("bold", `Act ${number}: ${acts[number].title}`));
    const verdict = await acts[number].play(stage, options);
    showVerdict(screen, verdict);
    asPromised &&= verdict.asPromised;
  }
  screen.line();
  screen.line(
    asPromised
      ? screen.styled("good", "Everything ended as promised.")
      : screen.styled("bad", "Something did NOT end as promised: see the lines marked ✘."),
  );
  return asPromised ? 0 : 1;
}

async function main(): Promise<number> {
  const interruption = new AbortController();
  const interrupt = (): void => {
    // A second signal ends this program at once; its child processes then end by themselves.
    if (interruption.signal.aborted) process.exit(interrupted);
    console.error("order-stock: stopping; once more to stop at once");
    interruption.abort(new Error("interrupted"));
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, interrupt);
  // The reader of our output has gone (`| head`), and each further line would cause the error again.
  process.stdout.on("error", (error) => interruption.abort(error));
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) {
      console.log(help);
      return 0;
    }
    return await play(options, interruption.signal);
  } catch (error) {
    if (interruption.signal.aborted) {
      console.error("order-stock: everything is stopped");
      return interrupted;
    }
    return complain(error);
  }
}

function complain(error: unknown): number {
  if (error instanceof UsageError || error instanceof InvalidArgumentError) {
    console.error(`order-stock: ${error.message}\nOption --help tells what there is.`);
    return 2;
  }
  // The messages of errors made for people say what to change. For other errors the stack may help.
  const { message, stack } = error as Error;
  const forPeople = [HoldfastError, TestServerError, WorkerError].some((known) => error instanceof known);
  console.error(`order-stock: ${forPeople ? message : (stack ?? message)}`);
  return 1;
}

process.exitCode = await main();
