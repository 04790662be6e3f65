import type { ClusterConfig, DashboardConfig } from "../config/schema.js";

/** The settings that can be given without a file. */
export interface QuickFlags {
  readonly zookeeper: readonly string[];
  readonly redis: readonly string[];
  readonly roots: readonly string[];
  readonly patterns: readonly string[];
  /** The name of the variable that holds the password of Redis. */
  readonly redisPasswordEnv: string | undefined;
  readonly port: number | undefined;
  readonly actions: boolean;
}

/** Where the dashboard looks for locks if the flags name no roots or patterns. */
const everywhere = { roots: ["/"], patterns: ["*"] } as const;

/**
 * The configuration of a dashboard on loopback without authentication. Locks can be changed only if the flags ask for
 * actions. It is not checked yet.
 */
export function quickConfig(flags: QuickFlags): DashboardConfig {
  const { redisPasswordEnv, port, actions } = flags;
  const roots = flags.roots.length === 0 ? everywhere.roots : flags.roots;
  const patterns = flags.patterns.length === 0 ? everywhere.patterns : flags.patterns;
  const password = redisPasswordEnv === undefined ? {} : { password: { env: redisPasswordEnv } };
  const clusters: ClusterConfig[] = [
    ...flags.zookeeper.map((connect, at) => ({
      name: nameOf("zookeeper", at),
      zookeeper: { connect, roots: [...roots] },
    })),
    ...flags.redis.map((url, at) => ({
      name: nameOf("redis", at),
      redis: { url, ...password, patterns: [...patterns] },
    })),
  ];
  return { listen: { host: "127.0.0.1", ...(port === undefined ? {} : { port }) }, actions, clusters };
}

function nameOf(backend: string, at: number): string {
  return at === 0 ? backend : `${backend}-${at + 1}`;
}
