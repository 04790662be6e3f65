import { stringify } from "yaml";
import type { GrafanaDashboard } from "./grafana-types.js";
import { type Draft, datasource, placed, row, stat, table, timeSeries } from "./panels.js";
import { backendShare, meanWaiting, renewalMarginP01, saturation, timeoutRatio, waitP99 } from "./promql.js";
import { generatedNote } from "./rules.js";

const window = "$__rate_interval";
const own = `cluster=~"$cluster"`;
const seen = (metric: string, more = ""): string => `holdfast_dashboard_${metric}{${own}${more}}`;

const now: readonly Draft[] = [
  row("Now, as the dashboard sees it"),
  stat({
    title: "Held",
    description: "Locks that are held, with and without waiters.",
    queries: [{ expr: `sum(${seen("locks", `,state=~"held|contended"`)})`, legend: "" }],
    unit: "short",
    width: 4,
    height: 4,
  }),
  stat({
    title: "Contended",
    description: "Locks with waiters.",
    queries: [{ expr: `sum(${seen("locks", `,state="contended"`)})`, legend: "" }],
    unit: "short",
    width: 4,
    height: 4,
  }),
  stat({
    title: "Waiters",
    description: "Callers; connections, where the backend shows no more.",
    queries: [{ expr: `sum(${seen("lock_waiters")})`, legend: "" }],
    unit: "short",
    width: 4,
    height: 4,
  }),
  stat({
    title: "Oldest wait",
    description: "At least; waits of unknown age are left out.",
    queries: [{ expr: `max(${seen("lock_oldest_wait_seconds")})`, legend: "" }],
    unit: "s",
    badFrom: 60,
    width: 4,
    height: 4,
  }),
  stat({
    title: "Findings",
    description: "What is wrong and not muted.",
    queries: [{ expr: `sum(${seen("findings")})`, legend: "" }],
    unit: "short",
    badFrom: 1,
    width: 4,
    height: 4,
  }),
  stat({
    title: "Sources down",
    description: "While a source is down, what is shown from it is old.",
    queries: [{ expr: `sum(1 - ${seen("collector_up")})`, legend: "" }],
    unit: "short",
    badFrom: 1,
    width: 4,
    height: 4,
  }),
  table({
    title: "Longest held",
    description: "The 20 locks of each cluster that have been held for the longest.",
    queries: [{ expr: `topk(20, ${seen("top_lock_hold_seconds")})`, legend: "" }],
    unit: "s",
    width: 12,
    height: 9,
  }),
  table({
    title: "Most waited for",
    description: "The 20 locks of each cluster with the most waiters.",
    queries: [{ expr: `topk(20, ${seen("top_lock_waiters")})`, legend: "" }],
    unit: "short",
    width: 12,
    height: 9,
  }),
  timeSeries({
    title: "Findings by kind",
    description: "The dashboard's page Findings has the evidence.",
    queries: [{ expr: `sum by (cluster, kind) (${seen("findings")}) > 0`, legend: "{{cluster}} {{kind}}" }],
    unit: "short",
    width: 12,
    height: 8,
  }),
  table({
    title: "Locks with findings",
    description:
      "The address leads to the lock's page in the dashboard, where that knows its own address (externalUrl).",
    queries: [{ expr: seen("finding_page"), legend: "" }],
    unit: "short",
    width: 24,
    height: 7,
    addresses: "page",
  }),
  timeSeries({
    title: "Grants seen",
    description: "By group of locks.",
    queries: [
      {
        expr: `topk(10, sum by (cluster, lock_group) (rate(${seen("observed_grants_total")}[${window}])))`,
        legend: "{{cluster}} {{lock_group}}",
      },
    ],
    unit: "ops",
    width: 12,
    height: 8,
  }),
];

const waiting: readonly Draft[] = [
  row("Waiting, as clients tell it"),
  timeSeries({
    title: "What hurts most",
    description:
      "Mean number of callers that wait, by Little's law. Waits that have not ended are in the next panel.",
    queries: [{ expr: `topk(10, ${meanWaiting(window)})`, legend: "{{lock_group}}" }],
    unit: "short",
    width: 12,
    height: 8,
  }),
  timeSeries({
    title: "Callers that wait now",
    description: "Callers that have no answer yet are counted too.",
    queries: [
      {
        expr: `topk(10, sum by (backend, lock_group) (avg_over_time(holdfast_lock_waiters[${window}])))`,
        legend: "{{lock_group}}",
      },
    ],
    unit: "short",
    width: 12,
    height: 8,
  }),
  timeSeries({
    title: "Wait for a grant, 99th percentile",
    description: "Calls that were granted, free locks included.",
    queries: [{ expr: `topk(10, ${waitP99(window)})`, legend: "{{lock_group}}" }],
    unit: "s",
    width: 12,
    height: 8,
  }),
  timeSeries({
    title: "Waited in vain",
    description: "Of the calls that ended with a grant or a time-out, the share of the time-outs.",
    queries: [{ expr: `topk(10, ${timeoutRatio(window)})`, legend: "{{lock_group}}" }],
    unit: "percentunit",
    width: 12,
    height: 8,
  }),
  timeSeries({
    title: "Saturation",
    description: "Near 1 for an exclusive lock: it is held all the time.",
    queries: [{ expr: `topk(10, ${saturation(window)})`, legend: "{{lock_group}}" }],
    unit: "short",
    width: 12,
    height: 8,
  }),
  timeSeries({
    title: "Share of the backend in the waiting",
    description: "Near 1: the backend is slow. Near 0: holders are.",
    queries: [{ expr: backendShare(window), legend: "{{backend}}" }],
    unit: "percentunit",
    width: 12,
    height: 8,
  }),
];

const safety: readonly Draft[] = [
  row("Safety"),
  timeSeries({
    title: "Locks lost while held",
    description: "Each of these holders may have worked beside another.",
    queries: [
      {
        expr: `sum by (lock_group, reason) (increase(holdfast_lock_lost_total[${window}]))`,
        legend: "{{lock_group}} {{reason}}",
      },
    ],
    unit: "short",
    width: 8,
    height: 8,
  }),
  timeSeries({
    title: "Left of the lease when renewed, 1st percentile",
    description: "Near 0 is danger.",
    queries: [{ expr: renewalMarginP01(window), legend: "{{instance}} {{backend}}" }],
    unit: "s",
    width: 8,
    height: 8,
  }),
  timeSeries({
    title: "Writers refused by their token, and acts of operators",
    description: "What fencing has prevented, and what people have done by hand.",
    queries: [
      {
        expr: `sum by (resource_group) (increase(holdfast_fencing_rejections_total[${window}]))`,
        legend: "refused {{resource_group}}",
      },
      {
        expr: `sum by (action, outcome) (increase(${seen("admin_actions_total")}[${window}]))`,
        legend: "{{action}} {{outcome}}",
      },
    ],
    unit: "short",
    width: 8,
    height: 8,
  }),
];

const backends: readonly Draft[] = [
  row("Backends"),
  timeSeries({
    title: "Requests of clients, 99th percentile",
    description: "On the wire, by operation.",
    queries: [
      {
        expr: `histogram_quantile(0.99, sum by (le, backend, op) (rate(holdfast_backend_request_duration_seconds_bucket[${window}])))`,
        legend: "{{backend}} {{op}}",
      },
    ],
    unit: "s",
    width: 8,
    height: 8,
  }),
  timeSeries({
    title: "Sessions of clients that are not connected",
    description: "0 is well.",
    queries: [
      {
        expr: "sum by (backend, cluster) (1 - holdfast_session_connected)",
        legend: "{{backend}} {{cluster}}",
      },
    ],
    unit: "short",
    width: 8,
    height: 8,
  }),
  timeSeries({
    title: "Roles of ZooKeeper's servers",
    description: "How many have each.",
    queries: [
      {
        expr: `sum by (cluster, role) (${seen("zookeeper_server_role")}) > 0`,
        legend: "{{cluster}} {{role}}",
      },
    ],
    unit: "short",
    width: 8,
    height: 8,
  }),
  timeSeries({
    title: "Redis replication",
    description: "How far replicas are behind.",
    queries: [{ expr: seen("redis_replication_lag_bytes"), legend: "{{cluster}} {{node}}" }],
    unit: "bytes",
    width: 8,
    height: 8,
  }),
  timeSeries({
    title: "Redis replicas and Sentinels",
    description: "How many a master has, and how many a Sentinel knows.",
    queries: [
      { expr: seen("redis_connected_replicas"), legend: "replicas of {{node}}" },
      { expr: seen("sentinel_known"), legend: "known to {{node}}" },
    ],
    unit: "short",
    width: 8,
    height: 8,
  }),
  timeSeries({
    title: "Coverage of the dashboard's sources",
    description: "Share of what there is that has been seen.",
    queries: [{ expr: seen("collector_coverage_ratio"), legend: "{{cluster}} {{source}}" }],
    unit: "percentunit",
    width: 8,
    height: 8,
  }),
];

export function grafanaDashboard(): GrafanaDashboard {
  return {
    uid: "holdfast-locks",
    title: "Locks (holdfast)",
    description: generatedNote,
    tags: ["holdfast", "locks"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: "15s",
    timezone: "browser",
    time: { from: "now-1h", to: "now" },
    annotations: { list: [] },
    links: [],
    templating: {
      list: [
        { name: "datasource", type: "datasource", query: "prometheus", label: "Prometheus" },
        {
          name: "cluster",
          type: "query",
          label: "Cluster",
          datasource,
          query: "label_values(holdfast_dashboard_collector_up, cluster)",
          refresh: 2,
          includeAll: true,
          allValue: ".*",
          multi: true,
          sort: 1,
        },
      ],
    },
    panels: placed([...now, ...waiting, ...safety, ...backends]),
  };
}

export function datasourceFile(): string {
  return yaml({
    apiVersion: 1,
    datasources: [
      {
        name: "Prometheus",
        uid: "holdfast-prometheus",
        type: "prometheus",
        access: "proxy",
        url: "http://prometheus:9090",
        isDefault: true,
        jsonData: { timeInterval: "15s" },
      },
    ],
  });
}

export function dashboardProviderFile(): string {
  return yaml({
    apiVersion: 1,
    providers: [
      {
        name: "holdfast",
        type: "file",
        disableDeletion: true,
        allowUiUpdates: false,
        options: { path: "/var/lib/grafana/dashboards" },
      },
    ],
  });
}

function yaml(content: object): string {
  return `# ${generatedNote}\n${stringify(content, { lineWidth: 0 })}`;
}
