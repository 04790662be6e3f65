import { UsageError } from "../cli/usage.js";
import type { Address } from "../workload/addresses.js";

/** A cluster that a user says is theirs. */
export type AttackTarget =
  | {
      readonly kind: "zookeeper";
      readonly servers: readonly Address[];
      /** Below it the attack makes a node of its own; empty for the root. */
      readonly path: string;
    }
  | { readonly kind: "redis"; readonly address: Address };

const defaultPorts = { zookeeper: 2181, redis: 6379 } as const;

/** Reads `zk://h1:p1,h2:p2/path` or `redis://h:p`. @throws UsageError for anything else */
export function parseTarget(text: string): AttackTarget {
  const match = /^(zk|redis):\/\/([^/]+)(\/.*)?$/.exec(text);
  if (match === null) throw wrong(text, "it is like zk://h1:p1,h2:p2/path or redis://h:p");
  const [, scheme, hosts = "", path = ""] = match;
  if (hosts.includes("@")) throw wrong(text, "users and passwords are not known here");
  if (scheme === "zk") {
    const servers = hosts.split(",").map((host) => addressOf(host, defaultPorts.zookeeper, text));
    return { kind: "zookeeper", servers, path: pathOf(path, text) };
  }
  if (path !== "" && path !== "/") throw wrong(text, "a Redis has no path; locks are in database 0");
  return { kind: "redis", address: addressOf(hosts, defaultPorts.redis, text) };
}

function addressOf(text: string, otherwise: number, target: string): Address {
  const match = /^([A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(text);
  const port = match?.[2] === undefined ? otherwise : Number(match[2]);
  const host = match?.[1];
  if (host === undefined || port < 1 || port > 65_535) {
    throw wrong(target, `${JSON.stringify(text)} is no host and port`);
  }
  return { host, port };
}

function pathOf(text: string, target: string): string {
  const path = text.replace(/\/$/, "");
  if (path.split("/").some((level, at) => at > 0 && /^\.{0,2}$/.test(level))) {
    throw wrong(target, `${JSON.stringify(text)} is no path`);
  }
  return path;
}

const wrong = (text: string, why: string): UsageError =>
  new UsageError(`--target ${JSON.stringify(text)}: ${why}`);
