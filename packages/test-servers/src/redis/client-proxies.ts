import { TestServerError } from "../errors.js";
import { type RedisProxy, type RedisProxyOptions, startRedisProxy } from "../proxy/resp/redis-proxy.js";
import type { RedisProcess } from "./redis-process.js";

/**
 * A proxy in front of each server of a set, only for clients: the servers talk to each other directly. All addresses
 * that a server sends to a client are those of proxies.
 */
export class ClientProxies {
  readonly #proxies = new Map<RedisProcess, RedisProxy>();

  /** @param announced gives the port at which the other servers of the set know a server. */
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

  /** @throws TestServerError if there is no proxy in front of the server. */
  of(server: RedisProcess): RedisProxy {
    const proxy = this.#proxies.get(server);
    if (proxy === undefined) {
      throw new TestServerError(
        `there is no proxy in front of ${server.address}; start with clientProxies: true`,
      );
    }
    return proxy;
  }

  /** Where a client finds a server. */
  addressOf(server: RedisProcess): { host: string; port: number } {
    const { host, port } = this.#proxies.get(server) ?? server;
    return { host, port };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
  }
}
