/** Where the servers are. Addresses are `redis://host:port`, or `rediss://` for TLS. */
export type RedissonServers =
  | { readonly mode: "single"; readonly address: string }
  | { readonly mode: "sentinel"; readonly masterName: string; readonly sentinels: readonly string[] }
  | {
      readonly mode: "cluster";
      readonly nodes: readonly string[];
      /** Default `AUTO`: sharded channels where the servers have them. */
      readonly shardedSubscriptionMode?: "AUTO" | "ON" | "OFF";
    };

/**
 * The settings of a client. A setting that is left out has Redisson's default. The codec, which no lock uses, always has it.
 */
export interface RedissonClientOptions {
  readonly servers: RedissonServers;
  readonly username?: string;
  readonly password?: string;
  /** The lease of a hold that is renewed. The renewals come after each third of it. Default 30,000. */
  readonly lockWatchdogTimeoutMs?: number;
  /** How many locks are renewed by one script. Default 100. */
  readonly lockWatchdogBatchSize?: number;
  /** How long a waiter of a fair lock may be silent. Default 300,000. */
  readonly fairLockWaitTimeoutMs?: number;
  /** Whether a grant fails when no replica acknowledged it. Default true. */
  readonly checkLockSyncedSlaves?: boolean;
  /** How long Redisson waits for replicas. Default 1,000. */
  readonly slavesSyncTimeoutMs?: number;
  /** The time-out of one command. Default 3,000. */
  readonly timeoutMs?: number;
  /** Default 4. */
  readonly retryAttempts?: number;
  /** How often the client asks sentinels or nodes for the present state. Default 1,000 and 5,000. */
  readonly scanIntervalMs?: number;
}

/** Words for `RedissonSettings.java`. */
export function settingsOf({ servers, ...options }: RedissonClientOptions): string[] {
  return Object.entries({ ...wordsOf(servers), ...options })
    .filter(([, value]) => value !== undefined)
    .map(([setting, value]) => `${setting}=${value}`);
}

function wordsOf(servers: RedissonServers): Record<string, string | undefined> {
  switch (servers.mode) {
    case "single":
      return { mode: servers.mode, addresses: servers.address };
    case "sentinel":
      return { mode: servers.mode, addresses: servers.sentinels.join(), masterName: servers.masterName };
    case "cluster":
      return {
        mode: servers.mode,
        addresses: servers.nodes.join(),
        shardedSubscriptionMode: servers.shardedSubscriptionMode,
      };
  }
}
