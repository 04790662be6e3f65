import { type ConnectionOptions, createSecureContext } from "node:tls";
import { InvalidArgumentError, type Millis, type ProviderOptions } from "@holdfast/core";
import {
  checkChoice,
  checkMillis,
  checkObject,
  checkString,
  messageOf,
  type ResolvedProviderOptions,
  resolveProviderOptions,
} from "@holdfast/core/internal";
import { type Acl, openAcl } from "@holdfast/zk-protocol";
import { type Client, managerOf } from "../client/library.js";
import { LockPaths } from "../layout/lock-path.js";
import { type ConnectString, parseConnectString } from "../session/connect-string.js";
import type { Credential } from "../session/options.js";

/** What `zookeeperLocks()` takes: exactly one of `connect` and `client`, and options that all have a default. */
export interface ZooKeeperLocksOptions extends ProviderOptions {
  /** Servers and, behind the last one, a chroot that must exist: `h1:2181,h2:2181/app`. This or `client`. */
  readonly connect?: string;

  /**
   * A client of node-zookeeper-client 1.1.3 of your own, connected or not. The provider puts handlers of its own into it and
   * never closes it. A connected client reconnects once, because only the handshake of a new connection shows how long its
   * session is good for. Once its session ends the provider stays `lost`: only with `connect` can it open another. The chroot
   * of its connect string applies to the locks, as the one of `connect` does.
   */
  readonly client?: Client;

  /**
   * How long the server keeps the session, and with it the locks, after the last request that reached it. Milliseconds, 1 or
   * more and finite; default 30,000. The server keeps it between 2 and 20 of its ticks, and the event `session-state` has the
   * time that it granted. Only with `connect`.
   */
  readonly sessionTimeoutMs?: Millis;

  /** Curator's `namespace`: one more level above all paths, absolute lock names included. Default none. */
  readonly namespace?: string;

  /** Absolute path under which relative lock names land, one segment each; default `/holdfast`. */
  readonly root?: string;

  /**
   * Credentials, such as `{ scheme: "digest", auth: "user:password" }`, which are sent on each connection before anything
   * else. Default: none. Only with `connect`.
   */
  readonly auth?: readonly Credential[];

  /**
   * ACL of the nodes that the provider creates, or a function of their path (Curator's `ACLProvider`). Default: open to the
   * world. All clients that share a lock must be able to create, read and delete below its path. A function that throws or
   * returns no ACL makes the call reject with `InvalidArgumentError`.
   */
  readonly acl?: readonly Acl[] | ((path: string) => readonly Acl[]);

  /**
   * Connect by TLS with these options of `node:tls`. They are read again for each connection, so that a certificate can be changed in this
   * object. Default: plain TCP. Only with `connect`.
   */
  readonly tls?: ConnectionOptions;

  /**
   * The request by which the provider shows itself that the leader still keeps its session. `"sync"` (default): the leader
   * alone answers it. `"quorum"`: an empty transaction that a majority commits, one each quarter of the session time-out, for
   * sessions that are shorter than the ensemble's syncLimit x tickTime.
   */
  readonly leaseProof?: "sync" | "quorum";

  /**
   * What becomes of a leader while contact is broken. `"session"` (default) as Curator's `SessionConnectionStateErrorPolicy`: its
   * term is `uncertain`, and lost when the session's lease ends. `"standard"` as `StandardConnectionStateErrorPolicy`, which is
   * Curator's default: the term is lost at once, with the reason `"suspended"`, and its node is deleted as soon as there is
   * contact again. Applies to leader elections only, as in Curator: locks and permits are always kept.
   */
  readonly connectionPolicy?: "session" | "standard";
}

export interface ResolvedZooKeeperOptions {
  readonly common: ResolvedProviderOptions;
  /** `null` with a client of the caller's. */
  readonly target: ConnectString | null;
  readonly client: Client | null;
  readonly sessionTimeoutMs: Millis;
  readonly paths: LockPaths;
  readonly auth: readonly Credential[];
  readonly aclOf: (path: string) => readonly Acl[];
  /** The nodes are made with the default of `acl`, open to the world. */
  readonly openNodes: boolean;
  readonly tls: ConnectionOptions | undefined;
  readonly leaseProof: "sync" | "quorum";
  readonly connectionPolicy: "session" | "standard";
}

const ownKeys = [
  "connect",
  "client",
  "sessionTimeoutMs",
  "namespace",
  "root",
  "auth",
  "acl",
  "tls",
  "leaseProof",
  "connectionPolicy",
] as const;

const sessionOnly = ["sessionTimeoutMs", "auth", "tls"] as const;

/** Checks all options at once, before any I/O. Throws `InvalidArgumentError` naming the option and what it takes. */
export function resolveOptions(given: ZooKeeperLocksOptions): ResolvedZooKeeperOptions {
  // Untyped callers may give nothing at all.
  const options = given === undefined ? {} : given;
  const of = (key: string) => `zookeeperLocks: ${key}`;
  const common = resolveProviderOptions("zookeeperLocks", options, ownKeys, { keeps: true });
  const { connect, client, namespace, root, auth, acl, tls, leaseProof, connectionPolicy } = options;
  checkString(of("connect"), connect);
  checkString(of("namespace"), namespace);
  checkString(of("root"), root);
  checkMillis(of("sessionTimeoutMs"), options.sessionTimeoutMs, { minimumMs: 1, infinite: false });
  checkTls(of("tls"), tls);
  checkObject(of("client"), client);
  checkAuth(of("auth"), auth);
  if ((connect === undefined) === (client === undefined)) {
    throw new InvalidArgumentError("zookeeperLocks takes exactly one of the options connect and client");
  }
  const misplaced = client === undefined ? undefined : sessionOnly.find((key) => options[key] !== undefined);
  if (misplaced !== undefined) {
    throw new InvalidArgumentError(
      `zookeeperLocks: ${misplaced} belongs to the session, which a given client opens itself; set it there, or use option connect`,
    );
  }
  checkChoice(of("leaseProof"), leaseProof, ["sync", "quorum"]);
  checkChoice(of("connectionPolicy"), connectionPolicy, ["session", "standard"]);
  const target = connect === undefined ? null : parseConnectString(connect);
  return {
    common,
    target,
    client: client ?? null,
    sessionTimeoutMs: options.sessionTimeoutMs ?? 30_000,
    paths: new LockPaths({
      chroot: (client === undefined ? target?.chroot : managerOf(client).chrootPath) ?? "",
      namespace: namespace ?? "",
      root: root ?? "/holdfast",
    }),
    auth: auth ?? [],
    aclOf: typeof acl === "function" ? checkedAclOf(acl) : constantAcl(acl),
    openNodes: acl === undefined,
    tls,
    leaseProof: leaseProof ?? "sync",
    connectionPolicy: connectionPolicy ?? "session",
  };
}

/** Reads all of it, as each connection does later. */
function checkTls(what: string, tls: ConnectionOptions | undefined): void {
  checkObject(what, tls);
  try {
    if (tls !== undefined) createSecureContext({ ...tls });
  } catch (cause) {
    throw new InvalidArgumentError(`${what}: ${messageOf(cause)}`, { cause });
  }
}

/** The entries themselves are the session's to check. */
function checkAuth(what: string, auth: readonly Credential[] | undefined): void {
  const fits =
    auth === undefined ||
    (Array.isArray(auth) && auth.every((entry) => typeof entry === "object" && entry !== null));
  if (fits) return;
  throw new InvalidArgumentError(
    `${what} must be a list of { scheme, auth }, such as [{ scheme: "digest", auth: "user:password" }]`,
  );
}

function constantAcl(acl: readonly Acl[] | undefined): (path: string) => readonly Acl[] {
  const entries = checkAcl("zookeeperLocks: acl", acl ?? openAcl);
  return () => entries;
}

function checkedAclOf(aclOf: (path: string) => readonly Acl[]): (path: string) => readonly Acl[] {
  return (path) => {
    const what = `zookeeperLocks: acl(${JSON.stringify(path)})`;
    let acl: readonly Acl[];
    try {
      acl = aclOf(path);
    } catch (cause) {
      throw new InvalidArgumentError(`${what} threw: ${messageOf(cause)}`, { cause });
    }
    return checkAcl(what, acl);
  };
}

function checkAcl(what: string, acl: readonly Acl[]): readonly Acl[] {
  const fits =
    Array.isArray(acl) &&
    acl.length > 0 &&
    acl.every(
      (entry) => isInt32(entry?.perms) && typeof entry.scheme === "string" && typeof entry.id === "string",
    );
  if (fits) return acl;
  throw new InvalidArgumentError(
    `${what} must be a list of at least one { perms, scheme, id }, perms a whole number of 32 bits`,
  );
}

/** What ZooKeeper's protocol has room for. */
function isInt32(value: unknown): value is number {
  return typeof value === "number" && (value | 0) === value;
}
