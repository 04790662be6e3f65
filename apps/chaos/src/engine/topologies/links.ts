import { type TcpProxy, ZooKeeperProxy } from "@holdfast/test-servers";
import type { ServerAddresses } from "../../workload/addresses.js";
import type { WorkerLink } from "./server-set.js";

/** A link straight to the servers. */
export function unproxiedLink(addresses: ServerAddresses): WorkerLink {
  return {
    addresses,
    proxies: [],
    setMode: async () => {
      throw new Error("this worker has no proxies: its group must be proxied");
    },
    session: () => null,
    close: async () => {},
  };
}

/** A link through proxies, one for each server. `addresses` are those of the proxies. */
export function proxiedLink(addresses: ServerAddresses, proxies: readonly TcpProxy[]): WorkerLink {
  return {
    addresses,
    proxies,
    async setMode(mode) {
      await Promise.all(proxies.map((proxy) => proxy.setMode(mode)));
    },
    session() {
      const sessions = proxies.flatMap((proxy) => (proxy instanceof ZooKeeperProxy ? proxy.sessions : []));
      return sessions.sort((a, b) => a.at - b.at).at(-1) ?? null;
    },
    async close() {
      await Promise.all(proxies.map((proxy) => proxy.close()));
    },
  };
}
