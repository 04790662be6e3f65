import { TestServerError } from "../errors.js";
import { type RedisProxy, type RedisProxyOptions, startRedisProxy } from "../proxy/resp/redis-proxy.js";
import type { RedisProcess } from "./redis-process.js";

/**
 * A proxy for each server of a set, for clients alone: the servers talk to each other past them. All
 * addresses that a server sends to a client name proxies.
 */
export class ClientProxies {
  readonly #proxies = new Map<RedisProcess, RedisProxy>();

  /** @param announced the port at which the others of the set know a server, where it is not its own. */
  static async open(
    servers: readonly RedisProcess[],
    announced: (server: RedisProcess) => number,
    options: Pick<RedisProxyOptions, "ignore" | "traceLimit">,
  ): Promise<ClientProxies> {
    const all = new ClientProxies();
    const rewritePorts = new Map<number, number>();
    for (const server of servers) {
      const proxy = await startRedisProxy({ ...options, target: server.address, rewritePorts });
      rewritePorts.set(server.port, proxy.port);
      rewritePorts.set(announced(server), proxy.port);
      all.#proxies.set(server, proxy);
    }
    return all;
  }

  get opened(): boolean {
    return this.#proxies.size > 0;
  }

  /** @throws TestServerError without proxies. */
  of(server: RedisProcess): RedisProxy {
    const proxy = this.#proxies.get(server);
    if (proxy === undefined) {
      throw new TestServerError(
        `there is no proxy in front of ${server.address}; start with clientProxies: true`,
      );
    }
    return proxy;
  }

  /** Where a client is to find a server. */
  addressOf(server: RedisProcess): { host: string; port: number } {
    const { host, port } = this.#proxies.get(server) ?? server;
    return { host, port };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
  }
}
