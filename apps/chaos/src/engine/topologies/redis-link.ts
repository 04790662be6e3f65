import type { RedisProxy } from "@holdfast/test-servers";
import type { ServerAddresses } from "../../workload/addresses.js";
import type { WorkerLink } from "./server-set.js";

export function unproxiedLink(addresses: ServerAddresses): WorkerLink {
  return {
    addresses,
    proxies: [],
    setMode: async (mode) => {
      throw new Error(`a worker without proxies of its own cannot be put into mode ${mode}`);
    },
    session: () => null,
    close: async () => {},
  };
}

export function proxiedLink(addresses: ServerAddresses, proxies: readonly RedisProxy[]): WorkerLink {
  return {
    addresses,
    proxies,
    async setMode(mode) {
      await Promise.all(proxies.map((proxy) => proxy.setMode(mode)));
    },
    session: () => null,
    async close() {
      await Promise.all(proxies.map((proxy) => proxy.close()));
    },
  };
}
