import type { StoryOptions } from "@holdfast/collectors";
import type { ZooKeeperCollectorOptions } from "@holdfast/collectors/zookeeper";
import { ConfigError } from "./config/config-error.js";
import type { ClusterConfig, DashboardConfig, Secret } from "./config/schema.js";
import { readSecret, type SecretSource } from "./config/secrets.js";
import { readTls } from "./config/tls.js";
import type { NamedCollector } from "./core/cluster-row.js";
import { messageOf } from "./core/problems.js";
import type { LastingHistory } from "./history/lasting-history.js";

/** The options of a collector, with its secrets and certificates read, and nothing opened yet. */
interface Prepared {
  /** Throws if the options are wrong. */
  check(): void;
  make(): Omit<NamedCollector, "name">;
}

/** Checks that each collector could be made, without making one. @throws ConfigError */
export async function checkCollectors(config: DashboardConfig, source: SecretSource): Promise<void> {
  for (const cluster of config.clusters)
    await saying(cluster, async () => (await prepare(cluster, config, source)).check());
}

/**
 * Makes a collector for each cluster of the configuration; they connect in the background. If one is impossible, closes
 * those that it has made.
 */
export async function makeCollectors(
  config: DashboardConfig,
  source: SecretSource,
  history?: LastingHistory,
): Promise<NamedCollector[]> {
  const made: NamedCollector[] = [];
  try {
    for (const cluster of config.clusters) {
      const parts = await saying(cluster, async () =>
        (await prepare(cluster, config, source, history)).make(),
      );
      made.push({ name: cluster.name, ...parts });
    }
    return made;
  } catch (error) {
    await Promise.all(made.map(({ collector }) => collector.close()));
    throw error;
  }
}

/** Does the work, and puts the name of the cluster into its error. @throws ConfigError */
async function saying<T>({ name }: ClusterConfig, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ConfigError ? error : new ConfigError(`clusters: ${name}: ${messageOf(error)}`);
  }
}

async function prepare(
  { name, zookeeper, redis }: ClusterConfig,
  { thresholds }: DashboardConfig,
  source: SecretSource,
  history?: LastingHistory,
): Promise<Prepared> {
  const story: StoryOptions =
    history === undefined
      ? {}
      : {
          identifyHolders: true,
          earlierSight: (key, entry) => history.earlierSight(name, key, entry),
        };
  const secret = (what: string, from: Secret): Promise<string> =>
    readSecret(`clusters: ${name}: ${what}`, from, source);
  if (zookeeper !== undefined) {
    const { checkZooKeeperCollector, zookeeperCollector } = await import("@holdfast/collectors/zookeeper");
    const { auth = [], adminPort, tls, schedules, ...rest } = zookeeper;
    const options: ZooKeeperCollectorOptions = {
      ...rest,
      ...(adminPort === undefined ? {} : { adminPort: adminPort === 0 ? false : adminPort }),
      ...thresholds,
      ...story,
      ...(tls === undefined ? {} : { tls: await readTls(`clusters: ${name}: tls`, tls, source) }),
      auth: await Promise.all(
        auth.map(async (each) => ({ scheme: each.scheme, auth: await secret("auth", each.secret) })),
      ),
    };
    return {
      check: () => checkZooKeeperCollector(options),
      make: () => {
        const collector = zookeeperCollector(options);
        return schedules === undefined
          ? { collector }
          : { collector, schedules: collector.records(schedules) };
      },
    };
  }
  if (redis === undefined) throw new ConfigError(`clusters: ${name} must have either zookeeper or redis`);
  const { checkRedisCollector, redisCollector } = await import("@holdfast/collectors/redis");
  const { password, sentinels, tls, schedules, ...rest } = redis;
  const own = {
    ...rest,
    ...story,
    ...(password === undefined ? {} : { password: await secret("password", password) }),
    ...(tls === undefined ? {} : { tls: await readTls(`clusters: ${name}: tls`, tls, source) }),
  };
  const options = { ...own, ...(sentinels === undefined ? {} : { sentinels: await sentinelsOf(sentinels) }) };
  return {
    check: () => checkRedisCollector(options),
    make: () => {
      const collector = redisCollector(options);
      return schedules === undefined ? { collector } : { collector, schedules: collector.records(schedules) };
    },
  };

  async function sentinelsOf({ password: theirs, tls: toThem, ...named }: NonNullable<typeof sentinels>) {
    return {
      ...named,
      ...(theirs === undefined ? {} : { password: await secret("sentinels: password", theirs) }),
      ...(toThem === undefined
        ? {}
        : { tls: await readTls(`clusters: ${name}: sentinels: tls`, toThem, source) }),
    };
  }
}
