import { parseArgs } from "node:util";
import { TestServerError } from "../errors.js";
import { type ComponentName, componentNames, ensure } from "../install/ensure.js";
import { type RedisKind, redisKinds, serveRedis } from "./serve-redis.js";
import { serveZooKeeper } from "./serve-zookeeper.js";
import { usage } from "./usage.js";
import { isUsageError, parseNumber, UsageError } from "./usage-error.js";

/** Runs the command line and returns the exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  try {
    return await run(args);
  } catch (error) {
    if (isUsageError(error)) {
      process.stderr.write(`holdfast-servers: ${error.message}\n\n${usage}`);
      return 2;
    }
    if (error instanceof TestServerError) {
      process.stderr.write(`holdfast-servers: ${error.message}\n`);
      return 1;
    }
    throw error;
  }
}

async function run(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  if (command === "--help" || command === "-h" || rest.includes("--help") || rest.includes("-h")) {
    process.stdout.write(usage);
    return 0;
  }
  switch (command) {
    case "ensure": {
      const { values } = parseArgs({ args: rest, options: { only: { type: "string" } } });
      const progress = (line: string): void => void process.stderr.write(`holdfast-servers: ${line}\n`);
      await ensure({
        onProgress: progress,
        ...(values.only === undefined ? {} : { only: parseComponents(values.only) }),
      });
      return 0;
    }
    case "zookeeper": {
      const options = { nodes: { type: "string" }, port: { type: "string" } } as const;
      const { values } = parseArgs({ args: rest, options });
      const nodes = values.nodes === undefined ? 1 : parseNumber("--nodes", values.nodes, 1, 9);
      const port =
        values.port === undefined ? undefined : parseNumber("--port", values.port, 1, 65_536 - nodes);
      await serveZooKeeper({ nodes, ...(port === undefined ? {} : { port }) });
      return 0;
    }
    case "redis": {
      const options = { kind: { type: "string", default: "single" }, port: { type: "string" } } as const;
      const { values } = parseArgs({ args: rest, options });
      const kind = parseKind(values.kind);
      if (values.port === undefined) await serveRedis({ kind });
      else if (kind === "single")
        await serveRedis({ kind, port: parseNumber("--port", values.port, 1, 65_535) });
      else throw new UsageError(`--port goes with --kind single, not with ${kind}`);
      return 0;
    }
    case undefined:
      throw new UsageError("which command?");
    default:
      throw new UsageError(`there is no command ${command}`);
  }
}

function parseKind(text: string): RedisKind {
  const kind = redisKinds.find((candidate) => candidate === text);
  if (kind === undefined)
    throw new UsageError(`--kind: ${JSON.stringify(text)} is none of ${redisKinds.join(", ")}`);
  return kind;
}

function parseComponents(text: string): ComponentName[] {
  return text.split(",").map((name) => {
    const known = componentNames.find((candidate) => candidate === name);
    if (known === undefined)
      throw new UsageError(`--only: ${JSON.stringify(name)} is none of ${componentNames.join(", ")}`);
    return known;
  });
}
