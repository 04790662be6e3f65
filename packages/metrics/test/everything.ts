import { channel } from "node:diagnostics_channel";
import type { KeepingEndReason, LockEventMap, LossReason, PrimitiveKind, SessionState } from "@holdfast/core";
import { type LockMetrics, type LockMetricsOptions, lockMetrics } from "../src/index.js";
import { backends, recipes } from "../src/words.js";
import { fakeProvider, lockOf } from "./fake-provider.js";

const losses: readonly LossReason[] = [
  "lease-expired",
  "lease-missing",
  "session-expired",
  "quorum-lost",
  "suspended",
  "stolen",
  "provider-closed",
];
const keepingEnds: readonly KeepingEndReason[] = [
  "wanted",
  "idle",
  "max-keep",
  "evicted",
  "token-read",
  "not-lendable",
  "released",
  "lost",
  "closed",
];
const outcomes: readonly LockEventMap["acquire-settled"]["outcome"][] = [
  "granted",
  "unavailable",
  "timeout",
  "aborted",
  "error",
];
const states: readonly SessionState[] = ["connecting", "connected", "suspended", "lost"];

/** Metrics that have seen each event with each of its values, on each backend and kind of lock. */
export function everythingHappened(options: LockMetricsOptions = {}): LockMetrics {
  const fakes = (["zookeeper", "redis", "redlock", "memory"] as const).map((backend) =>
    fakeProvider(backend),
  );
  const metrics = lockMetrics(
    fakes.map(({ provider }) => provider),
    options,
  );
  for (const { hub } of fakes) {
    for (const state of states)
      hub.emit("session-state", { state, timeoutMs: 4_000, cluster: "a:1,b:2/root" });
    for (const recipe of recipes) {
      const lock = lockOf('hostile "name"\\ with\nlines{}', recipe.replaceAll("_", "-") as PrimitiveKind);
      for (const outcome of outcomes) {
        hub.emit("acquire-started", lock);
        hub.emit("notified", lock);
        for (const reason of ["session-lost", "entry-gone"] as const)
          hub.emit("requeued", { ...lock, reason });
        const settled = { outcome, waitedMs: 3, roundTrips: 1, contended: true, token: null };
        for (const kept of [false, true])
          hub.emit("acquire-settled", { ...lock, ...settled, kept, turn: +kept });
      }
      for (const reason of losses) hub.emit("lost", { ...lock, reason, heldMs: 5 });
      for (const outcome of ["released", "kept", "still-held", "lost", "unconfirmed"] as const)
        hub.emit("released", { ...lock, outcome, heldMs: 5, kept: false, turn: 0 });
      for (const reason of keepingEnds)
        hub.emit("keeping-ended", { kind: lock.kind, name: lock.name, reason, lends: 0, forMs: 5 });
      for (const reason of ["unconfirmed", "refused"] as const)
        hub.emit("release-failed", { ...lock, reason, error: new Error("no") });
      hub.emit("renewed", { ...lock, tookMs: 1, marginMs: 2_000 });
      hub.emit("renew-failed", { ...lock, error: new Error("no"), marginMs: 200 });
    }
    hub.emit("request-settled", { op: "create2", tookMs: 1, outcome: "ok" });
    hub.emit("fencing-rejected", { group: "invoices" });
  }
  channel("holdfast:fencing:rejected").publish({ group: "default", at: 1 });
  if (fakes.length !== backends.length) throw new Error("a backend is missing here");
  return metrics;
}
