import type { Millis } from "@holdfast/core";
import type { ClusterOptions, RedisOptions } from "ioredis";
import { heardStreams } from "./heard-streams.js";
import type { Credentials, RedisTarget } from "./target.js";

type Settings = Omit<RedisOptions, "replyMapping">;
type ClusterSettings = Omit<ClusterOptions, "redisOptions"> & {
  redisOptions: Omit<NonNullable<ClusterOptions["redisOptions"]>, "replyMapping">;
};

/** How often a connection shows that it works, and leads to a master, while something is held over it. */
export const pingMs: Millis = 1_000;
/**
 * While nothing is held, an answer within this time is enough: no holder has to hear of a failover, and the answer to the next request
 * shows it. The time is longer than waiters, whose requests all write, are silent by default.
 */
export const answeredMs: Millis = 2_500;
/** How often a connection that carries subscriptions shows that it works. What is missed meanwhile is learnt by heartbeats and renewals. */
export const channelPingMs: Millis = 5_000;
/** The options of these names. */
export interface LinkTimes {
  /** One attempt to connect. */
  readonly dialTimeoutMs: Millis;
  /** When a server has answered nothing for so long, what was asked before has an unknown outcome. */
  readonly commandTimeoutMs: Millis;
}

export const defaultTimes: LinkTimes = { dialTimeoutMs: 500, commandTimeoutMs: 1_000 };

/** A connection without a byte for so long, while something is asked, is dropped. */
export function silenceMs({ commandTimeoutMs }: LinkTimes): Millis {
  return Math.max(3_000, 3 * commandTimeoutMs);
}

/** A reconnect is tried again after at most this; longer pauses would outlast a failover. */
const retryCapMs: Millis = 200;

export const retryDelay = (attempt: number): Millis => Math.min(20 * attempt, retryCapMs);

/**
 * The ioredis options that locks need. The defaults send an unanswered command again on the next connection, so that it
 * may run twice, queue commands while there is no connection, and never leave a server that is frozen.
 *
 * There is no `commandTimeout`: it would be a timer for each command, and count the time that a command spends behind others that are
 * being answered. `NodeConnection` and the collector's `Link` have limits of their own.
 *
 * `autoResendUnfulfilledCommands` stays `true`: with `false`, ioredis 6.0.0 never settles a command whose connection broke;
 * with `maxRetriesPerRequest: 0` none is left to send again.
 */
export function commandSettings(times: LinkTimes = defaultTimes, extraWaitMs: Millis = 0): Settings {
  const { dialTimeoutMs } = times;
  return {
    Connector: heardStreams(undefined),
    failoverDetector: true,
    maxRetriesPerRequest: 0,
    socketTimeout: silenceMs(times) + extraWaitMs,
    connectTimeout: dialTimeoutMs,
    disconnectTimeout: 500,
    sentinelCommandTimeout: dialTimeoutMs,
    retryStrategy: retryDelay,
    sentinelRetryStrategy: retryDelay,
    enableOfflineQueue: false,
    enableAutoPipelining: false,
    autoResendUnfulfilledCommands: true,
    // `ChannelConnection` subscribes again, so that each channel is known to be there before listeners are notified.
    autoResubscribe: false,
    lazyConnect: true,
    // CLIENT SETINFO would need a right that servers before 7.2 do not know, and fill the ACL log of those that do.
    disableClientInfo: true,
    maxLoadingRetryTime: 500,
  };
}

/**
 * The options of a duplicate, which would otherwise have what the options of a given client say. With its `reconnectOnError`, a refused
 * channel would end the connection, and each of the next ones, since all channels are subscribed again there.
 */
export function duplicateSettings(times: LinkTimes, extraWaitMs: Millis = 0): Settings {
  return {
    ...commandSettings(times, extraWaitMs),
    commandTimeout: undefined,
    readOnly: false,
    reconnectOnError: null,
  } as Settings;
}

/** The client for commands; the others are duplicates of it. */
export function clientOptions(
  target: RedisTarget & { readonly kind: "single" | "sentinel" },
  times: LinkTimes = defaultTimes,
): Settings {
  const access = { ...accessOptions(target.access), db: target.db };
  if (target.kind === "single") return { ...commandSettings(times), ...target.address, ...access };
  const { sentinelAccess, natMap } = target;
  return {
    ...commandSettings(times),
    ...access,
    sentinels: target.sentinels.map((each) => ({ ...each })),
    name: target.masterName,
    role: "master",
    enableTLSForSentinelMode: target.access.tls !== undefined,
    ...(sentinelAccess.username === undefined ? {} : { sentinelUsername: sentinelAccess.username }),
    ...(sentinelAccess.password === undefined ? {} : { sentinelPassword: sentinelAccess.password }),
    ...(sentinelAccess.tls === undefined ? {} : { sentinelTLS: sentinelAccess.tls }),
    ...(natMap === undefined ? {} : { natMap: { ...natMap } }),
  };
}

/** ioredis keeps the map of the slots; commands are sent to the nodes directly, so its own redirections play no part. */
export function clusterOptions(
  target: RedisTarget & { readonly kind: "cluster" },
  times: LinkTimes = defaultTimes,
): ClusterSettings {
  const {
    lazyConnect: _lazy,
    retryStrategy: _retry,
    enableOfflineQueue: _queue,
    ...node
  } = commandSettings(times);
  return {
    clusterRetryStrategy: retryDelay,
    // ioredis needs it for its own questions, which it would refuse itself while a node is only connecting.
    enableOfflineQueue: true,
    // Our own check asks the same of each node. That of ioredis drops all connections when it may not ask, before the reason is known.
    enableReadyCheck: false,
    lazyConnect: true,
    scaleReads: "master",
    slotsRefreshTimeout: times.commandTimeoutMs,
    slotsRefreshInterval: 5_000,
    redisOptions: { ...node, ...accessOptions(target.access) },
    ...(target.natMap === undefined ? {} : { natMap: { ...target.natMap } }),
  };
}

function accessOptions({ username, password, tls }: Credentials): Settings {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
  };
}
