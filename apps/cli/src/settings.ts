import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ParseArgsConfig } from "node:util";
import { addressText } from "@holdfast/core/internal";
import type { RedisTargetOptions } from "@holdfast/redis-recipes";
import type { ZooKeeperLocksOptions } from "@holdfast/zk-recipes";
import { UsageError } from "./usage.js";

/** Where the locks are. */
export type Settings = ZooKeeperSettings | RedisSettings;

/** Locks in ZooKeeper. */
export interface ZooKeeperSettings {
  readonly backend: "zookeeper";
  /** The connect string, for messages. */
  readonly servers: string;
  /** What `zookeeperLocks()` takes: `connect`, and `root`, `namespace` and `auth` if they were given. */
  readonly zookeeper: Pick<ZooKeeperLocksOptions, "root" | "namespace" | "auth"> & {
    /** Servers and chroot, as `zookeeperLocks()` takes them. */
    readonly connect: string;
  };
}

/** Locks in Redis. */
export interface RedisSettings {
  readonly backend: "redis";
  /** The `host:port` of each server, without any password, for messages. */
  readonly servers: string;
  /** What `redisLocks()` takes: one of `url`, `sentinels` and `cluster`, credentials, and `keyPrefix` if it was given. */
  readonly redis: Pick<
    RedisTargetOptions,
    "url" | "sentinels" | "cluster" | "username" | "password" | "tls" | "db"
  > & {
    /** The text in front of each lock name; left out if it was not given. */
    readonly keyPrefix?: string;
  };
}

/** The options that all commands have. */
export const commonOptions: {
  readonly [K in
    | "zookeeper"
    | "redis"
    | "sentinel-master"
    | "root"
    | "namespace"
    | "key-prefix"
    | "config"
    | "json"
    | "help"]: NonNullable<ParseArgsConfig["options"]>[string];
} = {
  zookeeper: { type: "string" },
  redis: { type: "string", multiple: true },
  "sentinel-master": { type: "string" },
  root: { type: "string" },
  namespace: { type: "string" },
  "key-prefix": { type: "string" },
  config: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
};

/** The text of `help` about the common options. */
export const commonHelp = `Where the locks are: an option, else its variable, else the configuration file
  --zookeeper CONNECT     host:2181,host:2181/chroot              HOLDFAST_ZOOKEEPER
  --root PATH             below which relative names are          HOLDFAST_ROOT
                          (/holdfast)
  --namespace NAME        Curator's namespace                     HOLDFAST_NAMESPACE
  --redis URL             redis://host:6379/0 or rediss://;       HOLDFAST_REDIS
                          several: the nodes of a cluster         (with commas between)
  --sentinel-master NAME  the URLs of --redis are sentinels, and  HOLDFAST_SENTINEL_MASTER
                          this is their name of the master
  --key-prefix TEXT       in front of each lock name              HOLDFAST_KEY_PREFIX
  --config FILE           JSON; else ./holdfast.json, else        HOLDFAST_CONFIG
                          $XDG_CONFIG_HOME/holdfast/config.json
  --json                  output for programs
  -h, --help              this text
Secrets are not for command lines, which all users of a machine can read: HOLDFAST_REDIS may have a URL with a
password, HOLDFAST_ZOOKEEPER_AUTH has scheme:credentials, and the file may have both (redis, zookeeperAuth).
`;

/** The option and the variable of each setting. The key is its field in the configuration file. */
const names = {
  zookeeper: { option: "zookeeper", variable: "HOLDFAST_ZOOKEEPER" },
  redis: { option: "redis", variable: "HOLDFAST_REDIS" },
  root: { option: "root", variable: "HOLDFAST_ROOT" },
  namespace: { option: "namespace", variable: "HOLDFAST_NAMESPACE" },
  zookeeperAuth: { option: null, variable: "HOLDFAST_ZOOKEEPER_AUTH" },
  sentinelMaster: { option: "sentinel-master", variable: "HOLDFAST_SENTINEL_MASTER" },
  keyPrefix: { option: "key-prefix", variable: "HOLDFAST_KEY_PREFIX" },
} as const;

type Key = keyof typeof names;

const backendOf: Readonly<Record<Key, Settings["backend"]>> = {
  zookeeper: "zookeeper",
  root: "zookeeper",
  namespace: "zookeeper",
  zookeeperAuth: "zookeeper",
  redis: "redis",
  sentinelMaster: "redis",
  keyPrefix: "redis",
};

/** One source of settings. */
interface Source {
  /** The name of this setting in this source, for messages. */
  name(key: Key): string;
  value(key: Key): string | readonly string[] | undefined;
}

/** The sources of settings other than the options. */
export interface Surroundings {
  /** The variables of the environment, by their names. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where `holdfast.json` is looked for: the working directory. */
  readonly directory: string;
}

/**
 * Reads where the locks are. Each setting comes from its option, else from its variable, else from the configuration
 * file.
 * The first of the three that names a server decides between ZooKeeper and Redis. Throws `UsageError`, which names the
 * option, variable or field.
 */
export function readSettings(
  values: Readonly<Record<string, unknown>>,
  { env, directory }: Surroundings,
): Settings {
  const sources = [optionsSource(values), environmentSource(env)];
  const file = fileOf(values.config as string | undefined, env, directory);
  if (file !== null) sources.push(fileSource(file));
  const backend = backendFrom(sources);
  const [options] = sources as [Source, ...Source[]];
  for (const key of Object.keys(names) as Key[]) {
    if (options.value(key) !== undefined && backendOf[key] !== backend)
      throw new UsageError(`${options.name(key)} is of ${backendOf[key]}, and the locks are in ${backend}`);
  }
  const found = (key: Key): { value: string | readonly string[]; name: string } | undefined => {
    for (const source of sources) {
      const value = source.value(key);
      if (value !== undefined) return { value, name: source.name(key) };
    }
    return undefined;
  };
  const text = (key: Key): string | undefined => {
    const given = found(key);
    if (given === undefined) return undefined;
    if (typeof given.value === "string") return given.value;
    throw new UsageError(`${given.name} takes one text`);
  };
  return backend === "zookeeper" ? zookeeperFrom(text) : redisFrom(found("redis"), text);
}

function backendFrom(sources: readonly Source[]): Settings["backend"] {
  for (const source of sources) {
    const [zookeeper, redis] = [source.value("zookeeper"), source.value("redis")];
    if (zookeeper !== undefined && redis !== undefined)
      throw new UsageError(
        `${source.name("zookeeper")} and ${source.name("redis")} are both given; the locks are in one of them`,
      );
    if (zookeeper !== undefined) return "zookeeper";
    if (redis !== undefined) return "redis";
  }
  throw new UsageError(
    "where are the locks? Give --zookeeper or --redis, or set HOLDFAST_ZOOKEEPER or HOLDFAST_REDIS, or write a holdfast.json",
  );
}

function zookeeperFrom(text: (key: Key) => string | undefined): ZooKeeperSettings {
  const connect = text("zookeeper") as string;
  const [root, namespace, auth] = [text("root"), text("namespace"), text("zookeeperAuth")];
  return {
    backend: "zookeeper",
    servers: connect,
    zookeeper: {
      connect,
      ...(root !== undefined && { root }),
      ...(namespace !== undefined && { namespace }),
      ...(auth !== undefined && { auth: [credentialOf(auth)] }),
    },
  };
}

function credentialOf(text: string): { scheme: string; auth: string } {
  const colon = text.indexOf(":");
  if (colon < 1)
    throw new UsageError(
      "HOLDFAST_ZOOKEEPER_AUTH (zookeeperAuth in the file) must be like digest:user:password",
    );
  return { scheme: text.slice(0, colon), auth: text.slice(colon + 1) };
}

function redisFrom(
  given: { value: string | readonly string[]; name: string } | undefined,
  text: (key: Key) => string | undefined,
): RedisSettings {
  const { value, name } = given as NonNullable<typeof given>;
  const texts = typeof value === "string" ? value.split(",").map((each) => each.trim()) : value;
  const urls = texts.map((each) => urlOf(each, name));
  const master = text("sentinelMaster");
  const keyPrefix = text("keyPrefix");
  const nodes = urls.map(({ hostname, port }) => ({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (master === undefined ? 6379 : 26_379) : Number(port),
  }));
  const servers = nodes.map(addressText).join(",");
  const prefixed = keyPrefix === undefined ? {} : { keyPrefix };
  const [first] = texts as [string, ...string[]];
  if (urls.length === 1 && master === undefined)
    return { backend: "redis", servers, redis: { url: first, ...prefixed } };
  const access = commonAccess(urls, name);
  if (master === undefined) {
    if (access.db !== 0)
      throw new UsageError(`${name}: a cluster has the database 0 alone; leave it out of the URLs`);
    const { db: _, ...rest } = access;
    return { backend: "redis", servers, redis: { cluster: { nodes }, ...rest, ...prefixed } };
  }
  return {
    backend: "redis",
    servers,
    redis: { sentinels: { sentinels: nodes, name: master }, ...access, ...prefixed },
  };
}

function urlOf(text: string, name: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // The text itself is not shown, because it may contain a password.
    throw new UsageError(`${name} must be like redis://host:6379/0`);
  }
  if (!["redis:", "rediss:"].includes(url.protocol) || url.hostname === "")
    throw new UsageError(`${name} must be like redis://host:6379/0, or rediss:// for TLS`);
  if (name.startsWith("--") && url.password !== "")
    throw new UsageError(
      `${name} has a password in it, which all users of this machine can read; put the URL into HOLDFAST_REDIS or into the configuration file`,
    );
  return url;
}

/** Several URLs belong to one client, so they must have the same scheme, user, password and database. Returns what they share. */
function commonAccess(
  urls: readonly URL[],
  name: string,
): Pick<RedisSettings["redis"], "username" | "password" | "tls"> & { db: number } {
  const [first] = urls as [URL, ...URL[]];
  for (const part of ["protocol", "username", "password", "pathname"] as const) {
    if (urls.some((each) => each[part] !== first[part]))
      throw new UsageError(`${name}: several URLs must agree in scheme, user, password and database`);
  }
  const path = /^\/?(\d*)$/.exec(first.pathname);
  if (path === null) throw new UsageError(`${name}: the path is the number of the database`);
  return {
    db: Number(path[1]),
    ...(first.username !== "" && { username: decodeURIComponent(first.username) }),
    ...(first.password !== "" && { password: decodeURIComponent(first.password) }),
    ...(first.protocol === "rediss:" && { tls: {} }),
  };
}

function optionsSource(values: Readonly<Record<string, unknown>>): Source {
  return {
    name: (key) => `--${names[key].option}`,
    value: (key) => {
      const { option } = names[key];
      return option === null ? undefined : (values[option] as string | string[] | undefined);
    },
  };
}

function environmentSource(env: Surroundings["env"]): Source {
  return {
    name: (key) => names[key].variable,
    value: (key) => env[names[key].variable] || undefined,
  };
}

interface ConfigFile {
  readonly path: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

function fileSource({ path, fields }: ConfigFile): Source {
  return {
    name: (key) => `${path}: ${key}`,
    value: (key) => fields[key] as string | string[] | undefined,
  };
}

/**
 * A file that is named by `--config` or `HOLDFAST_CONFIG` must exist. Otherwise the first of the two default files that
 * exists is read.
 */
function fileOf(option: string | undefined, env: Surroundings["env"], directory: string): ConfigFile | null {
  const named = option ?? (env.HOLDFAST_CONFIG || undefined);
  if (named !== undefined) return readFile(named, option === undefined ? "HOLDFAST_CONFIG" : "--config");
  const home = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  for (const path of [join(directory, "holdfast.json"), join(home, "holdfast", "config.json")])
    if (existsSync(path)) return readFile(path, path);
  return null;
}

function readFile(path: string, name: string): ConfigFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`${name}: ${path} cannot be read: ${(error as Error).message}`);
  }
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch (error) {
    // The parser's message may quote the file, which may contain a password. So only the position is taken from it.
    const at = /at position (\d+)/.exec((error as Error).message)?.[1];
    const line = at === undefined ? "" : ` (line ${text.slice(0, Number(at)).split("\n").length})`;
    throw new UsageError(`${name}: ${path} is not JSON${line}`);
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields))
    throw new UsageError(`${path} must be a JSON object with ${Object.keys(names).join(", ")}`);
  for (const [field, value] of Object.entries(fields)) {
    if (!Object.hasOwn(names, field))
      throw new UsageError(
        `${path}: there is no field ${JSON.stringify(field)}; there are ${Object.keys(names).join(", ")}`,
      );
    const texts = field === "redis" && Array.isArray(value) ? value : [value];
    if (texts.length === 0 || texts.some((each) => typeof each !== "string" || each === ""))
      throw new UsageError(
        `${path}: ${field} must be a text${field === "redis" ? " or a list of texts" : ""}`,
      );
  }
  return { path, fields: fields as ConfigFile["fields"] };
}
