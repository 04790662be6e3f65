/** Where a server listens. */
export interface Address {
  /** A name or an IP address. */
  readonly host: string;
  /** Its port. */
  readonly port: number;
}

/** As whom a client connects. */
export interface Access {
  /** The ACL user; unset: the default user. */
  readonly username?: string;
  /** The user's password. */
  readonly password: string;
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
      /** Set where it wants one. */
      readonly access?: Access;
    }
  | {
      readonly kind: "replicated";
      /** Empty where there are none. */
      readonly sentinels: readonly Address[];
      /** What the sentinels call the master. */
      readonly masterName: string;
      /** How many replicas the master has. */
      readonly replicas: number;
      /** Without sentinels: the server that was the master at the start. */
      readonly master: Address;
      /** `host:port` that a sentinel gives, to the one that leads there from this worker. */
      readonly natMap?: Readonly<Record<string, Address>>;
    }
  | {
      readonly kind: "masters";
      /** All masters. */
      readonly addresses: readonly Address[];
    };
