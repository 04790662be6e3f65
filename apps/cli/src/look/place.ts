import type { LockCollector } from "@holdfast/collectors";
import type { LockProvider } from "@holdfast/core";
import type { RedisSettings, Settings, ZooKeeperSettings } from "../settings.js";

/**
 * A command runs for moments only. So it may ask five times as often as the collector of a dashboard, which runs all
 * the time.
 */
const scanCallsPerSecond = 100;

/** The backend as messages name it, without any password. */
export function addressOf({ backend, servers }: Settings): string {
  return `${backend === "zookeeper" ? "ZooKeeper" : "Redis"} at ${servers}`;
}

/** Where each server of the configuration listens. */
export function serversOf({ servers }: Settings): { readonly host: string; readonly port: number }[] {
  const [hosts = ""] = servers.split("/");
  return hosts.split(",").map((each) => {
    const [, bracketed, plain, port] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(each.trim()) ?? [];
    return { host: bracketed ?? plain ?? each, port: Number(port ?? 2181) };
  });
}

/**
 * The keys that a name may stand for: the key that holdfast would make of it with these settings, and the name as `ls`
 * prints it. Keys that are not possible are left out.
 */
export async function lockKeys(settings: Settings, name: string): Promise<string[]> {
  const keys =
    settings.backend === "zookeeper" ? await nodesOf(settings, name) : await redisKeysOf(settings, name);
  return [...new Set(keys)];
}

async function nodesOf({ zookeeper }: ZooKeeperSettings, name: string): Promise<string[]> {
  const { LockPaths, parseConnectString } = await import("@holdfast/zk-recipes/internal");
  const { connect, namespace = "", root = "/holdfast" } = zookeeper;
  const { chroot } = parseConnectString(connect);
  const paths = new LockPaths({ chroot, namespace, root });
  const asPrinted =
    name.startsWith("/") && name.length > 1 && (chroot === "" || name.startsWith(`${chroot}/`));
  return [paths.pathOf(name), ...(asPrinted ? [name] : [])];
}

async function redisKeysOf({ redis: { keyPrefix = "" } }: RedisSettings, name: string): Promise<string[]> {
  const { electionKeys } = await import("@holdfast/redis-recipes/internal");
  return [keyPrefix + name, name, electionKeys(keyPrefix + name).lock];
}

/** Whether the user has typed exactly this key, and the key is behind the prefix of the settings. */
export async function isOwnKey(settings: Settings, key: string, typed: string): Promise<boolean> {
  const { typedName } = await import("@holdfast/collectors/internal");
  if (typed !== key && typedName(typed) !== key) return false;
  if (settings.backend === "zookeeper") return true;
  const { keyPrefix = "" } = settings.redis;
  const { electionKeys } = await import("@holdfast/redis-recipes/internal");
  // The key of an election ends with its name, in braces if the name has no braces of its own.
  const nameAt = electionKeys("").lock.length - "{}".length;
  const names = [key.slice(nameAt), key.slice(nameAt + 1, -1)];
  return (
    key.startsWith(keyPrefix) ||
    names.some((name) => name.startsWith(keyPrefix) && electionKeys(name).lock === key)
  );
}

/**
 * Opens the collector that watches the locks from outside. With `keys` it watches only these locks. With `null` it
 * watches all locks below the root or behind the prefix of the settings, or all locks of the backend if neither is set.
 */
export async function openCollector(
  settings: Settings,
  keys: readonly string[] | null,
): Promise<LockCollector> {
  if (settings.backend === "zookeeper") {
    const { zookeeperCollector } = await import("@holdfast/collectors/zookeeper");
    const { parseConnectString } = await import("@holdfast/zk-recipes/internal");
    const { connect, namespace, root, auth } = settings.zookeeper;
    const { chroot } = parseConnectString(connect);
    const above = namespace === undefined ? "" : `/${namespace.replace(/^\//, "")}`;
    const wide = `${above}${root === undefined || root === "/" ? "" : root}` || "/";
    return zookeeperCollector({
      connect,
      // A name that the user has typed is the name of a lock, so a lone ephemeral node there is a naive mutex.
      roots: keys === null ? [wide] : keys.map((key) => naiveRoot(key.slice(chroot.length))),
      ...(auth === undefined ? {} : { auth }),
    });
  }
  const { redisCollector } = await import("@holdfast/collectors/redis");
  const { keyPrefix = "", ...access } = settings.redis;
  return redisCollector({
    ...access,
    patterns: keys === null ? [`${literal(keyPrefix)}*`] : keys.map(literal),
    scanCallsPerSecond: keys === null ? scanCallsPerSecond : 0,
  });
}

/** A root that may itself be a naive mutex. `/` may not be given as one. */
function naiveRoot(path: string): { readonly path: string; readonly naive: boolean } {
  return { path, naive: path !== "/" };
}

/** Opens a provider with the settings that `holdfast run` uses. */
export async function openProvider(settings: Settings): Promise<LockProvider> {
  if (settings.backend === "zookeeper") {
    const { zookeeperLocks } = await import("@holdfast/zk-recipes");
    return zookeeperLocks(settings.zookeeper);
  }
  const { redisLocks } = await import("@holdfast/redis-recipes");
  return redisLocks(settings.redis);
}

/** A Redis pattern that matches only this text. */
function literal(text: string): string {
  return text.replace(/[\\*?[\]]/g, "\\$&");
}
