import type { Finding } from "@holdfast/collectors";
import { defaultLockGroup } from "@holdfast/metrics";
import {
  type AnyRegistry,
  findPromClient,
  LabelGuard,
  labelWord,
  MetricSet,
} from "@holdfast/metrics/internal";
import { type AnyFindingKind, ownCluster, ownFindingKinds } from "../core/own-findings.js";
import { collectBackends } from "./backend-gauges.js";
import { exporterCatalogue } from "./catalogue.js";
import { countLocks, type LockCensus, type LockRef, type NamedCollector } from "./lock-census.js";
import { ObservedEvents } from "./observed-events.js";
import type { TopRows } from "./top-rows.js";
import {
  type AdminAction,
  type AdminOutcome,
  adminActions,
  adminOutcomes,
  findingKinds,
  findingSeverities,
} from "./words.js";

/** The state from which the metrics are read. */
export interface ExporterState {
  readonly clusters: readonly NamedCollector[];
  /** The findings of all clusters that are not muted, the most severe first. */
  findings(): Iterable<{
    readonly cluster: string;
    readonly kind: AnyFindingKind;
    readonly severity: Finding["severity"];
    /** The id of the lock in the API, if the finding is about one. */
    readonly lockId?: string | null;
  }>;
  /** `coalesced` and `disconnectedSlow` count since the start. */
  stream(): { readonly clients: number; readonly coalesced: number; readonly disconnectedSlow: number };
}

export interface ExporterOptions {
  /** Gives the label `lock_group` of a key. Default: what varies becomes `*`, 64 characters at most. */
  readonly group?: (key: string) => string;
  /** This many groups of each cluster keep their name; the others become `__other__`. Default 200. */
  readonly maxGroups?: number;
  /**
   * Rows of each `top_` metric. With 0 there are none and no `finding_page` series, and so no name of a lock is in a
   * label. Default 20.
   */
  readonly topLocks?: number;
  /** The address at which people open the dashboard, ending in a slash. Without it there are no `finding_page` series. */
  readonly externalUrl?: string;
}

export interface ExporterMetrics {
  /** Counts an action. It is not called for dry runs. */
  onAction(action: {
    readonly cluster: string;
    readonly action: AdminAction;
    readonly outcome: AdminOutcome;
  }): void;
  /** Stops listening and removes the metrics from the registry. */
  close(): void;
}

/** A key may be as long as the backend allows, but a label of that length is of no use. */
const maxKeyLength = 256;
/** How long a group keeps its series after its last lock: longer than any window of the alerts. */
const groupKeptMs = 15 * 60_000;
/** How many findings of each cluster have a page among the series. */
const mostFindingPages = 20;

/**
 * Registers the exporter's metrics. Locks are counted in each scrape, with breaks; sessions and servers are read every
 * 15 s at most.
 */
export function exporterMetrics(
  registry: AnyRegistry,
  state: ExporterState,
  { group = defaultLockGroup, maxGroups = 200, topLocks = 20, externalUrl }: ExporterOptions = {},
): ExporterMetrics {
  const prom = findPromClient();
  if (prom === undefined) throw new Error("prom-client, which the dashboard depends on, is not installed");
  const set = new MetricSet(prom, registry, exporterCatalogue);
  const overflows = set.counter("metrics_label_overflow_total");
  overflows.inc({ label: "lock_group" }, 0);

  const guards = new Map<string, LabelGuard>();
  const observed = new Map<string, ObservedEvents>();
  const ends: (() => void)[] = [];
  for (const each of state.clusters) {
    const guard = new LabelGuard("lock_group", maxGroups, (label) => overflows.inc({ label }));
    const events = new ObservedEvents(set, each, group, guard);
    guards.set(each.name, guard);
    observed.set(each.name, events);
    ends.push(each.collector.onEvent((event) => events.heard(event)));
    for (const action of adminActions) {
      for (const outcome of adminOutcomes) {
        set.counter("admin_actions_total").inc({ cluster: each.name, action, outcome }, 0);
      }
    }
  }

  // The gauges of one scrape ask at the same time, so that they share a count.
  let counting: Promise<LockCensus> | undefined;
  const census = (): Promise<LockCensus> => {
    counting ??= countLocks(state.clusters, group, (name) => guards.get(name) as LabelGuard, topLocks)
      .then((counted) => {
        if (counted.overflowed) overflows.inc({ label: "lock_group" });
        for (const { cluster, group } of counted.groups.values()) observed.get(cluster)?.begin(group);
        for (const events of observed.values()) events.letGo(Date.now() - groupKeptMs);
        return counted;
      })
      .finally(() => {
        counting = undefined;
      });
    return counting;
  };
  collectLocks(set, census);
  collectBackends(set, state.clusters);
  collectOwn(set, state);
  // The address of a lock's page contains the lock's id, which is its name in another encoding.
  if (externalUrl !== undefined && topLocks > 0) collectPages(set, state, externalUrl);

  return {
    onAction({ cluster, action, outcome }) {
      set.counter("admin_actions_total").inc({ cluster, action: labelWord(action), outcome });
    },
    close() {
      for (const end of ends.splice(0)) end();
      set.remove();
    },
  };
}

function collectLocks(set: MetricSet, census: () => Promise<LockCensus>): void {
  set.collected("locks", async (gauge) => {
    const { kinds } = await census();
    gauge.reset();
    for (const { count, ...labels } of kinds.values()) gauge.set(labels, count);
  });
  const perGroup = {
    lock_waiters: "waiters",
    lock_oldest_hold_seconds: "oldestHoldSeconds",
    lock_oldest_wait_seconds: "oldestWaitSeconds",
  } as const;
  for (const [metric, value] of Object.entries(perGroup)) {
    set.collected(metric, async (gauge) => {
      const { groups } = await census();
      gauge.reset();
      for (const counted of groups.values()) {
        const { cluster, backend, group } = counted;
        const figure = counted[value];
        if (figure !== null) gauge.set({ cluster, backend, lock_group: group }, figure ?? 0);
      }
    });
  }
  // Made anew each time, so that a lock that is no longer at the top loses its series.
  const top = (metric: string, rowsOf: (counted: LockCensus) => TopRows<LockRef>): void =>
    set.collected(metric, async (gauge) => {
      const rows = rowsOf(await census());
      gauge.reset();
      for (const { value, row } of rows) {
        const { cluster, backend, key } = row;
        gauge.set({ cluster, backend, lock: key.slice(0, maxKeyLength) }, value);
      }
    });
  top("top_lock_waiters", ({ topWaiters }) => topWaiters);
  top("top_lock_hold_seconds", ({ topHolds }) => topHolds);
  top("top_lock_oldest_wait_seconds", ({ topWaits }) => topWaits);
}

/** Collects the pages of findings for alerts, which link to the lock that they are about. */
function collectPages(set: MetricSet, state: ExporterState, externalUrl: string): void {
  set.collected("finding_page", (gauge) => {
    gauge.reset();
    const counts = new Map<string, number>();
    for (const { cluster, kind, severity, lockId } of state.findings()) {
      const count = counts.get(cluster) ?? 0;
      if (lockId == null || count === mostFindingPages) continue;
      counts.set(cluster, count + 1);
      gauge.set({ cluster, kind: labelWord(kind), severity, page: `${externalUrl}locks/${lockId}` }, 1);
    }
  });
}

function collectOwn(set: MetricSet, state: ExporterState): void {
  set.collected("findings", (gauge) => {
    for (const severity of findingSeverities) {
      for (const { name: cluster } of state.clusters) {
        for (const kind of findingKinds) gauge.set({ cluster, kind, severity }, 0);
      }
      for (const kind of ownFindingKinds) {
        gauge.set({ cluster: ownCluster, kind: labelWord(kind), severity }, 0);
      }
    }
    for (const { cluster, kind, severity } of state.findings()) {
      gauge.inc({ cluster, kind: labelWord(kind), severity });
    }
  });
  set.collected("stream_clients", (gauge) => gauge.set(state.stream().clients));
  set.counted("stream_coalesced_updates_total", () => state.stream().coalesced);
  set.counted("stream_disconnected_slow_total", () => state.stream().disconnectedSlow);
}
