import { UsageError } from "../cli/usage.js";
import type { Access, Address } from "../workload/addresses.js";

/** A cluster that a user says is theirs. */
export type AttackTarget =
  | {
      readonly kind: "zookeeper";
      readonly servers: readonly Address[];
      /** Below it the attack makes a node of its own; empty for the root. */
      readonly path: string;
    }
  | { readonly kind: "redis"; readonly address: Address; readonly access?: Access };

const defaultPorts = { zookeeper: 2181, redis: 6379 } as const;

/** Reads `zk://h1:p1,h2:p2/path` or `redis://user:password@h:p`. @throws UsageError for anything else */
export function parseTarget(text: string): AttackTarget {
  const match = /^(zk|redis):\/\/([^/]+)(\/.*)?$/.exec(text);
  if (match === null) throw wrong(text, "it is like zk://h1:p1,h2:p2/path or redis://user:password@h:p");
  const [, scheme, authority = "", path = ""] = match;
  const at = authority.lastIndexOf("@");
  const hosts = authority.slice(at + 1);
  if (scheme === "zk") {
    if (at >= 0) throw wrong(text, "users and passwords of a ZooKeeper are not known here");
    const servers = hosts.split(",").map((host) => addressOf(host, defaultPorts.zookeeper, text));
    return { kind: "zookeeper", servers, path: pathOf(path, text) };
  }
  if (path !== "" && path !== "/") throw wrong(text, "a Redis has no path; locks are in database 0");
  const address = addressOf(hosts, defaultPorts.redis, text);
  return at < 0
    ? { kind: "redis", address }
    : { kind: "redis", address, access: accessOf(authority.slice(0, at), text) };
}

/** A target as it is shown: the password never is. */
export const masked = (text: string): string => text.replace(/^(\w+:\/\/[^/]*?:)[^/]*@/, "$1***@");

function accessOf(text: string, target: string): Access {
  const colon = text.indexOf(":");
  if (colon < 0)
    throw wrong(target, "a user needs a password: redis://user:password@h:p, or redis://:password@h:p");
  try {
    const [username, password] = [text.slice(0, colon), text.slice(colon + 1)].map(decodeURIComponent);
    return { ...(username === "" || username === undefined ? {} : { username }), password: password ?? "" };
  } catch {
    throw wrong(target, "user and password are written as in a URL: % and what follows it is wrong");
  }
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
  new UsageError(`--target ${JSON.stringify(masked(text))}: ${why}`);
