import { InvalidArgumentError } from "@holdfast/core";
import { targetOf } from "@holdfast/redis-recipes/internal";
import { parseConnectString, type ServerAddress } from "@holdfast/zk-recipes/internal";
import { UsageError } from "../cli/usage.js";
import type { AttackedServers, TlsTexts } from "../workload/addresses.js";
import { redisOptions } from "../workload/attacked.js";

/** The access data of a target that have no place in its URL. */
export interface TargetAccess {
  /** TLS files in PEM, and the name in the servers' certificates if it is none of the hosts. */
  readonly tls?: Partial<Omit<TlsTexts, "names">> & { readonly serverName?: string };
  /** `user:password` for the sentinels. */
  readonly sentinels?: string;
}

const forms =
  "it is like zk://h1:p1,h2:p2/path, redis://h:p/db, redis+sentinel://h1:p1,h2:p2/master or redis+cluster://h1:p1,h2:p2, " +
  "with zks or rediss for TLS, and user:password@ in front of the hosts";

/**
 * Reads the URL of servers that a user says they own.
 * @throws UsageError for anything else; the message never contains a password
 */
export function parseTarget(text: string, access: TargetAccess = {}): AttackedServers {
  const match = /^(zk|redis)(s?)(\+sentinel|\+cluster)?:\/\/(?:([^/]*)@)?([^/@]+)(\/.*)?$/.exec(text);
  if (match === null) throw wrong(text, forms);
  const [, server, secure, way, login, hosts = "", path = ""] = match;
  if (secure === "" && access.tls !== undefined)
    throw wrong(text, "certificates go with TLS: zks:// or rediss://");
  if (way !== "+sentinel" && access.sentinels !== undefined)
    throw wrong(text, "--sentinel-access is for redis+sentinel://");
  try {
    const user = login === undefined ? undefined : loginOf(login);
    if (server === "zk") {
      if (way !== undefined) throw new InvalidArgumentError(forms);
      return zooKeeper(`${hosts}${path.replace(/\/$/, "")}`, user, tlsOf(hosts, secure, access));
    }
    const tls = tlsOf(hosts, secure, access);
    const servers = { kind: "attacked", backend: "redis", tls } as const;
    const found = { ...servers, options: { ...redisWay(way, hosts, path, tls, access), ...user } };
    targetOf(redisOptions(found)); // throws for a target that no client can use
    return found;
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw wrong(text, error.message.replace(/^redisLocks: /, ""));
  }
}

/** The target as it is shown, without its password. */
export const masked = (text: string): string => text.replace(/^([\w+]+:\/\/(?:[^/]*?:)?)[^/]*@/, "$1***@");

function zooKeeper(connect: string, user: Login | undefined, tls: TlsTexts | null): AttackedServers {
  parseConnectString(connect);
  if (user !== undefined && user.username === undefined)
    throw new InvalidArgumentError("ZooKeeper wants a user in front of the password");
  const auth = user && [{ scheme: "digest", auth: `${user.username}:${user.password}` }];
  return { kind: "attacked", backend: "zookeeper", tls, options: { connect, ...(auth && { auth }) } };
}

function redisWay(
  way: string | undefined,
  hosts: string,
  path: string,
  tls: TlsTexts | null,
  { sentinels }: TargetAccess,
): Extract<AttackedServers, { backend: "redis" }>["options"] {
  if (way === undefined) return { url: `${tls === null ? "redis" : "rediss"}://${hosts}${path}` };
  const name = path.replace(/^\/|\/$/g, "");
  if (way === "+sentinel")
    return {
      sentinels: {
        sentinels: addresses(hosts, 26_379),
        name,
        ...(sentinels === undefined ? {} : loginOf(sentinels)),
      },
    };
  if (name !== "") throw new InvalidArgumentError("a cluster has no path, and the database 0 alone");
  return { cluster: { nodes: addresses(hosts, 6_379) } };
}

function tlsOf(
  hosts: string,
  secure: string | undefined,
  { tls: { serverName, ...pem } = {} }: TargetAccess,
): TlsTexts | null {
  if (secure === "") return null;
  const named = parseConnectString(hosts).servers.map(({ host }) => host);
  return { ...pem, names: serverName === undefined ? [...new Set(named)] : [serverName] };
}

/** The addresses in a comma-separated list. `port` is used for addresses without a port. */
function addresses(hosts: string, port: number): ServerAddress[] {
  const withPorts = hosts.split(",").map((each) => (/:\d*$/.test(each) ? each : `${each}:${port}`));
  return [...parseConnectString(withPorts.join(",")).servers];
}

interface Login {
  readonly username?: string;
  readonly password: string;
}

function loginOf(text: string): Login {
  const colon = text.indexOf(":");
  if (colon < 0) throw new InvalidArgumentError("a user needs a password: user:password, or :password");
  try {
    const [username = "", password = ""] = [text.slice(0, colon), text.slice(colon + 1)].map(
      decodeURIComponent,
    );
    return { ...(username === "" ? {} : { username }), password };
  } catch {
    throw new InvalidArgumentError(
      "user and password are written as in a URL: % and what follows it is wrong",
    );
  }
}

const wrong = (text: string, why: string): UsageError =>
  new UsageError(`--target ${JSON.stringify(masked(text))}: ${why}`);
