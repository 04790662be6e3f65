import type { ConnectionOptions } from "node:tls";
import { addressText } from "@holdfast/core/internal";
import type { Cluster, Redis } from "ioredis";
import { selectedDb } from "./ioredis-words.js";

/** Where a server listens. */
export interface RedisAddress {
  /** A name or an IP address. */
  readonly host: string;
  /** Its port. */
  readonly port: number;
}

/**
 * Maps the `host:port` by which a server names itself to the address at which it is reached from here, for example behind NAT.
 */
export type NatMap = Readonly<Record<string, RedisAddress>>;

export interface Credentials {
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** `undefined`: plain TCP. */
  readonly tls: ConnectionOptions | undefined;
}

/** What to connect to, and with which credentials. */
export type RedisTarget =
  | {
      readonly kind: "single";
      readonly address: RedisAddress;
      readonly access: Credentials;
      readonly db: number;
    }
  | {
      readonly kind: "sentinel";
      readonly sentinels: readonly RedisAddress[];
      readonly masterName: string;
      readonly sentinelAccess: Credentials;
      readonly natMap: NatMap | undefined;
      readonly access: Credentials;
      readonly db: number;
    }
  | {
      readonly kind: "cluster";
      readonly nodes: readonly RedisAddress[];
      readonly natMap: NatMap | undefined;
      readonly access: Credentials;
    }
  | { readonly kind: "given-redis"; readonly client: Redis }
  | { readonly kind: "given-cluster"; readonly client: Cluster };

export function isCluster(target: RedisTarget): boolean {
  return target.kind === "cluster" || target.kind === "given-cluster";
}

/** The database that has the keys. For a given client: the one that is selected now. */
export function databaseOf(target: RedisTarget): number {
  if (target.kind === "given-redis") return selectedDb(target.client);
  return "db" in target ? target.db : 0;
}

/** The servers as errors name them while no others are known. */
export function serversOf(target: RedisTarget): readonly string[] {
  switch (target.kind) {
    case "single":
      return [addressText(target.address)];
    case "sentinel":
      return target.sentinels.map((each) => `sentinel ${addressText(each)}`);
    case "cluster":
      return target.nodes.map(addressText);
    case "given-redis":
      return serversOfRedis(target.client);
    case "given-cluster":
      return target.client.nodes("all").flatMap(serversOfRedis);
  }
}

function serversOfRedis({ options }: Redis): readonly string[] {
  if (Array.isArray(options.sentinels)) {
    return options.sentinels.map(
      ({ host, port }) => `sentinel ${addressText({ host: host ?? "127.0.0.1", port: port ?? 26_379 })}`,
    );
  }
  if (typeof options.path === "string") return [options.path];
  return [addressText({ host: options.host ?? "localhost", port: options.port ?? 6379 })];
}
