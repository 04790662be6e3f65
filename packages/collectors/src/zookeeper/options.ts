import type { ConnectionOptions } from "node:tls";
import { InvalidArgumentError, type Millis, type Runtime, systemRuntime } from "@holdfast/core";
import { checkKnownKeys, checkMillis, checkObject, checkString, show } from "@holdfast/core/internal";
import {
  type ConnectString,
  type Credential,
  checkTls,
  parseConnectString,
} from "@holdfast/zk-recipes/internal";
import type { StoryOptions } from "../observe/collector.js";
import { type CollectorRoot, parseRoot, type RootPattern } from "./roots.js";

/** What `zookeeperCollector()` takes. */
export interface ZooKeeperCollectorOptions extends StoryOptions {
  /** Servers and, behind the last one, a chroot: `h1:2181,h2:2181/app`. */
  readonly connect: string;
  /**
   * Where locks are kept: absolute paths below the chroot, in which `*` stands for one whole segment. The collector looks at
   * everything below them, at any depth. Nothing outside of them is read as a lock or acted upon. The list may be empty:
   * then only `discover`, `servers` and `sessions` have results. `{ path, naive: true }`: an ephemeral node without children
   * below that path is a naive mutex. Default false, because any other registration looks the same. `naive` is not allowed
   * for `/`.
   */
  readonly roots: readonly CollectorRoot[];
  /**
   * Credentials, `digest` for example. The right to read is enough to watch; a forced release needs the right to delete.
   * Default: none.
   */
  readonly auth?: readonly Credential[];
  /** Connect by TLS with these options of `node:tls`. Default: plain TCP. */
  readonly tls?: ConnectionOptions;
  /**
   * The time-out of the collector's own session, which owns no nodes. Milliseconds; default 10,000, bounded by the server to
   * 2 to 20 of its ticks. After two thirds of it without an answer, everything shown counts as stale. So with a longer
   * time-out, a hand-over that is hidden by a broken connection is missed for longer.
   */
  readonly sessionTimeoutMs?: Millis;
  /**
   * A root with more nodes than this below it is not read; default 200,000. A root that grows over this limit is shown until
   * the next comparing pass, or the next connection.
   */
  readonly maxNodes?: number;
  /** Milliseconds between two passes that compare everything in memory with the server; default 300,000. 0: no such passes. */
  readonly compareEveryMs?: Millis;
  /**
   * Milliseconds between two rounds on servers before 3.6, which have no recursive watch; default 10,000, which is also the
   * least.
   */
  readonly pollEveryMs?: Millis;
  /** The age from which a hold counts as long. Milliseconds; default 300,000. */
  readonly longHoldMs?: Millis;
  /** The time after which a parent that has been seen empty counts as an orphan. Milliseconds; default 600,000. */
  readonly orphanAfterMs?: Millis;
  /**
   * The port of the servers' AdminServer; default 8080. `false`: the AdminServer is not asked. It reports sessions and the
   * server's state. Without it the four-letter words report these, where the server allows them.
   */
  readonly adminPort?: number | false;
  /** Clocks and timers; simulations give their own. Default those of the process. */
  readonly runtime?: Runtime;
}

/**
 * Two thirds of it, and the way to a page, take less than the 8 s within which the dashboard promises to show a broken
 * connection.
 */
export const usualSessionTimeoutMs: Millis = 10_000;

const known: ReadonlySet<string> = new Set([
  "connect",
  "roots",
  "auth",
  "tls",
  "sessionTimeoutMs",
  "maxNodes",
  "compareEveryMs",
  "pollEveryMs",
  "longHoldMs",
  "orphanAfterMs",
  "adminPort",
  "identifyHolders",
  "earlierSight",
  "runtime",
]);

export interface Settings {
  readonly connect: ConnectString;
  readonly roots: readonly RootPattern[];
  readonly auth: readonly Credential[];
  readonly tls: ConnectionOptions | undefined;
  readonly sessionTimeoutMs: Millis;
  readonly maxNodes: number;
  readonly compareEveryMs: Millis;
  readonly pollEveryMs: Millis;
  readonly longHoldMs: Millis;
  readonly orphanAfterMs: Millis;
  readonly adminPort: number | false;
  readonly identifyHolders: boolean;
  readonly earlierSight: NonNullable<StoryOptions["earlierSight"]>;
  readonly runtime: Runtime;
}

/** Throws `InvalidArgumentError`, which names the option. */
export function resolveSettings(options: ZooKeeperCollectorOptions): Settings {
  checkObject("options", options);
  checkKnownKeys("zookeeperCollector options", options, known);
  checkString("connect", options.connect);
  checkTls("tls", options.tls);
  if (!Array.isArray(options.roots)) {
    throw new InvalidArgumentError(`roots must be a list of paths; got ${show(options.roots)}`);
  }
  const finite = { minimumMs: 1, infinite: false };
  checkMillis("sessionTimeoutMs", options.sessionTimeoutMs, finite);
  checkMillis("compareEveryMs", options.compareEveryMs, { ...finite, minimumMs: 0 });
  checkMillis("pollEveryMs", options.pollEveryMs, { ...finite, minimumMs: 10_000 });
  checkMillis("longHoldMs", options.longHoldMs, finite);
  checkMillis("orphanAfterMs", options.orphanAfterMs, finite);
  const maxNodes = options.maxNodes ?? 200_000;
  if (!Number.isInteger(maxNodes) || maxNodes < 1) {
    throw new InvalidArgumentError(`maxNodes must be a whole number, 1 or more; got ${show(maxNodes)}`);
  }
  const adminPort = options.adminPort ?? 8080;
  if (adminPort !== false && (!Number.isInteger(adminPort) || adminPort < 1 || adminPort > 65_535)) {
    throw new InvalidArgumentError(`adminPort must be a port or false; got ${show(adminPort)}`);
  }
  const connect = parseConnectString(options.connect);
  return {
    connect,
    roots: options.roots.map((root) => parseRoot(root, connect.chroot)),
    auth: options.auth ?? [],
    tls: options.tls,
    sessionTimeoutMs: options.sessionTimeoutMs ?? usualSessionTimeoutMs,
    maxNodes,
    compareEveryMs: options.compareEveryMs ?? 300_000,
    pollEveryMs: options.pollEveryMs ?? 10_000,
    longHoldMs: options.longHoldMs ?? 300_000,
    orphanAfterMs: options.orphanAfterMs ?? 600_000,
    adminPort,
    identifyHolders: options.identifyHolders ?? false,
    earlierSight: options.earlierSight ?? (() => undefined),
    runtime: options.runtime ?? systemRuntime,
  };
}

/**
 * Checks options without connecting. Throws the `InvalidArgumentError` that `zookeeperCollector` would throw for these
 * options.
 */
export function checkZooKeeperCollector(options: ZooKeeperCollectorOptions): void {
  resolveSettings(options);
}
