import { parseArgs } from "node:util";
import { UsageError } from "../cli/options.js";

export interface LiveOptions {
  readonly help: boolean;
  /** `null`: 8080, or a free port if that is taken. */
  readonly port: number | null;
}

export const usualPort = 8080;

export const liveHelp: string = `Usage: npm start -- [options]
       node apps/order-stock/dist/live.js [options]

A shop with four branches shares locks on a ZooKeeper inside this process, and on a Redis server of their own
where one is installed, until ctrl-C. The dashboard shows them: items that all want to sell, a price list
with readers and a writer, packing stations, a night shift that elects its leader, and a stocktaking that
keeps everybody waiting now and then. Nothing is kept, and nothing but this machine can reach it.

Options
  --port <n>   of the dashboard (default ${usualPort}, or a free one when that is taken)
  --help       this text`;

/** @throws UsageError */
export function parseLiveOptions(args: readonly string[]): LiveOptions {
  let values: { port?: string; help?: boolean };
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: { port: { type: "string" }, help: { type: "boolean", short: "h" } },
    }));
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
  const port = values.port === undefined ? null : Number(values.port);
  if (port !== null && (!/^\d+$/.test(values.port ?? "") || port > 65_535)) {
    throw new UsageError(`--port must be a whole number from 0 to 65535; got ${JSON.stringify(values.port)}`);
  }
  return { help: values.help === true, port };
}
