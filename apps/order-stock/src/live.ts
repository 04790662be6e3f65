// The program of `npm start`: a shop whose branches share locks, and the dashboard that watches them. `--help` lists
// the options.
import { TestServerError } from "@holdfast/test-servers";
import { UsageError } from "./cli/options.js";
import { Day } from "./live/day.js";
import { liveHelp, parseLiveOptions } from "./live/options.js";
import { WorkerError } from "./worker/worker-process.js";

async function main(): Promise<number> {
  const interruption = new AbortController();
  const interrupted = new Promise<void>((resolve) => {
    interruption.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const interrupt = (): void => {
    // A second signal ends this program at once; its child processes then end by themselves.
    if (interruption.signal.aborted) process.exit(1);
    console.error("order-stock: giving back every lock; once more to stop at once");
    interruption.abort(new Error("interrupted"));
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, interrupt);
  // The reader of our output has gone (`| head`), and each further line would cause the error again.
  process.stdout.on("error", (error) => interruption.abort(error));
  try {
    const { help, port } = parseLiveOptions(process.argv.slice(2));
    if (help) {
      console.log(liveHelp);
      return 0;
    }
    const { signal } = interruption;
    await using day = await Day.open({
      programs: new URL(".", import.meta.url),
      port,
      tell: (line) => console.log(line),
      signal,
    });
    console.log(`A shop with four branches is at work. Ctrl-C ends it.\n\n  Dashboard: ${day.url}\n`);
    await Promise.race([interrupted, day.failed]);
  } catch (error) {
    if (!interruption.signal.aborted) return complain(error);
  }
  if (interruption.signal.aborted) console.error("order-stock: everything is stopped");
  return 0;
}

function complain(error: unknown): number {
  const { message, stack, code } = error as NodeJS.ErrnoException;
  if (error instanceof UsageError) {
    console.error(`order-stock: ${message}\nOption --help tells what there is.`);
    return 2;
  }
  const forPeople = [TestServerError, WorkerError].some((known) => error instanceof known);
  console.error(`order-stock: ${forPeople || code === "EADDRINUSE" ? message : (stack ?? message)}`);
  return 1;
}

process.exitCode = await main();
