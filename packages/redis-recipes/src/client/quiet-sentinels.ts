import { type Redis, type RedisOptions, SentinelConnector } from "ioredis";

interface Inner {
  readonly options: RedisOptions;
  failoverDetector: { cleanup(): void } | null | undefined;
  connectToSentinel(endpoint: unknown, options?: unknown): Redis;
}

/**
 * Keeps the failover detector of ioredis quiet and harmless. To hear of a failover, ioredis keeps a connection to every sentinel.
 * These connections have no error listener, so ioredis prints their errors when a sentinel goes away. The errors are of no use
 * here: the connection to the master shows what matters.
 *
 * While ioredis asks the sentinels for the next master it still listens, and news that arrives then ends the client for good
 * (6.0.0). The sentinel's answer names the next master anyway, so the listeners are dropped until there is a connection again.
 */
export class QuietSentinels extends SentinelConnector {
  override connect(
    emitter: Parameters<SentinelConnector["connect"]>[0],
  ): ReturnType<SentinelConnector["connect"]> {
    const inner = this as unknown as Inner;
    inner.failoverDetector?.cleanup();
    // Without this, each further attempt in an outage would end the same connections again, with a timer and a listener for each.
    inner.failoverDetector = null;
    return super.connect(emitter);
  }
}

const inherited = (SentinelConnector.prototype as unknown as Inner).connectToSentinel;

// `connectToSentinel` is private in the types of ioredis, so the class cannot override it.
Object.defineProperty(QuietSentinels.prototype, "connectToSentinel", {
  value(this: Inner, endpoint: unknown, options?: object): Redis {
    const { Connector } = this.options;
    const client = inherited.call(this, endpoint, { ...options, Connector });
    client.on("error", () => {});
    return client;
  },
});
