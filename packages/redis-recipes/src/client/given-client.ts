import { InvalidArgumentError, type Millis } from "@holdfast/core";
import { show } from "@holdfast/core/internal";
import type { Cluster, Redis, RedisOptions } from "ioredis";
import { defaultTimes, type LinkTimes, silenceMs } from "./settings.js";
import type { RedisTarget } from "./target.js";

/**
 * What `redisLocks` needs from a client that it is given: a `Redis` or `Cluster` of ioredis, version 5 or later. The type is
 * structural because the classes differ between major versions, and this package brings its own version of ioredis.
 */
export interface IoredisClient {
  /** The status of an ioredis client: `"wait"`, `"connecting"`, `"ready"` and others. */
  readonly status: string;
  /** The options that it was made with. A process warning names those that are not safe for locks. */
  readonly options: object;
  /** Sends one command. */
  call(...args: never[]): unknown;
  /** Sends several commands together. */
  pipeline(...args: never[]): unknown;
  /** Makes another client with the same options. This package closes that one. */
  duplicate(...args: never[]): unknown;
  /** Adds a listener. */
  on(...args: never[]): unknown;
  /** Removes a listener. */
  off(...args: never[]): unknown;
  /** Connects a client whose `status` is `"wait"` or `"end"`. */
  connect(...args: never[]): unknown;
}

const methods = [
  "call",
  "pipeline",
  "duplicate",
  "on",
  "off",
  "connect",
] as const satisfies readonly (keyof IoredisClient)[];

/**
 * Throws `InvalidArgumentError` for a value that is not an ioredis client, and for options that would change the meaning of our
 * commands.
 */
export function checkGivenClient(client: unknown): RedisTarget {
  const what = "redisLocks: client";
  const given = client as Partial<Pick<Redis, "status" | "options">> & { readonly [method: string]: unknown };
  const fits =
    typeof given === "object" &&
    given !== null &&
    typeof given.status === "string" &&
    typeof given.options === "object" &&
    methods.every((method) => typeof given[method] === "function");
  if (!fits)
    throw new InvalidArgumentError(`${what} must be a Redis or Cluster of ioredis; got ${show(client)}`);
  const cluster = typeof given.nodes === "function" && "slots" in given;
  const options = redisOptionsOf(client as Redis | Cluster);
  const refused = (
    [
      ["keyPrefix", (options.keyPrefix ?? "") !== "" || (given.options?.keyPrefix ?? "") !== ""],
      ["readOnly", options.readOnly === true],
      ["stringNumbers", options.stringNumbers === true],
      ["monitor", options.monitor === true],
      ["role", Array.isArray(options.sentinels) && options.role === "slave"],
    ] as const
  ).find(([, unfit]) => unfit);
  if (refused !== undefined) {
    const hint =
      refused[0] === "keyPrefix" ? "; use the option keyPrefix of redisLocks, which channels know too" : "";
    throw new InvalidArgumentError(`${what} must not have the ioredis option ${refused[0]}${hint}`);
  }
  return cluster
    ? { kind: "given-cluster", client: client as Cluster }
    : { kind: "given-redis", client: client as Redis };
}

export interface UnsafeOption {
  readonly option: string;
  /** What the option costs, and what to set instead. */
  readonly advice: string;
}

/** The options of a given client that differ from ours in a way that is unsafe, and what each one costs a holder of locks. */
export function unsafeOptions(
  client: Redis | Cluster,
  times: LinkTimes = defaultTimes,
): readonly UnsafeOption[] {
  const { commandTimeoutMs } = times;
  const options = redisOptionsOf(client);
  const isCluster = "slots" in client;
  const found: UnsafeOption[] = [];
  const tell = (unsafe: boolean, option: string, advice: string): void => {
    if (unsafe) found.push({ option: isCluster ? `redisOptions.${option}` : option, advice });
  };
  tell(
    options.maxRetriesPerRequest !== 0,
    "maxRetriesPerRequest",
    "a command whose answer was lost is sent again, so that it may run twice; set 0",
  );
  tell(
    options.autoResendUnfulfilledCommands === false,
    "autoResendUnfulfilledCommands",
    "commands whose connection broke never settle in ioredis 6.0.0; leave it true, with maxRetriesPerRequest: 0",
  );
  tell(
    above(options.socketTimeout, 2 * silenceMs(times)),
    "socketTimeout",
    `a frozen server is never left; set ${silenceMs(times)}`,
  );
  tell(
    above(options.commandTimeout, 5 * commandTimeoutMs),
    "commandTimeout",
    `your own commands on it wait without limit for a silent server; set ${commandTimeoutMs}`,
  );
  tell(
    above(options.connectTimeout, 5_000),
    "connectTimeout",
    "one unreachable address delays a failover by that long; set 500",
  );
  tell(options.enableAutoPipelining === true, "enableAutoPipelining", "it costs throughput here; set false");
  tell(
    reconnectsOn(options, "NOSCRIPT No matching script."),
    "reconnectOnError",
    'every refusal ends the connection, and what else was asked on it has an unknown outcome; set (error) => error.message.startsWith("READONLY")',
  );
  if (!isCluster) {
    tell(
      options.enableOfflineQueue !== false,
      "enableOfflineQueue",
      "commands of yours that were queued during an outage run late, when a lock they belong to is gone; set false",
    );
    tell(
      !Array.isArray(options.sentinels) && !endsOnReplicas(client as Redis),
      "reconnectOnError",
      'a primary behind a name is not followed when it becomes a replica; set (error) => error.message.startsWith("READONLY")',
    );
    tell(
      Array.isArray(options.sentinels) && options.failoverDetector !== true,
      "failoverDetector",
      "a master that was replaced while frozen is never left; set true",
    );
    tell(
      slowRetry(client as Redis),
      "retryStrategy",
      "pauses between attempts can outlast the failover and the lease; set (times) => Math.min(20 * times, 200)",
    );
  }
  return found;
}

/** Whether the owner of a given client lets it reconnect when a server says that it is a replica. */
export function endsOnReplicas({ options }: Redis): boolean {
  return reconnectsOn(options, "READONLY You can't write against a read only replica.");
}

/** Calls the user's `reconnectOnError` with an error such as ioredis makes. A function that throws counts as a no. */
function reconnectsOn(options: RedisOptions, refusal: string): boolean {
  const command = { name: "evalsha", args: [] };
  try {
    return Boolean(options.reconnectOnError?.(Object.assign(new Error(refusal), { command })));
  } catch {
    return false;
  }
}

function above(value: Millis | null | undefined, mostMs: Millis): boolean {
  return typeof value !== "number" || value <= 0 || value > mostMs;
}

/**
 * Whether reconnects may come too late, or not at all. A `retryStrategy` of the user is not called, since it may count attempts,
 * write a log, or end the process after too many of them. Only the default of ioredis is recognised, whose pauses grow to
 * seconds: a duplicate without the option has it. That duplicate never connects.
 */
function slowRetry(client: Redis): boolean {
  const { retryStrategy } = client.options;
  if (typeof retryStrategy !== "function") return true;
  const unset = client.duplicate({ lazyConnect: true, retryStrategy: undefined } as Partial<RedisOptions>);
  return retryStrategy === unset.options.retryStrategy;
}

function redisOptionsOf(client: Redis | Cluster): RedisOptions {
  return "slots" in client ? ((client.options.redisOptions ?? {}) as RedisOptions) : client.options;
}
