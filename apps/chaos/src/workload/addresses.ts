import type { RedisTargetOptions } from "@holdfast/redis-recipes";
import type { ZooKeeperLocksOptions } from "@holdfast/zk-recipes";

/** Where a server listens. */
export interface Address {
  /** A name or an IP address. */
  readonly host: string;
  /** Its port. */
  readonly port: number;
}

/** Where clients connect to. */
export type ServerAddresses =
  | { readonly kind: "none" }
  | {
      readonly kind: "zookeeper";
      /** `h1:p1,h2:p2`. */
      readonly connect: string;
    }
  | {
      readonly kind: "redis";
      /** The one server. */
      readonly address: Address;
    }
  | {
      readonly kind: "replicated";
      /** Empty where there are none. */
      readonly sentinels: readonly Address[];
      /** What the sentinels call the master. */
      readonly masterName: string;
      /** How many replicas the master has. */
      readonly replicas: number;
      /** The server that was the master at the start, for clients without sentinels. */
      readonly master: Address;
      /** For each `host:port` that a sentinel gives, the address that leads there from this worker. */
      readonly natMap?: Readonly<Record<string, Address>>;
    }
  | {
      readonly kind: "masters";
      /** All masters. */
      readonly addresses: readonly Address[];
    }
  /** A server that is not of the runner's own kinds. */
  | {
      readonly kind: "other";
      /** The one server. */
      readonly address: Address;
    }
  /** Servers of a user's. Only the clients of this package meet them, in an attack. */
  | AttackedServers;

/** How servers of a user's are reached. Plain data, since workers get it as JSON. */
export type AttackedServers = { readonly kind: "attacked"; readonly tls: TlsTexts | null } & (
  | {
      readonly backend: "redis";
      /** What `redisLocks` takes, but for TLS. */
      readonly options: Omit<RedisTargetOptions, "client" | "tls">;
    }
  | {
      readonly backend: "zookeeper";
      /** What `zookeeperLocks` takes, but for TLS. */
      readonly options: Pick<ZooKeeperLocksOptions, "connect" | "auth">;
    }
);

/** What `tlsOptions` makes options of `node:tls` from. All but the names is PEM. */
export interface TlsTexts {
  /** The authorities to trust. Default: those of Node.js. */
  readonly ca?: string;
  /** The certificate of the client. */
  readonly cert?: string;
  /** Its key. */
  readonly key?: string;
  /** Hosts: a server's certificate must be for one of them. */
  readonly names: readonly string[];
}
