import { parseArgs } from "node:util";
import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "../embedded/index.js";
import { TestServerError } from "../errors.js";
import { StopRequest } from "./stop-request.js";
import { isUsageError, parseNumber, UsageError } from "./usage-error.js";

const name = "holdfast-zookeeper";

const usage = `Usage: ${name} [--port P] [--tick MS] [--extended-types] [--host ADDRESS --allow-remote]
  Runs a ZooKeeper server for development and tests in this process, in memory only, until ctrl-C: what is in it is
  gone then. Any ZooKeeper client can use it. It needs no Java, and it is no ensemble: don't keep anything in it.
  It answers the four-letter words that ask and reset nothing: echo stat | nc 127.0.0.1 2181

  --port P            default 2181; 0 takes one that is free
  --tick MS           tickTime (default 2000); sessions may last 2 to 20 of them
  --extended-types    allows TTL nodes
  --host ADDRESS      listen there (default 127.0.0.1). Anybody who reaches it may read and write everything, so
                      whatever is not this machine alone needs the next option as well:
  --allow-remote      I know that others can reach it
  --help              this text
`;

interface Options {
  readonly host: string;
  readonly port: number;
  readonly tickTimeMs: number;
  readonly extendedTypes: boolean;
}

/** Runs the command line of the embedded server and returns the exit code. */
export async function runEmbeddedCli(args: readonly string[]): Promise<number> {
  try {
    const options = parse(args);
    if (options === "help") {
      process.stdout.write(usage);
      return 0;
    }
    await serve(options);
    return 0;
  } catch (error) {
    if (isUsageError(error)) {
      process.stderr.write(`${name}: ${error.message}\n\n${usage}`);
      return 2;
    }
    if (error instanceof TestServerError) {
      process.stderr.write(`${name}: ${error.message}\n`);
      return 1;
    }
    throw error;
  }
}

function parse(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      port: { type: "string" },
      tick: { type: "string" },
      host: { type: "string" },
      "extended-types": { type: "boolean" },
      "allow-remote": { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help === true) return "help";
  const { host = "127.0.0.1" } = values;
  if (!isLoopback(host) && values["allow-remote"] !== true) {
    throw new UsageError(
      `--host ${host}: other machines could read and write everything; with --allow-remote it is done all the same`,
    );
  }
  return {
    host,
    port: parseNumber("--port", values.port ?? "2181", 0, 65_535),
    tickTimeMs: parseNumber("--tick", values.tick ?? "2000", 1, 3_600_000),
    extendedTypes: values["extended-types"] === true,
  };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

async function serve(options: Options): Promise<void> {
  // The listener for signals is made before the server starts, so that an early ctrl-C is not lost.
  await using stop = new StopRequest();
  await using server = await start(options);
  process.stdout.write(
    `${server.connectString}\nA ZooKeeper for development and tests: one process, in memory only. Ctrl-C ends it, and nothing is kept.\n`,
  );
  await stop.came();
}

async function start(options: Options): Promise<EmbeddedZooKeeper> {
  try {
    return await startEmbeddedZooKeeper({ ...options, words: "all" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const where = `${options.host}:${options.port}`;
    if (code === "EADDRINUSE") {
      throw new TestServerError(`${where} is taken by another process; --port 0 finds a free one`);
    }
    if (code === "EACCES" || code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
      throw new TestServerError(`cannot listen at ${where}: ${code}`);
    }
    throw error;
  }
}
