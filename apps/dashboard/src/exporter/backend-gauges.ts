import type { ServerMeasures, SourceStatus } from "@holdfast/collectors";
import type { MetricSet } from "@holdfast/metrics/internal";
import type { NamedCollector } from "./lock-census.js";
import { Polled } from "./polled.js";
import { observedSessionStates, serverRoles } from "./words.js";

const measured: readonly (readonly [metric: string, measure: keyof ServerMeasures])[] = [
  ["redis_replication_lag_bytes", "replicationLagBytes"],
  ["redis_connected_replicas", "connectedReplicas"],
  ["sentinel_known", "sentinelsKnown"],
];

/** Adds the gauges of sources, servers and sessions, which are read at each scrape. */
export function collectBackends(set: MetricSet, clusters: readonly NamedCollector[]): void {
  sourceGauge(set, clusters, "collector_up", ({ state }) => (state === "ok" || state === "syncing" ? 1 : 0));
  sourceGauge(set, clusters, "collector_coverage_ratio", ({ coverage }) => coverage);
  sourceGauge(set, clusters, "collector_last_success_timestamp_seconds", ({ lastSuccessMs }) =>
    lastSuccessMs === null ? 0 : lastSuccessMs / 1000,
  );

  const servers = clusters.map(({ name, collector }) => ({
    cluster: name,
    backend: collector.backend,
    polled: new Polled(() => collector.servers()),
  }));
  set.collected("zookeeper_server_role", async (gauge) => {
    const ensembles = servers.filter(({ backend }) => backend === "zookeeper");
    const answers = await Promise.all(ensembles.map(({ polled }) => polled.get()));
    gauge.reset();
    for (const [i, { cluster }] of ensembles.entries()) {
      for (const server of answers[i] ?? []) {
        for (const role of serverRoles) {
          gauge.set({ cluster, server: server.name, role }, server.role === role ? 1 : 0);
        }
      }
    }
  });
  for (const [metric, measure] of measured) {
    set.collected(metric, async (gauge) => {
      const answers = await Promise.all(servers.map(({ polled }) => polled.get()));
      gauge.reset();
      for (const [i, { cluster }] of servers.entries()) {
        for (const { name, measures } of answers[i] ?? []) {
          const value = measures?.[measure];
          if (value !== undefined) gauge.set({ cluster, node: name }, value);
        }
      }
    });
  }

  const sessions = clusters.map(({ name, collector }) => ({
    labels: { cluster: name, backend: collector.backend },
    polled: new Polled(() => collector.sessions()),
  }));
  set.collected("sessions", async (gauge) => {
    const answers = await Promise.all(sessions.map(({ polled }) => polled.get()));
    gauge.reset();
    for (const [i, { labels }] of sessions.entries()) {
      const answer = answers[i];
      if (answer === undefined) continue;
      for (const state of observedSessionStates) {
        gauge.set({ ...labels, state }, answer.filter((session) => session.state === state).length);
      }
    }
  });
}

/** A source that is switched off has no series: it is neither up nor down. */
function sourceGauge(
  set: MetricSet,
  clusters: readonly NamedCollector[],
  metric: string,
  read: (source: SourceStatus) => number,
): void {
  set.collected(metric, (gauge) => {
    gauge.reset();
    for (const { name, collector } of clusters) {
      for (const source of collector.sources()) {
        if (source.state === "off") continue;
        gauge.set({ cluster: name, backend: collector.backend, source: source.source }, read(source));
      }
    }
  });
}
