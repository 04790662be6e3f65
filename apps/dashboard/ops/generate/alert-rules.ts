import { wentUp } from "./promql.js";
import { recorded } from "./recording-rules.js";
import type { AlertRule } from "./rules.js";

/** The series with the wait limits of single groups of locks. Operators record it by a rule of their own. */
export const waitLimit = "lock_group:holdfast_lock_wait_limit_seconds";
export const dashboardJob = "holdfast-dashboard";

const usualWaitLimitSeconds = 1;
const timeoutRatioLimit = 0.05;
/** A tenth of a lease of 30 s, which is the default lease on a backend without sessions. */
const usualMarginLimitSeconds = 3;
const lagLimitBytes = 1_048_576;

const stuck = { kind: "stuck_with_waiters" };
const certainDeadlock = { kind: "deadlock_suspected", severity: "critical" };
const possibleDeadlock = { kind: "deadlock_suspected", severity: "warning" };
/** True for each cluster with such a finding. Several dashboards that see the same finding count as one. */
const found = (labels: Readonly<Record<string, string>>): string => {
  const matchers = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return `max by (cluster) (holdfast_dashboard_findings{${matchers.join()}}) > 0`;
};
/** Addresses of the pages of the locks with this finding. Empty unless the dashboard has the option `externalUrl`. */
const pagesOf = (labels: Readonly<Record<string, string>>): string => {
  const matchers = ["cluster", ...Object.keys(labels)].map((label) => `${label}=%q`);
  const values = ["$labels.cluster", ...Object.values(labels).map((value) => `"${value}"`)];
  return `{{ range query (printf "holdfast_dashboard_finding_page{${matchers.join()}}" ${values.join(" ")}) }}{{ .Labels.page }} {{ end }}`;
};

const voters = `sum by (cluster) (holdfast_dashboard_zookeeper_server_role{role=~"leader|follower"})`;
// A server that does not answer does not report either that it is an observer. So its role within the last day counts.
const ensembleSize = `count by (cluster) (holdfast_dashboard_zookeeper_server_role{role="leader"}) - sum by (cluster) (max_over_time(holdfast_dashboard_zookeeper_server_role{role="observer"}[1d]))`;
const marginOf = `${recorded.renewalMarginP01} < on (job, instance, backend) group_left () (0.1 * min by (job, instance, backend) (holdfast_session_timeout_seconds > 0))`;
const marginWithoutSession = `(${recorded.renewalMarginP01} unless on (job, instance, backend) (holdfast_session_timeout_seconds > 0)) < ${usualMarginLimitSeconds}`;

export const alertRules: readonly AlertRule[] = [
  {
    alert: "LockLostWhileHeld",
    expr: wentUp("holdfast_lock_lost_total", "backend, lock_group, reason", "5m"),
    severity: "page",
    summary: "A lock of {{ $labels.lock_group }} was lost while it was held ({{ $labels.reason }})",
    description:
      "Its holder may have worked on while another one held the lock already. Only a resource that checks fencing tokens is safe from that.",
    advice:
      "Look at the work that the holder did since then. stolen: see the audit page. session_expired, lease_expired: look for pauses of the process and a slow backend.",
  },
  {
    alert: "LockStuckWithWaiters",
    // Uses the finding, which is about one lock. The figures of a group would mix locks: it may have a leader that holds for
    // hours, and a short wait for another lock.
    expr: found(stuck),
    for: "1m",
    severity: "page",
    summary: "{{ $value }} locks of {{ $labels.cluster }} are held for long while others wait for them",
    description:
      "One holder has not let go for longer than thresholds.longHoldMs (five minutes), and at least one caller waits for that very lock.",
    advice:
      "Open the lock in the dashboard: is its holder alive? Request a revoke first; force a release last.",
    page: pagesOf(stuck),
  },
  {
    alert: "LockWaitP99High",
    expr:
      `${recorded.waitP99} > on (lock_group) group_left () max by (lock_group) (${waitLimit})\n` +
      `or (${recorded.waitP99} unless on (lock_group) ${waitLimit}) > ${usualWaitLimitSeconds}`,
    for: "10m",
    severity: "warn",
    summary: "Callers wait {{ $value | humanizeDuration }} for {{ $labels.lock_group }} (99th percentile)",
    description: `Callers of the group wait for longer than its limit: ${usualWaitLimitSeconds} s, or what the series ${waitLimit} says.`,
    advice:
      "See whether the backend or the holders are slow: the panel on the share of the backend tells them apart.",
  },
  {
    alert: "LockTimeoutRatioHigh",
    expr: `${recorded.timeoutRatio} > ${timeoutRatioLimit}`,
    for: "10m",
    severity: "warn",
    summary: "{{ $value | humanizePercentage }} of the callers of {{ $labels.lock_group }} gave up waiting",
    description: "Of the calls that ended with a grant or a time-out, more than 5 % timed out.",
    advice: "Look at who holds for long; shorten what is done under the lock, or wait longer.",
  },
  {
    alert: "LockRenewalMarginLow",
    expr: `${marginOf}\nor ${marginWithoutSession}`,
    for: "5m",
    severity: "warn",
    summary:
      "{{ $labels.instance }} renews its leases ({{ $labels.backend }}) {{ $value | humanizeDuration }} before they end",
    description:
      "One renewal in a hundred has less than a tenth of the session time-out left; below 3 s where there is no session, a tenth of the default lease.",
    advice:
      "Look for pauses of the process (garbage collection, a busy event loop) and for a slow backend, before locks are lost.",
  },
  {
    alert: "DeadlockSuspected",
    expr: found(certainDeadlock),
    for: "30s",
    severity: "page",
    summary: "Holders in {{ $labels.cluster }} wait for each other",
    description:
      "A cycle of threads of Redisson has stood through at least two looks. Each of them does nothing else while it waits, so none goes on.",
    advice: "The page Waits shows the cycle. One of its waits must end: ask an owner, or evict one waiter.",
    page: pagesOf(certainDeadlock),
  },
  {
    alert: "DeadlockPossible",
    // Much used locks have such cycles in ordinary times too, each for a moment.
    expr: found(possibleDeadlock),
    for: "10m",
    severity: "warn",
    summary: "Holders in {{ $labels.cluster }} may wait for each other",
    description:
      "For ten minutes there has been a cycle of sessions or processes. It is a possible deadlock only, as the task of a process that holds need not be the one that waits.",
    advice:
      "The page Waits shows the cycle. See whether its holders go on; where none does, ask an owner, or evict one waiter.",
    page: pagesOf(possibleDeadlock),
  },
  {
    alert: "QueueNotAdvancing",
    // While the dashboard cannot read a cluster at all, it remembers the waiters and sees no grants.
    expr:
      "sum by (cluster, lock_group) (holdfast_dashboard_lock_waiters) > 0\n" +
      "unless on (cluster, lock_group) sum by (cluster, lock_group) (rate(holdfast_dashboard_observed_grants_total[10m])) > 0\n" +
      'unless on (cluster) max by (cluster) (holdfast_dashboard_collector_up{source=~"watch.*|scan|pubsub"}) == 0',
    for: "10m",
    severity: "page",
    summary:
      "{{ $value }} callers wait for {{ $labels.lock_group }} ({{ $labels.cluster }}), and none was granted for 10 minutes",
    description: "There were waiters all the time, and no grant was seen.",
    advice:
      "Open the lock: it has a holder that is stuck, a queue without a holder, or an entry whose client is gone.",
  },
  {
    alert: "CollectorBlind",
    // Does not use the age of the last success: a watch on a quiet tree receives nothing for hours and works well. Each source
    // itself reports when it is stale. The source "compare" is left out, because its comparison starts only after minutes.
    expr:
      'holdfast_dashboard_collector_up{source!="compare"} == 0\n' +
      `or up{job="${dashboardJob}"} == 0\n` +
      `or absent(up{job="${dashboardJob}"})`,
    for: "1m",
    severity: "warn",
    summary:
      "The dashboard does not see {{ with $labels.cluster }}{{ . }} ({{ $labels.source }}){{ else }}anything{{ end }}",
    description:
      "Alerts on what the dashboard sees are blind meanwhile. Those on the metrics of clients are not.",
    advice: "The page Backends says what is wrong with each source. A missing right is named there.",
  },
  {
    alert: "CollectorDrift",
    expr: wentUp("holdfast_dashboard_collector_drift_total", "cluster", "1h"),
    severity: "warn",
    summary: "The dashboard's picture of {{ $labels.cluster }} was wrong and was put right",
    description: "A comparison with the backend found differences that no event had reported.",
    advice:
      "A few such differences come from nodes that the dashboard may not read. More are a defect: report them.",
  },
  {
    alert: "ForcedRelease",
    expr: wentUp(
      `holdfast_dashboard_admin_actions_total{action=~"force_.*",outcome="ok"}`,
      "cluster, action",
      "10m",
    ),
    severity: "info",
    summary: "A release was forced in {{ $labels.cluster }}",
    description: "An operator ended a hold that its holder had not given back.",
    advice: "The page Audit says who, which lock and why.",
  },
  {
    alert: "MetricGuardActive",
    expr:
      `${wentUp("holdfast_metrics_label_overflow_total", "job, label", "1h")}\n` +
      `or ${wentUp("holdfast_dashboard_metrics_label_overflow_total", "job, label", "1h")}`,
    severity: "info",
    summary: "{{ $labels.job }} has more values of {{ $labels.label }} than it keeps apart",
    description: "The rest are counted together as `__other__`.",
    advice:
      "Give lockMetrics() a function `group` that makes fewer groups of the names, and the dashboard rules in groups.",
  },
  {
    alert: "RedisReplicationLag",
    expr: `max by (cluster, node) (holdfast_dashboard_redis_replication_lag_bytes) > ${lagLimitBytes}`,
    for: "2m",
    severity: "warn",
    summary: "{{ $labels.node }} ({{ $labels.cluster }}) is {{ $value | humanize1024 }}B behind its master",
    description: "What it does not have yet is lost if it becomes master, locks among it.",
    advice:
      "Look at the link and at the load of the replica. `min-replicas-max-lag` bounds what can be lost.",
  },
  {
    alert: "RedisNoReplicas",
    expr:
      "holdfast_dashboard_redis_connected_replicas == 0\n" +
      "and on (cluster) max by (cluster) (max_over_time(holdfast_dashboard_redis_connected_replicas[1d])) > 0",
    for: "2m",
    severity: "warn",
    summary: "The master {{ $labels.node }} ({{ $labels.cluster }}) has no replica any more",
    description: "If it fails now, its locks are gone. Where nothing ever had a replica, nothing is said.",
    advice: "Bring the replica back before anything else happens to the master.",
  },
  {
    alert: "ZooKeeperQuorumAtRisk",
    expr: `(${voters}) < floor((${ensembleSize}) / 2) + 2 and (${ensembleSize}) > 2`,
    for: "2m",
    severity: "warn",
    summary: "{{ $labels.cluster }} has {{ $value }} voting servers left",
    description: "With one less there is no majority: no lock can be taken or given back, and sessions end.",
    advice: "Bring the missing server back. The page Backends names it.",
  },
];
