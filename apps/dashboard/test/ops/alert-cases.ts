/** A case in which an alert must fire, or must not. */
export interface AlertCase {
  readonly alert: string;
  /** The situation, as a sentence. */
  readonly when: string;
  /** Samples every 15 s, in the notation of promtool. */
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  /** Labels of the alerts that fire, without `alertname` and `severity`. Empty if none fires. */
  readonly fires: readonly Readonly<Record<string, string>>[];
}

const dash = (name: string, labels: string): string => `holdfast_dashboard_${name}{${labels}}`;
const group = 'backend="redis",lock_group="order-*"';
const perGroup = { backend: "redis", lock_group: "order-*" };
const inProd = 'cluster="prod",lock_group="order-*"';
const prodGroup = { cluster: "prod", lock_group: "order-*" };
const waits = (bucket: string): string =>
  `holdfast_lock_acquire_duration_seconds_bucket{${group},recipe="mutex",outcome="granted",le="${bucket}"}`;
const acquired = (outcome: string): string =>
  `holdfast_lock_acquire_duration_seconds_count{${group},recipe="mutex",outcome="${outcome}"}`;
const margin = (backend: string, le: string): string =>
  `holdfast_lock_renewal_margin_seconds_bucket{backend="${backend}",job="pay",instance="a",le="${le}"}`;
const lost = `holdfast_lock_lost_total{${group},recipe="mutex",reason="stolen",job="pay",instance="a"}`;
const role = (server: string, name: string): string =>
  dash("zookeeper_server_role", `cluster="prod",server="${server}",role="${name}"`);
const deadlocks = (severity: string): string =>
  dash("findings", `cluster="prod",kind="deadlock_suspected",severity="${severity}"`);
const blindScrape = { 'up{job="holdfast-dashboard",instance="d"}': "1x200" };

export const alertCases: readonly AlertCase[] = [
  {
    alert: "LockLostWhileHeld",
    when: "a counter that was 0 goes up",
    series: { [lost]: "0x10 1x60" },
    at: "4m",
    fires: [{ ...perGroup, reason: "stolen" }],
  },
  {
    alert: "LockLostWhileHeld",
    when: "the first loss of a process makes its series",
    series: { [lost]: "_x10 1x60" },
    at: "4m",
    fires: [{ ...perGroup, reason: "stolen" }],
  },
  {
    alert: "LockLostWhileHeld",
    when: "the loss was more than five minutes ago",
    series: { [lost]: "0x10 1x60" },
    at: "9m",
    fires: [],
  },
  {
    alert: "LockStuckWithWaiters",
    when: "a lock is found to be held for long while others wait for it",
    series: { [dash("findings", 'cluster="prod",kind="stuck_with_waiters"')]: "0x10 1x60" },
    at: "5m",
    fires: [{ cluster: "prod" }],
  },
  {
    alert: "LockStuckWithWaiters",
    when: "two dashboards look at one cluster and find the same lock",
    series: {
      [dash("findings", 'cluster="prod",instance="a",kind="stuck_with_waiters"')]: "1x60",
      [dash("findings", 'cluster="prod",instance="b",kind="stuck_with_waiters"')]: "1x60",
    },
    at: "5m",
    fires: [{ cluster: "prod" }],
  },
  {
    alert: "LockStuckWithWaiters",
    when: "one lock of a group is held for hours and callers wait for another one of it, each for a moment",
    series: {
      [dash("lock_oldest_hold_seconds", `${inProd},backend="redis"`)]: "0+15x60",
      [dash("lock_waiters", `${inProd},backend="redis"`)]: "2x60",
      [dash("findings", 'cluster="prod",kind="stuck_with_waiters"')]: "0x60",
      [dash("findings", 'cluster="prod",kind="long_hold"')]: "1x60",
    },
    at: "14m",
    fires: [],
  },
  {
    alert: "LockWaitP99High",
    when: "5 of 100 wait for more than 2.5 s for ten minutes",
    series: {
      [waits("1")]: "0+95x100",
      [waits("2.5")]: "0+95x100",
      [waits("5")]: "0+100x100",
      [waits("+Inf")]: "0+100x100",
    },
    at: "20m",
    fires: [perGroup],
  },
  {
    alert: "LockWaitP99High",
    when: "all callers wait for less than half a second",
    series: { [waits("0.5")]: "0+100x100", [waits("1")]: "0+100x100", [waits("+Inf")]: "0+100x100" },
    at: "20m",
    fires: [],
  },
  {
    alert: "LockWaitP99High",
    when: "the group has a limit of its own that is above the waits",
    series: {
      [waits("1")]: "0+95x100",
      [waits("2.5")]: "0+95x100",
      [waits("5")]: "0+100x100",
      [waits("+Inf")]: "0+100x100",
      'lock_group:holdfast_lock_wait_limit_seconds{lock_group="order-*"}': "10x100",
    },
    at: "20m",
    fires: [],
  },
  {
    alert: "LockWaitP99High",
    when: "the group has a limit of its own that is below the waits",
    series: {
      [waits("0.25")]: "0+0x100",
      [waits("0.5")]: "0+100x100",
      [waits("+Inf")]: "0+100x100",
      'lock_group:holdfast_lock_wait_limit_seconds{lock_group="order-*"}': "0.2x100",
    },
    at: "20m",
    fires: [perGroup],
  },
  {
    alert: "LockTimeoutRatioHigh",
    when: "one of ten callers gives up",
    series: { [acquired("granted")]: "0+90x120", [acquired("timeout")]: "0+10x120" },
    at: "25m",
    fires: [perGroup],
  },
  {
    alert: "LockTimeoutRatioHigh",
    when: "one of a hundred callers gives up, and others find it taken",
    series: {
      [acquired("granted")]: "0+99x120",
      [acquired("timeout")]: "0+1x120",
      [acquired("unavailable")]: "0+500x120",
    },
    at: "25m",
    fires: [],
  },
  {
    alert: "LockRenewalMarginLow",
    when: "a session of 40 s is renewed with 2 to 5 s left",
    series: {
      [margin("zookeeper", "2")]: "0+0x120",
      [margin("zookeeper", "5")]: "0+10x120",
      [margin("zookeeper", "+Inf")]: "0+10x120",
      'holdfast_session_timeout_seconds{backend="zookeeper",cluster="prod",job="pay",instance="a"}': "40x120",
    },
    at: "20m",
    fires: [{ backend: "zookeeper", job: "pay", instance: "a" }],
  },
  {
    alert: "LockRenewalMarginLow",
    when: "a session of 10 s is renewed with as much left",
    series: {
      [margin("zookeeper", "2")]: "0+0x120",
      [margin("zookeeper", "5")]: "0+10x120",
      [margin("zookeeper", "+Inf")]: "0+10x120",
      'holdfast_session_timeout_seconds{backend="zookeeper",cluster="prod",job="pay",instance="a"}': "10x120",
    },
    at: "20m",
    fires: [],
  },
  {
    alert: "LockRenewalMarginLow",
    when: "a lease without a session is renewed with less than a second left",
    series: {
      [margin("redis", "0.5")]: "0+10x120",
      [margin("redis", "20")]: "0+10x120",
      [margin("redis", "+Inf")]: "0+10x120",
    },
    at: "20m",
    fires: [{ backend: "redis", job: "pay", instance: "a" }],
  },
  {
    alert: "LockRenewalMarginLow",
    when: "a lease of 30 s is renewed with 10 to 20 s left",
    series: {
      [margin("redis", "10")]: "0+0x120",
      [margin("redis", "20")]: "0+10x120",
      [margin("redis", "+Inf")]: "0+10x120",
    },
    at: "20m",
    fires: [],
  },
  {
    alert: "DeadlockSuspected",
    when: "the finding stands and is certain",
    series: { [deadlocks("critical")]: "0x4 1x20" },
    at: "2m",
    fires: [{ cluster: "prod" }],
  },
  {
    alert: "DeadlockSuspected",
    when: "there are other findings, and deadlocks that are possible only",
    series: {
      [deadlocks("critical")]: "0x60",
      [deadlocks("warning")]: "1x60",
      [dash("findings", 'cluster="prod",kind="long_hold",severity="info"')]: "3x60",
    },
    at: "14m",
    fires: [],
  },
  {
    alert: "DeadlockPossible",
    when: "there are possible ones for ten minutes",
    series: { [deadlocks("critical")]: "0x60", [deadlocks("warning")]: "1x60" },
    at: "14m",
    fires: [{ cluster: "prod" }],
  },
  {
    alert: "DeadlockPossible",
    when: "there are some now and then, as in ordinary times, and a certain one",
    series: { [deadlocks("critical")]: "1x60", [deadlocks("warning")]: "1x20 0x4 1x30" },
    at: "12m",
    fires: [],
  },
  {
    alert: "QueueNotAdvancing",
    when: "callers wait for ten minutes, and no grant was ever seen",
    series: { [dash("lock_waiters", `${inProd},backend="redis"`)]: "3x100" },
    at: "12m",
    fires: [prodGroup],
  },
  {
    alert: "QueueNotAdvancing",
    when: "grants have stopped long ago",
    series: {
      [dash("lock_waiters", `${inProd},backend="redis"`)]: "3x120",
      [dash("observed_grants_total", `${inProd},backend="redis"`)]: "0+1x4 4x120",
    },
    at: "24m",
    fires: [prodGroup],
  },
  {
    alert: "QueueNotAdvancing",
    when: "callers wait and are granted",
    series: {
      [dash("lock_waiters", `${inProd},backend="redis"`)]: "3x120",
      [dash("observed_grants_total", `${inProd},backend="redis"`)]: "0+1x120",
    },
    at: "24m",
    fires: [],
  },
  {
    alert: "QueueNotAdvancing",
    when: "grants are not seen because the dashboard cannot read the cluster",
    series: {
      [dash("lock_waiters", `${inProd},backend="redis"`)]: "3x240",
      [dash("observed_grants_total", `${inProd},backend="redis"`)]: "0+1x40 40x200",
      [dash("collector_up", 'cluster="prod",backend="redis",source="pubsub"')]: "1x40 0x200",
    },
    at: "45m",
    fires: [],
  },
  {
    alert: "QueueNotAdvancing",
    when: "no caller waits",
    series: { [dash("lock_waiters", `${inProd},backend="redis"`)]: "0x100" },
    at: "24m",
    fires: [],
  },
  {
    alert: "CollectorBlind",
    when: "a source is down for more than a minute",
    series: {
      ...blindScrape,
      [dash(
        "collector_up",
        'cluster="prod",backend="redis",source="scan",job="holdfast-dashboard",instance="d"',
      )]: "1x8 0x60",
    },
    at: "5m",
    fires: [{ cluster: "prod", backend: "redis", source: "scan", job: "holdfast-dashboard", instance: "d" }],
  },
  {
    alert: "CollectorBlind",
    when: "the dashboard is not there",
    series: { 'up{job="holdfast-dashboard",instance="d"}': "0x60" },
    at: "5m",
    fires: [{ job: "holdfast-dashboard", instance: "d" }],
  },
  {
    alert: "CollectorBlind",
    when: "no job scrapes the dashboard",
    series: { 'up{job="prometheus",instance="p"}': "1x60" },
    at: "5m",
    fires: [{ job: "holdfast-dashboard" }],
  },
  {
    alert: "CollectorBlind",
    when: "a watch has heard nothing for an hour and is well",
    series: {
      ...blindScrape,
      [dash("collector_up", 'cluster="prod",backend="zookeeper",source="watch"')]: "1x200",
      [dash("collector_last_success_timestamp_seconds", 'cluster="prod",backend="zookeeper",source="watch"')]:
        "-3600x200",
    },
    at: "30m",
    fires: [],
  },
  {
    alert: "CollectorBlind",
    when: "the first comparison with the backend is still to come",
    series: {
      ...blindScrape,
      [dash("collector_up", 'cluster="prod",backend="zookeeper",source="compare"')]: "0x200",
    },
    at: "30m",
    fires: [],
  },
  {
    alert: "CollectorDrift",
    when: "a comparison found differences",
    series: { [dash("collector_drift_total", 'cluster="prod"')]: "0x8 2x60" },
    at: "5m",
    fires: [{ cluster: "prod" }],
  },
  {
    alert: "CollectorDrift",
    when: "comparisons find nothing",
    series: { [dash("collector_drift_total", 'cluster="prod"')]: "0x300" },
    at: "70m",
    fires: [],
  },
  {
    alert: "ForcedRelease",
    when: "a release was forced",
    series: {
      [dash("admin_actions_total", 'cluster="prod",action="force_release",outcome="ok"')]: "_x8 1x60",
    },
    at: "5m",
    fires: [{ cluster: "prod", action: "force_release" }],
  },
  {
    alert: "ForcedRelease",
    when: "it was refused, and a revoke was asked for",
    series: {
      [dash("admin_actions_total", 'cluster="prod",action="force_release",outcome="conflict"')]: "0x8 1x60",
      [dash("admin_actions_total", 'cluster="prod",action="request_revoke",outcome="ok"')]: "0x8 1x60",
    },
    at: "5m",
    fires: [],
  },
  {
    alert: "MetricGuardActive",
    when: "a process has too many groups",
    series: {
      'holdfast_metrics_label_overflow_total{label="lock_group",job="pay",instance="a"}': "0x8 5+1x60",
    },
    at: "5m",
    fires: [{ job: "pay", label: "lock_group" }],
  },
  {
    alert: "MetricGuardActive",
    when: "the dashboard has too many groups",
    series: {
      [dash("metrics_label_overflow_total", 'label="lock_group",job="holdfast-dashboard",instance="d"')]:
        "0x8 5+1x60",
    },
    at: "5m",
    fires: [{ job: "holdfast-dashboard", label: "lock_group" }],
  },
  {
    alert: "MetricGuardActive",
    when: "nothing overflows",
    series: { 'holdfast_metrics_label_overflow_total{label="lock_group",job="pay",instance="a"}': "0x300" },
    at: "70m",
    fires: [],
  },
  {
    alert: "RedisReplicationLag",
    when: "a replica is 2 MB behind for two minutes",
    series: { [dash("redis_replication_lag_bytes", 'cluster="prod",node="r2"')]: "2000000x60" },
    at: "5m",
    fires: [{ cluster: "prod", node: "r2" }],
  },
  {
    alert: "RedisReplicationLag",
    when: "it catches up within a minute",
    series: { [dash("redis_replication_lag_bytes", 'cluster="prod",node="r2"')]: "0x8 2000000x3 100x60" },
    at: "4m",
    fires: [],
  },
  {
    alert: "RedisNoReplicas",
    when: "a master that had a replica has none",
    series: { [dash("redis_connected_replicas", 'cluster="prod",node="r1"')]: "1x8 0x60" },
    at: "6m",
    fires: [{ cluster: "prod", node: "r1" }],
  },
  {
    alert: "RedisNoReplicas",
    when: "a server never had one",
    series: { [dash("redis_connected_replicas", 'cluster="dev",node="r1"')]: "0x100" },
    at: "20m",
    fires: [],
  },
  {
    alert: "RedisNoReplicas",
    when: "one of two replicas is left",
    series: { [dash("redis_connected_replicas", 'cluster="prod",node="r1"')]: "2x8 1x60" },
    at: "6m",
    fires: [],
  },
  {
    alert: "ZooKeeperQuorumAtRisk",
    when: "one of three servers does not answer",
    series: {
      [role("z1", "leader")]: "1x60",
      [role("z1", "follower")]: "0x60",
      [role("z2", "leader")]: "0x60",
      [role("z2", "follower")]: "1x60",
      [role("z3", "leader")]: "0x60",
      [role("z3", "follower")]: "0x60",
      [role("z1", "observer")]: "0x60",
    },
    at: "5m",
    fires: [{ cluster: "prod" }],
  },
  {
    alert: "ZooKeeperQuorumAtRisk",
    when: "all three answer",
    series: {
      [role("z1", "leader")]: "1x60",
      [role("z2", "leader")]: "0x60",
      [role("z2", "follower")]: "1x60",
      [role("z3", "leader")]: "0x60",
      [role("z3", "follower")]: "1x60",
      [role("z1", "observer")]: "0x60",
    },
    at: "5m",
    fires: [],
  },
  {
    alert: "ZooKeeperQuorumAtRisk",
    when: "three voters answer and the observer does not count",
    series: {
      [role("z1", "leader")]: "1x60",
      [role("z2", "leader")]: "0x60",
      [role("z2", "follower")]: "1x60",
      [role("z3", "leader")]: "0x60",
      [role("z3", "follower")]: "1x60",
      [role("z4", "leader")]: "0x60",
      [role("z4", "follower")]: "0x60",
      [role("z4", "observer")]: "1x60",
    },
    at: "5m",
    fires: [],
  },
  {
    alert: "ZooKeeperQuorumAtRisk",
    when: "three voters answer and the observer has stopped answering",
    series: {
      [role("z1", "leader")]: "1x60",
      [role("z2", "leader")]: "0x60",
      [role("z2", "follower")]: "1x60",
      [role("z3", "leader")]: "0x60",
      [role("z3", "follower")]: "1x60",
      [role("z4", "leader")]: "0x60",
      [role("z4", "follower")]: "0x60",
      [role("z4", "observer")]: "1x8 0x60",
    },
    at: "15m",
    fires: [],
  },
  {
    alert: "ZooKeeperQuorumAtRisk",
    when: "one of three voters and the observer have stopped answering",
    series: {
      [role("z1", "leader")]: "1x60",
      [role("z2", "leader")]: "0x60",
      [role("z2", "follower")]: "1x60",
      [role("z3", "leader")]: "0x60",
      [role("z3", "follower")]: "1x8 0x60",
      [role("z4", "leader")]: "0x60",
      [role("z4", "follower")]: "0x60",
      [role("z4", "observer")]: "1x8 0x60",
    },
    at: "15m",
    fires: [{ cluster: "prod" }],
  },
  {
    alert: "ZooKeeperQuorumAtRisk",
    when: "there is one server, and never were more",
    series: {
      [role("z1", "leader")]: "0x60",
      [role("z1", "follower")]: "0x60",
      [role("z1", "observer")]: "0x60",
      [role("z1", "standalone")]: "1x60",
    },
    at: "5m",
    fires: [],
  },
];
