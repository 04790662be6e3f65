export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where clients connect to. */
export type ServerAddresses =
  | { readonly kind: "none" }
  /** `h1:p1,h2:p2`. */
  | { readonly kind: "zookeeper"; readonly connect: string }
  | { readonly kind: "redis"; readonly address: Address }
  | {
      readonly kind: "replicated";
      readonly sentinels: readonly Address[];
      readonly masterName: string;
      readonly replicas: number;
      /** Without sentinels: the server that was the master at the start. */
      readonly master: Address;
      /** `host:port` that a sentinel gives, to the one that leads there from this worker. */
      readonly natMap?: Readonly<Record<string, Address>>;
    }
  | { readonly kind: "masters"; readonly addresses: readonly Address[] };
