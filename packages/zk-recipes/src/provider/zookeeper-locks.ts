import type { LockProvider } from "@holdfast/core";
import { createProvider, EventHub } from "@holdfast/core/internal";
import { SessionLine } from "../recipes/session-line.js";
import type { RequestSettled } from "../session/call.js";
import { adoptSession, openSession } from "../session/open-session.js";
import type { ZooKeeperSession } from "../session/types.js";
import { ZooKeeperDriver } from "./driver.js";
import { type ResolvedZooKeeperOptions, resolveOptions, type ZooKeeperLocksOptions } from "./options.js";

/** Locks on a ZooKeeper ensemble, in Apache Curator's layout. */
export type ZooKeeperLocks = LockProvider;

/** How long `close()` waits for the server to confirm the end of the session. */
const closeWaitMs = 1_000;

/**
 * Locks on ZooKeeper that queue on the same nodes as Apache Curator's `InterProcessMutex` (5.5 and later; 5.4 alike for a
 * mutex). Returns at once and connects in the background: `ready()` waits for it.
 *
 * Throws `InvalidArgumentError` for unknown options and values that cannot be right. Needs ZooKeeper 3.5.1 or later.
 */
export function zookeeperLocks(options: ZooKeeperLocksOptions): ZooKeeperLocks {
  const resolved = resolveOptions(options);
  const { common } = resolved;
  const id = common.runtime.randomId();
  const events = new EventHub({ provider: id, backend: "zookeeper", runtime: common.runtime });
  const cluster = options.connect ?? "client";
  const line = new SessionLine({
    runtime: common.runtime,
    connectTimeoutMs: common.connectTimeoutMs,
    renewable: resolved.client === null,
    open: () => open(resolved, events),
    onState: (session, state) => {
      if (events.has("session-state")) {
        events.emit("session-state", { state, timeoutMs: session.timeoutMs, cluster });
      }
    },
  });
  const driver = new ZooKeeperDriver(line, {
    paths: resolved.paths,
    runtime: common.runtime,
    retry: common.retry,
    identity: common.identity,
    aclOf: resolved.aclOf,
    closeWaitMs,
  });
  return createProvider({ id, driver, link: line, events, options: common });
}

function open(resolved: ResolvedZooKeeperOptions, events: EventHub): ZooKeeperSession {
  const { common, client, target, leaseProof } = resolved;
  const shared = {
    runtime: common.runtime,
    connectTimeoutMs: common.connectTimeoutMs,
    leaseProof,
    onRequestSettled: ({ op, tookMs, outcome }: RequestSettled) => {
      if (!events.has("request-settled")) return;
      const unknown = outcome === "outcome-unknown" || outcome === "session-lost";
      events.emit("request-settled", {
        op,
        tookMs,
        outcome: outcome === "ok" ? "ok" : unknown ? "unknown" : "error",
      });
    },
  };
  if (client !== null) return adoptSession(client, shared);
  return openSession({
    ...shared,
    servers: target?.servers ?? [],
    sessionTimeoutMs: resolved.sessionTimeoutMs,
    auth: resolved.auth,
    tls: resolved.tls,
  });
}
