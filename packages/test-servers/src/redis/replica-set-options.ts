import type { ServerPlace } from "../process/server-place.js";
import type { RedisProxyOptions } from "../proxy/resp/redis-proxy.js";
import type { RedisOptions } from "./redis-options.js";

/** What `startRedisReplicaSet()` takes. */
export interface StartRedisReplicaSetOptions extends RedisOptions {
  /** How many replicas besides the master; default 2. */
  replicas?: number;
  /** How many Sentinels; default 3. The quorum is more than half of them. */
  sentinels?: number;
  /** The name of the master for Sentinel's clients; default `"holdfast"`. */
  name?: string;
  /** Silence after which a Sentinel takes a server for down, in milliseconds; default 1,000. */
  downAfterMs?: number;
  /**
   * Limit for the steps of a failover in milliseconds; default 3,000. The pause before the next try is twice as long.
   */
  failoverTimeoutMs?: number;
  /**
   * Sentinel's inner periods in milliseconds, by the names of SENTINEL DEBUG, for instance
   * `{ "info-period": 1_000, "publish-period": 500 }`. Default: Sentinel's own. With these, an old master that is back
   * stays a second master for 10 s and more, as in production.
   */
  sentinelPeriods?: Readonly<Record<string, number>>;
  /**
   * Puts a proxy in front of each server, which `cutReplication` and `isolate` need; default false. The proxies run in this
   * process: while its event loop is blocked, the servers do not reach the Sentinels. Not with TLS.
   */
  replicationProxies?: boolean;
  /**
   * Puts a `RedisProxy` in front of each server and Sentinel, only for clients. Then `sentinelAddresses` and all
   * addresses that Sentinels send are those of proxies. Default false. Not with TLS.
   */
  clientProxies?: boolean | Pick<RedisProxyOptions, "ignore" | "traceLimit">;
  /** Where each data server runs; default all on 127.0.0.1. Not with proxies of either kind. */
  places?: readonly ServerPlace[];
  /** Where each Sentinel runs; default beside the data servers, in their order. */
  sentinelPlaces?: readonly ServerPlace[];
}
