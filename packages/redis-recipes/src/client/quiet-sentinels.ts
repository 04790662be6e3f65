import { type Redis, SentinelConnector } from "ioredis";

/**
 * ioredis listens to every sentinel for news of a failover, on connections whose errors nobody hears, so that it prints them
 * when a sentinel goes. What they say is of no use here: the master's own connection tells what matters.
 */
export class QuietSentinels extends SentinelConnector {}

interface Inner {
  connectToSentinel(endpoint: unknown, options?: unknown): Redis;
}

const inherited = (SentinelConnector.prototype as unknown as Inner).connectToSentinel;

// Private in its types, so that it cannot be overridden in the class.
Object.defineProperty(QuietSentinels.prototype, "connectToSentinel", {
  value(this: Inner, endpoint: unknown, options?: unknown): Redis {
    const client = inherited.call(this, endpoint, options);
    client.on("error", () => {});
    return client;
  },
});
