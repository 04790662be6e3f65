import type { RedisTargetOptions } from "@holdfast/redis-recipes";
import type { ZooKeeperLocksOptions } from "@holdfast/zk-recipes";

/** The address at which a server listens. */
export interface Address {
  /** A name or an IP address. */
  readonly host: string;
  /** Its port. */
  readonly port: number;
}

/** The addresses to which clients connect. */
export type ServerAddresses =
  | { readonly kind: "none" }
  | {
      readonly kind: "zookeeper";
      /** The connect string, such as `h1:p1,h2:p2`. */
      readonly connect: string;
    }
  | {
      readonly kind: "redis";
      /** The one server. */
      readonly address: Address;
    }
  | {
      readonly kind: "replicated";
      /** The sentinels; empty if there are none. */
      readonly sentinels: readonly Address[];
      /** The name of the master at the sentinels. */
      readonly masterName: string;
      /** How many replicas the master has. */
      readonly replicas: number;
      /** The server that was the master at the start, for clients without sentinels. */
      readonly master: Address;
      /** For each `host:port` that a sentinel gives: the address by which this worker reaches that server. */
      readonly natMap?: Readonly<Record<string, Address>>;
    }
  | {
      readonly kind: "masters";
      /** All masters. */
      readonly addresses: readonly Address[];
    }
  /** A server of a kind that the runner does not know. */
  | {
      readonly kind: "other";
      /** The one server. */
      readonly address: Address;
    }
  /** Servers of a user. Only the clients of this package connect to them, in an attack. */
  | AttackedServers;

/** How a user's servers are reached. Plain data, because workers get it as JSON. */
export type AttackedServers = { readonly kind: "attacked"; readonly tls: TlsTexts | null } & (
  | {
      readonly backend: "redis";
      /** The options of `redisLocks`, without TLS. */
      readonly options: Omit<RedisTargetOptions, "client" | "tls">;
    }
  | {
      readonly backend: "zookeeper";
      /** The options of `zookeeperLocks`, without TLS. */
      readonly options: Pick<ZooKeeperLocksOptions, "connect" | "auth">;
    }
);

/** The data from which `tlsOptions` makes options of `node:tls`. All texts except the names are PEM. */
export interface TlsTexts {
  /** The authorities to trust. Default: those of Node.js. */
  readonly ca?: string;
  /** The certificate of the client. */
  readonly cert?: string;
  /** The key of the client. */
  readonly key?: string;
  /** The allowed hosts: a server's certificate must be for one of them. */
  readonly names: readonly string[];
}
