import type { LockCollector } from "@holdfast/core/observe";
import { ConfigError } from "./config/config-error.js";
import type { ClusterConfig, DashboardConfig, Secret } from "./config/schema.js";
import { readSecret, type SecretSource } from "./config/secrets.js";
import { readTls } from "./config/tls.js";
import type { NamedCollector } from "./core/cluster-row.js";
import { messageOf } from "./core/problems.js";

/** One for each cluster of the configuration; they connect in the background. Closes those that it has made when one is impossible. */
export async function makeCollectors(
  config: DashboardConfig,
  source: SecretSource,
): Promise<NamedCollector[]> {
  const made: NamedCollector[] = [];
  try {
    for (const cluster of config.clusters)
      made.push({ name: cluster.name, collector: await makeCollector(cluster, config, source) });
    return made;
  } catch (error) {
    await Promise.all(made.map(({ collector }) => collector.close()));
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`clusters: ${config.clusters[made.length]?.name}: ${messageOf(error)}`);
  }
}

async function makeCollector(
  { name, zookeeper, redis }: ClusterConfig,
  { thresholds }: DashboardConfig,
  source: SecretSource,
): Promise<LockCollector> {
  const secret = (what: string, from: Secret): Promise<string> =>
    readSecret(`clusters: ${name}: ${what}`, from, source);
  if (zookeeper !== undefined) {
    const { zookeeperCollector } = await import("@holdfast/zk-recipes/collector");
    const { auth = [], adminPort, tls, ...rest } = zookeeper;
    return zookeeperCollector({
      ...rest,
      ...(adminPort === undefined ? {} : { adminPort: adminPort === 0 ? false : adminPort }),
      ...thresholds,
      ...(tls === undefined ? {} : { tls: await readTls(`clusters: ${name}: tls`, tls, source) }),
      auth: await Promise.all(
        auth.map(async (each) => ({ scheme: each.scheme, auth: await secret("auth", each.secret) })),
      ),
    });
  }
  if (redis === undefined) throw new ConfigError(`clusters: ${name} must have either zookeeper or redis`);
  const { redisCollector } = await import("@holdfast/redis-recipes/collector");
  const { password, sentinels, tls, ...rest } = redis;
  const options = {
    ...rest,
    ...(password === undefined ? {} : { password: await secret("password", password) }),
    ...(tls === undefined ? {} : { tls: await readTls(`clusters: ${name}: tls`, tls, source) }),
  };
  if (sentinels === undefined) return redisCollector(options);
  const { password: theirs, tls: toThem, ...named } = sentinels;
  return redisCollector({
    ...options,
    sentinels: {
      ...named,
      ...(theirs === undefined ? {} : { password: await secret("sentinels: password", theirs) }),
      ...(toThem === undefined
        ? {}
        : { tls: await readTls(`clusters: ${name}: sentinels: tls`, toThem, source) }),
    },
  });
}
