import { parseArgs } from "node:util";

export type ActNumber = 1 | 2 | 3;

export interface Options {
  readonly help: boolean;
  /** `null`: start a server of our own. */
  readonly connect: string | null;
  /** Whether our own server is Apache's, which needs Java, or the one inside this process. */
  readonly real: boolean;
  readonly workers: number;
  readonly items: number;
  readonly acts: readonly ActNumber[];
}

/** The command line cannot be right. The message names what to change. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

/** Each worker is a process with some 50 MB. */
const mostWorkers = 200;

export const help = `Usage: node apps/order-stock/dist/main.js [options]
       npm run acts -- [options]

Worker processes order one item each from a stock that has fewer items than there are workers.

  act 1  without a lock: the stock goes below zero
  act 2  with a holdfast mutex on ZooKeeper: every item is sold once, and the others are told so
  act 3  a holder is stopped until its session has ended: its late sale is refused by its fencing token

Options
  --act <n>             only this act: 1, 2 or 3; may be given more than once (default: all)
  --workers <n>         workers in acts 1 and 2 (default 12)
  --items <n>           items in stock in acts 1 and 2 (default 10); fewer than workers
  --connect <servers>   use this ZooKeeper, such as h1:2181,h2:2181/app; the path must exist
                        (default: one inside this process, which needs nothing and is gone at the end)
  --real                start Apache ZooKeeper on this machine, and stop it at the end; needs Java
  --once                play the acts once and exit (default)
  --help                this text

The exit code is 0 when each act ended as promised, 1 when not, 2 for wrong options, 130 after ctrl-C.
Colours are left out when NO_COLOR is set or the output is no terminal.`;

/** @throws UsageError */
export function parseOptions(args: readonly string[]): Options {
  const values = parse(args);
  const workers = count("--workers", values.workers ?? "12", mostWorkers);
  const items = count("--items", values.items ?? "10", mostWorkers);
  if (items >= workers) {
    throw new UsageError(
      `--items ${items} and --workers ${workers}: each worker orders one item, so there must be more workers than items`,
    );
  }
  if (values.real === true && values.connect !== undefined) {
    throw new UsageError("--real starts a server, --connect uses one that is there: give one of the two");
  }
  return {
    help: values.help === true,
    connect: values.connect ?? null,
    real: values.real === true,
    workers,
    items,
    acts: values.act === undefined ? [1, 2, 3] : values.act.map(act),
  };
}

function parse(args: readonly string[]): {
  act?: string[];
  workers?: string;
  items?: string;
  connect?: string;
  real?: boolean;
  once?: boolean;
  help?: boolean;
} {
  try {
    return parseArgs({
      args: [...args],
      options: {
        act: { type: "string", multiple: true },
        workers: { type: "string" },
        items: { type: "string" },
        connect: { type: "string" },
        real: { type: "boolean" },
        once: { type: "boolean" },
        help: { type: "boolean" },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function count(option: string, text: string, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > most) {
    throw new UsageError(`${option} must be a whole number from 1 to ${most}; got ${JSON.stringify(text)}`);
  }
  return value;
}

function act(text: string): ActNumber {
  if (text === "1" || text === "2" || text === "3") return Number(text) as ActNumber;
  throw new UsageError(`--act must be 1, 2 or 3; got ${JSON.stringify(text)}`);
}
