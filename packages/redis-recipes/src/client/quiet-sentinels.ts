import { type Redis, type RedisOptions, SentinelConnector } from "ioredis";

interface Inner {
  readonly options: RedisOptions;
  failoverDetector: { cleanup(): void } | null | undefined;
  connectToSentinel(endpoint: unknown, options?: unknown): Redis;
}

/**
 * ioredis listens to every sentinel for news of a failover, on connections without an error listener, so that it prints their errors
 * when a sentinel goes. These errors are of no use here: the master's own connection shows what matters.
 *
 * ioredis goes on to listen while it asks sentinels for the next master, and news that comes then ends the client for good (6.0.0). The
 * answer to the question names the next master, so no listener is needed until there is a connection again.
 */
export class QuietSentinels extends SentinelConnector {
  override connect(
    emitter: Parameters<SentinelConnector["connect"]>[0],
  ): ReturnType<SentinelConnector["connect"]> {
    const inner = this as unknown as Inner;
    inner.failoverDetector?.cleanup();
    // Otherwise each of many tries in an outage would end its connections once more, with a timer and a listener for each.
    inner.failoverDetector = null;
    return super.connect(emitter);
  }
}

const inherited = (SentinelConnector.prototype as unknown as Inner).connectToSentinel;

// Private in its types, so that it cannot be overridden in the class.
Object.defineProperty(QuietSentinels.prototype, "connectToSentinel", {
  value(this: Inner, endpoint: unknown, options?: object): Redis {
    const { Connector } = this.options;
    const client = inherited.call(this, endpoint, { ...options, Connector });
    client.on("error", () => {});
    return client;
  },
});
