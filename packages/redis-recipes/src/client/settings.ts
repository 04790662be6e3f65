import type { Millis } from "@holdfast/core";
import type { ClusterOptions, RedisOptions } from "ioredis";
import { heardStreams } from "./heard-streams.js";
import type { Credentials, RedisTarget } from "./target.js";

type Settings = Omit<RedisOptions, "replyMapping">;
type ClusterSettings = Omit<ClusterOptions, "redisOptions"> & {
  redisOptions: Omit<NonNullable<ClusterOptions["redisOptions"]>, "replyMapping">;
};

/** How often a connection is checked while something is held over it: that it works, and that it leads to a master. */
export const pingMs: Millis = 1_000;
/**
 * While nothing is held, an answer within this time is enough: no holder has to be notified of a failover, and the answer to the
 * next request will show it. By default waiters are never silent for this long, and each of their requests writes.
 */
export const answeredMs: Millis = 2_500;
/**
 * How often a connection that carries subscriptions is checked. Messages that are missed meanwhile are made up for by heartbeats
 * and renewals.
 */
export const channelPingMs: Millis = 5_000;
/** The values of the provider options of these names. */
export interface LinkTimes {
  /** How long one attempt to connect may take. */
  readonly dialTimeoutMs: Millis;
  /** When a server has answered nothing for this long, the earlier requests have an unknown outcome. */
  readonly commandTimeoutMs: Millis;
}

export const defaultTimes: LinkTimes = { dialTimeoutMs: 500, commandTimeoutMs: 1_000 };

/** How long a connection may receive no byte, while a request waits for its answer, before it is dropped. */
export function silenceMs({ commandTimeoutMs }: LinkTimes): Millis {
  return Math.max(3_000, 3 * commandTimeoutMs);
}

/** The longest pause before the next attempt to connect. A longer pause would outlast a failover. */
const retryCapMs: Millis = 200;

export const retryDelay = (attempt: number): Millis => Math.min(20 * attempt, retryCapMs);

/**
 * The ioredis options that locks need. With the defaults, ioredis sends an unanswered command again on the next connection, so
 * that it may run twice. It queues commands while there is no connection, and never leaves a frozen server.
 *
 * There is no `commandTimeout`: it would need a timer for each command, and would also count the time in which a command waits
 * behind others that are being answered. `NodeConnection` and the collector's `Link` have limits of their own.
 *
 * `autoResendUnfulfilledCommands` stays `true`: with `false`, ioredis 6.0.0 never settles a command whose connection broke. With
 * `maxRetriesPerRequest: 0` no command is left to send again.
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
    // `ChannelConnection` subscribes again itself, so that each channel is known to be subscribed before listeners are notified.
    autoResubscribe: false,
    lazyConnect: true,
    // CLIENT SETINFO would need a right that servers before 7.2 do not know, and would fill the ACL log of servers that know it.
    disableClientInfo: true,
    maxLoadingRetryTime: 500,
  };
}

/**
 * The options of a duplicate. They override those that it would take over from a given client. With the given client's
 * `reconnectOnError`, a refused channel would end the connection, and every later connection too, since all channels are
 * subscribed again there.
 */
export function duplicateSettings(times: LinkTimes, extraWaitMs: Millis = 0): Settings {
  return {
    ...commandSettings(times, extraWaitMs),
    commandTimeout: undefined,
    readOnly: false,
    reconnectOnError: null,
  } as Settings;
}

/** The options of the client for commands; the other clients are duplicates of it. */
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

/**
 * The options of a cluster client. ioredis keeps the slot map. Commands are sent to the nodes directly, so ioredis's own
 * redirections are not used.
 */
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
    // ioredis needs the queue for its own requests, which it would otherwise refuse while a node is still connecting.
    enableOfflineQueue: true,
    // Our own check asks each node the same. The check of ioredis drops all connections when it lacks the right to ask, before
    // the reason is known.
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
