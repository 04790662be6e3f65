import type { ConnectionOptions } from "node:tls";
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
import { checkTls } from "../client/tls-socket.js";
import { LockPaths } from "../layout/lock-path.js";
import { type ConnectString, parseConnectString } from "../session/connect-string.js";
import type { Credential } from "../session/options.js";

/** The options of `zookeeperLocks()`: exactly one of `connect` and `client`. All others have a default. */
export interface ZooKeeperLocksOptions extends ProviderOptions {
  /** The servers and, behind the last one, a chroot that must exist: `h1:2181,h2:2181/app`. Either this or `client`. */
  readonly connect?: string;

  /**
   * Your own client of node-zookeeper-client 1.1.3, connected or not. The provider puts its own handlers into the client
   * and never closes it. A client that is connected already reconnects once, because only the handshake of a new
   * connection shows until when its session is good.
   *
   * Once the client's session ends, the provider stays `lost`: only with `connect` can it open another session. The
   * chroot of the client's connect string applies to the locks, as that of `connect` does.
   */
  readonly client?: Client;

  /**
   * How long the server keeps the session, and with it the locks, after the last request that reached it. Milliseconds,
   * at least 1 and finite; default 30,000. The server grants between 2 and 20 of its ticks. The event `session-state` has
   * the time that it granted. Only with `connect`.
   */
  readonly sessionTimeoutMs?: Millis;

  /** Curator's `namespace`: one more level above all paths, absolute lock names included. Default: none. */
  readonly namespace?: string;

  /** The absolute path below which each relative lock name is one segment; default `/holdfast`. */
  readonly root?: string;

  /**
   * Credentials, such as `{ scheme: "digest", auth: "user:password" }`, which are sent on each connection before all
   * requests. Default: none. Only with `connect`.
   */
  readonly auth?: readonly Credential[];

  /**
   * The ACL of the nodes that the provider creates, or a function of their path (Curator's `ACLProvider`). Default: open
   * to the world. All clients that share a lock must be able to create, read and delete nodes below its path, and those of a double barrier
   * to write them too. If the
   * function throws or returns no ACL, the call rejects with `InvalidArgumentError`.
   */
  readonly acl?: readonly Acl[] | ((path: string) => readonly Acl[]);

  /**
   * Connects by TLS with these options of `node:tls`. They are read again for each connection, so that a certificate can
   * be changed in this object. Default: plain TCP. Only with `connect`.
   */
  readonly tls?: ConnectionOptions;

  /**
   * The request whose answer proves to the provider that the leader still keeps its session. `"sync"` (default): only the
   * leader answers it. `"quorum"`: an empty transaction that a majority commits, one in each quarter of the session
   * time-out. `"quorum"` is for sessions that are shorter than the ensemble's syncLimit x tickTime.
   */
  readonly leaseProof?: "sync" | "quorum";

  /**
   * What happens to a leader while contact is broken. `"session"` (default), as Curator's
   * `SessionConnectionStateErrorPolicy`: the term is `uncertain`, and is lost when the session's lease ends.
   * `"standard"`, as `StandardConnectionStateErrorPolicy`, which is Curator's default: the term is lost at once, with the
   * reason `"suspended"`, and its node is deleted as soon as there is contact again. It applies to leader elections only,
   * as in Curator: locks and permits are always kept.
   */
  readonly connectionPolicy?: "session" | "standard";
}

export interface ResolvedZooKeeperOptions {
  readonly common: ResolvedProviderOptions;
  /** `null` with a client of the user's own. */
  readonly target: ConnectString | null;
  readonly client: Client | null;
  readonly sessionTimeoutMs: Millis;
  readonly paths: LockPaths;
  readonly auth: readonly Credential[];
  readonly aclOf: (path: string) => readonly Acl[];
  /** The option `acl` was not given: all nodes are open to the world. */
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

/**
 * Checks all options at once, before any I/O. Throws `InvalidArgumentError`, which names the option and the values that
 * it takes.
 */
export function resolveOptions(given: ZooKeeperLocksOptions): ResolvedZooKeeperOptions {
  // Callers without types may pass no options.
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

/** Checks only that `auth` is a list of objects. The session checks each entry. */
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

/** The protocol has 32 bits for this number. */
function isInt32(value: unknown): value is number {
  return typeof value === "number" && (value | 0) === value;
}
