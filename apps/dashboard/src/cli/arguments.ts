import { parseArgs } from "node:util";
import type { DashboardConfig } from "../config/schema.js";
import { quickConfig } from "./quick-config.js";

export type Command =
  | { readonly do: "help" }
  | { readonly do: "hash-password" }
  | { readonly do: "serve" | "check"; readonly config: string }
  | { readonly do: "serve" | "check"; readonly quick: DashboardConfig };

/** The command line cannot be right. The message names what to change. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

export const help = `Usage: holdfast-dashboard --config <file> [--check]
       holdfast-dashboard --zookeeper <servers> --redis <url> [...]
       holdfast-dashboard hash-password

Shows who holds and who waits for locks of Curator, kazoo, Redisson and holdfast, and what is wrong.

Options
  --config <file>   the configuration, YAML or JSON
  --check           read it and the secrets that it names, see that the port is free, and exit;
                    beside a dashboard that runs give it another port: listen.port in a copy of the
                    file, or --port
  --help            this text

Without a configuration: on 127.0.0.1, for users of this machine, and no lock can be changed
  --zookeeper <servers>        host:2181,host:2181/chroot; again for another ensemble
  --root <path>                where its locks are, * is one segment; again for more. Default /,
                               which does not go with --actions
  --redis <url>                redis://[user@]host:6379 or rediss://; again for another server
  --redis-password-env <name>  the variable that has its password
  --pattern <glob>             of its lock names; again for more. Default *, a scan of all keys
  --port <number>              default 8080, which the AdminServer of a ZooKeeper on this machine
                               takes too; 0: any
  --actions                    users of the page may change locks; takes --root with --zookeeper

Commands
  hash-password     reads a password from the standard input and prints what belongs into the file of
                    auth.basic, behind name:role:

SIGHUP reads the files of users and tokens again at once, unless it comes from a terminal that was closed.
The exit code is 0 after SIGINT or SIGTERM and after a check that found nothing, 2 for a wrong
configuration or option, 1 for anything else.`;

/** @throws UsageError */
export function parseCommand(args: readonly string[]): Command {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const { values, positionals } = parsed;
  if (values.help === true) return { do: "help" };
  const [command, ...more] = positionals;
  if (command === "hash-password" && more.length === 0) return { do: "hash-password" };
  if (command !== undefined) throw new UsageError(`there is no command ${command}`);
  const what = values.check === true ? "check" : "serve";
  const { config } = values;
  const given = quickFlags.filter((flag) => values[flag] !== undefined);
  if (config !== undefined) {
    if (given.length > 0)
      throw new UsageError(`--${given[0]} goes without --config; the file says the same with more`);
    return { do: what, config };
  }
  return { do: what, quick: quickOf(values) };
}

const quickFlags = [
  "zookeeper",
  "root",
  "redis",
  "redis-password-env",
  "pattern",
  "port",
  "actions",
] as const;

function quickOf(values: ReturnType<typeof parse>["values"]): DashboardConfig {
  const { zookeeper = [], root = [], redis = [], pattern = [], port, actions = false } = values;
  const redisPasswordEnv = values["redis-password-env"];
  if (zookeeper.length + redis.length === 0)
    throw new UsageError("--config names the file to start with, or --zookeeper or --redis what to show");
  if (root.length > 0 && zookeeper.length === 0) throw new UsageError("--root is of --zookeeper");
  if (pattern.length > 0 && redis.length === 0) throw new UsageError("--pattern is of --redis");
  if (redisPasswordEnv !== undefined && redis.length === 0)
    throw new UsageError("--redis-password-env is of --redis");
  if (redis.some((url) => URL.canParse(url) && new URL(url).password !== ""))
    throw new UsageError(
      "--redis has a password in it, which every user of this machine can read; put it into a variable that --redis-password-env names",
    );
  if (port !== undefined && !/^\d{1,5}$/.test(port)) throw new UsageError("--port takes a number");
  return quickConfig({
    zookeeper,
    redis,
    roots: root,
    patterns: pattern,
    redisPasswordEnv,
    port: port === undefined ? undefined : Number(port),
    actions,
  });
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      config: { type: "string" },
      check: { type: "boolean" },
      help: { type: "boolean", short: "h" },
      zookeeper: { type: "string", multiple: true },
      root: { type: "string", multiple: true },
      redis: { type: "string", multiple: true },
      "redis-password-env": { type: "string" },
      pattern: { type: "string", multiple: true },
      port: { type: "string" },
      actions: { type: "boolean" },
    },
  });
}
