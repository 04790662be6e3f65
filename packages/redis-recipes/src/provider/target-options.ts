import type { ConnectionOptions } from "node:tls";
import { InvalidArgumentError } from "@holdfast/core";
import { checkKnownKeys, checkObject, checkString, show } from "@holdfast/core/internal";
import { checkGivenClient, type IoredisClient } from "../client/given-client.js";
import type { Credentials, NatMap, RedisAddress, RedisTarget } from "../client/target.js";

/** Sentinels, and the master that they name. */
export interface RedisSentinelOptions {
  /** Addresses of some of the sentinels; the others are found through them. */
  readonly sentinels: readonly RedisAddress[];
  /** The name of the master in the sentinels' configuration. */
  readonly name: string;
  /** ACL user at the sentinels. Default: the default user. */
  readonly username?: string;
  /** Password at the sentinels. Default: none. */
  readonly password?: string;
  /** Options of `node:tls` for connections to the sentinels by TLS. Default: plain TCP. */
  readonly tls?: ConnectionOptions;
  /** For each `host:port` that a sentinel reports, the address by which it is reached from here. Default: none. */
  readonly natMap?: NatMap;
}

/** The nodes of a Redis Cluster. */
export interface RedisClusterOptions {
  /** Addresses of some of the nodes; the others are found through them. */
  readonly nodes: readonly RedisAddress[];
  /** For each `host:port` that a node reports, the address by which it is reached from here. Default: none. */
  readonly natMap?: NatMap;
}

/** Where the servers are: exactly one of `url`, `sentinels`, `cluster` and `client`. */
export interface RedisTargetOptions {
  /** One server: `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
  readonly url?: string;
  /** The master that these sentinels name; the provider follows it through failovers. */
  readonly sentinels?: RedisSentinelOptions;
  /** A Redis Cluster. All keys of a lock are in the slot of its name. */
  readonly cluster?: RedisClusterOptions;

  /**
   * An ioredis client of your own, `Redis` or `Cluster`, version 5 or later. It is never closed. Duplicates of it carry
   * subscriptions and requests that wait for replicas. For each option that is not safe for locks there is a process warning,
   * with the value to set. `keyPrefix`, `readOnly`, `stringNumbers` and `monitor` are refused.
   */
  readonly client?: IoredisClient;

  /** ACL user; default: the default user. Given in the url or here. */
  readonly username?: string;
  /** Password of that user, or of the default user; default none. Given in the url or here. */
  readonly password?: string;
  /**
   * Options of `node:tls` for `rediss://`, for a sentinel's master, or for a cluster. Default: none; without `rediss://` that is
   * plain TCP.
   */
  readonly tls?: ConnectionOptions;
  /** Number of the database; default 0. Given in the url or here; a cluster has only database 0. */
  readonly db?: number;
}

const ways = ["url", "sentinels", "cluster", "client"] as const;
const accessKeys = ["username", "password", "tls", "db"] as const;

/**
 * What to connect to. Throws `InvalidArgumentError` if none or several ways are given, and for options that do not fit together.
 * `factory`: the name in the error messages.
 */
export function targetOf(options: RedisTargetOptions, factory = "redisLocks"): RedisTarget {
  const given = ways.filter((way) => options[way] !== undefined);
  if (given.length !== 1) {
    throw new InvalidArgumentError(
      `${factory} takes exactly one of the options url, sentinels, cluster and client; got ${given.length === 0 ? "none" : given.join(" and ")}`,
    );
  }
  checkString(`${factory}: username`, options.username);
  checkString(`${factory}: password`, options.password);
  checkTls(`${factory}: tls`, options.tls);
  if (options.db !== undefined && !(Number.isInteger(options.db) && options.db >= 0)) {
    throw new InvalidArgumentError(
      `${factory}: db must be a whole number, 0 or more; got ${show(options.db)}`,
    );
  }
  if (options.username !== undefined && options.password === undefined) {
    throw new InvalidArgumentError(`${factory}: username needs a password`);
  }
  if (options.url !== undefined) return singleTarget(options.url, options, factory);
  if (options.sentinels !== undefined) return sentinelTarget(options.sentinels, options);
  if (options.cluster !== undefined) return clusterTarget(options.cluster, options);
  const misplaced = accessKeys.find((key) => options[key] !== undefined);
  if (misplaced !== undefined) {
    throw new InvalidArgumentError(
      `${factory}: ${misplaced} belongs to the connection, which a given client makes itself`,
    );
  }
  return checkGivenClient(options.client);
}

function singleTarget(url: string, options: RedisTargetOptions, factory: string): RedisTarget {
  const what = `${factory}: url`;
  checkString(what, url);
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch (cause) {
    throw new InvalidArgumentError(`${what} must be like redis://host:6379/0`, { cause });
  }
  const { protocol, hostname, pathname } = parsed;
  // The URL itself is not shown, since it may contain a password.
  if (protocol !== "redis:" && protocol !== "rediss:") {
    throw new InvalidArgumentError(`${what} must begin with redis:// or rediss://; got ${show(protocol)}`);
  }
  if (hostname === "") throw new InvalidArgumentError(`${what} names no host`);
  if (parsed.search !== "" || parsed.hash !== "") {
    throw new InvalidArgumentError(
      `${what} takes no parameters behind the database; use the options of ${factory}`,
    );
  }
  if (!/^\/?\d*$/.test(pathname)) {
    throw new InvalidArgumentError(`${what}: the path is the number of the database; got ${show(pathname)}`);
  }
  if (protocol === "redis:" && options.tls !== undefined) {
    throw new InvalidArgumentError(`${factory}: tls needs a url that begins with rediss://`);
  }
  const inUrl = {
    username: decoded(`${what}: the user`, parsed.username),
    password: decoded(`${what}: the password`, parsed.password),
    db: pathname.length > 1 ? Number(pathname.slice(1)) : undefined,
  };
  const twice = (["username", "password", "db"] as const).find(
    (key) => inUrl[key] !== undefined && options[key] !== undefined,
  );
  if (twice !== undefined) {
    throw new InvalidArgumentError(`${factory}: ${twice} is given twice, in the url and as an option`);
  }
  if (inUrl.username !== undefined && (inUrl.password ?? options.password) === undefined) {
    throw new InvalidArgumentError(`${what}: a user needs a password`);
  }
  return {
    kind: "single",
    address: {
      host: hostname.replace(/^\[|\]$/g, ""),
      port: parsed.port === "" ? 6379 : Number(parsed.port),
    },
    access: {
      username: inUrl.username ?? options.username,
      password: inUrl.password ?? options.password,
      tls: protocol === "rediss:" ? (options.tls ?? {}) : undefined,
    },
    db: inUrl.db ?? options.db ?? 0,
  };
}

/** Decodes a percent-encoded part of a url. Errors do not show it, since it may be a secret. */
function decoded(what: string, part: string): string | undefined {
  if (part === "") return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    throw new InvalidArgumentError(
      `${what} must be percent-encoded, so write %25 for a percent sign; or use the options username and password`,
    );
  }
}

const sentinelKeys = new Set(["sentinels", "name", "username", "password", "tls", "natMap"]);
const clusterKeys = new Set(["nodes", "natMap"]);

function sentinelTarget(sentinels: RedisSentinelOptions, options: RedisTargetOptions): RedisTarget {
  const what = "redisLocks: sentinels";
  checkObject(what, sentinels);
  checkKnownKeys(what, sentinels, sentinelKeys);
  checkString(`${what}.username`, sentinels.username);
  checkString(`${what}.password`, sentinels.password);
  checkTls(`${what}.tls`, sentinels.tls);
  if (typeof sentinels.name !== "string" || sentinels.name === "") {
    throw new InvalidArgumentError(
      `${what}.name must be what the sentinels call the master; got ${show(sentinels.name)}`,
    );
  }
  return {
    kind: "sentinel",
    sentinels: checkAddresses(`${what}.sentinels`, sentinels.sentinels),
    masterName: sentinels.name,
    sentinelAccess: credentials(sentinels),
    natMap: checkNatMap(`${what}.natMap`, sentinels.natMap),
    access: credentials(options),
    db: options.db ?? 0,
  };
}

function clusterTarget(cluster: RedisClusterOptions, options: RedisTargetOptions): RedisTarget {
  const what = "redisLocks: cluster";
  checkObject(what, cluster);
  checkKnownKeys(what, cluster, clusterKeys);
  if ((options.db ?? 0) !== 0) {
    throw new InvalidArgumentError("redisLocks: a cluster has the database 0 alone; leave out db");
  }
  return {
    kind: "cluster",
    nodes: checkAddresses(`${what}.nodes`, cluster.nodes),
    natMap: checkNatMap(`${what}.natMap`, cluster.natMap),
    access: credentials(options),
  };
}

/**
 * Node.js refuses a server name that is no string only when the socket connects already, and ioredis then has no socket to close,
 * and no listener for the socket's error.
 */
function checkTls(what: string, tls: ConnectionOptions | undefined): void {
  checkObject(what, tls);
  checkString(`${what}.servername`, tls?.servername);
}

function credentials({ username, password, tls }: Partial<Credentials>): Credentials {
  return { username, password, tls };
}

function checkAddresses(what: string, addresses: unknown): readonly RedisAddress[] {
  if (!Array.isArray(addresses) || addresses.length === 0) {
    throw new InvalidArgumentError(`${what} must name at least one { host, port }; got ${show(addresses)}`);
  }
  for (const address of addresses) checkAddress(what, address);
  return addresses.map(({ host, port }) => ({ host, port }));
}

function checkAddress(what: string, address: unknown): void {
  const { host, port } = (address ?? {}) as Partial<RedisAddress>;
  const fits = typeof host === "string" && host !== "" && Number.isInteger(port) && port !== undefined;
  if (fits && port >= 1 && port <= 65_535) return;
  throw new InvalidArgumentError(
    `${what}: each needs a host and a port from 1 to 65535; got ${JSON.stringify(address)}`,
  );
}

function checkNatMap(what: string, natMap: NatMap | undefined): NatMap | undefined {
  checkObject(what, natMap);
  for (const [from, to] of Object.entries(natMap ?? {})) checkAddress(`${what}[${show(from)}]`, to);
  return natMap;
}
