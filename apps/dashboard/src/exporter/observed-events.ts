import type { CollectorEvent } from "@holdfast/collectors";
import { type LabelGuard, labelWord, type MetricSet } from "@holdfast/metrics/internal";
import type { NamedCollector } from "./lock-census.js";
import { resyncReasons } from "./words.js";

/** Turns the events of one collector into counters. */
export class ObservedEvents {
  readonly #set: MetricSet;
  readonly #cluster: string;
  readonly #backend: string;
  readonly #groupOf: (key: string) => string;
  readonly #guard: LabelGuard;
  /** By group: the epoch ms at which a lock or an event of the group was last seen. */
  readonly #seen = new Map<string, number>();
  readonly #changes: { inc(): void };

  constructor(
    set: MetricSet,
    { name, collector }: NamedCollector,
    groupOf: (key: string) => string,
    guard: LabelGuard,
  ) {
    this.#set = set;
    this.#cluster = name;
    this.#backend = collector.backend;
    this.#groupOf = groupOf;
    this.#guard = guard;
    const cluster = { cluster: name };
    this.#changes = set.counter("collector_events_total").labels(cluster);
    // The counters begin at 0, because a counter that appears with its first event shows no increase.
    set.counter("collector_events_total").inc(cluster, 0);
    set.counter("collector_drift_total").inc(cluster, 0);
    for (const reason of resyncReasons) set.counter("collector_resyncs_total").inc({ ...cluster, reason }, 0);
  }

  /** Gives a group that has been seen its counters, even if nothing happens in it: that is what an alert looks for. */
  begin(group: string): void {
    const known = this.#seen.has(group);
    this.#seen.set(group, Date.now());
    if (known) return;
    this.#set.counter("observed_grants_total").inc(this.#labels(group), 0);
    this.#set.counter("observed_releases_total").inc(this.#labels(group), 0);
  }

  /**
   * A group that was not seen since `beforeMs` loses its series. Its place in the guard is free for the next new group.
   */
  letGo(beforeMs: number): void {
    for (const [group, seenMs] of this.#seen) {
      if (seenMs >= beforeMs) continue;
      this.#seen.delete(group);
      this.#guard.letGo(group);
      for (const name of ["observed_grants_total", "observed_releases_total"])
        this.#set.counter(name).remove(this.#labels(group));
      this.#set.histogram("observed_hold_duration_seconds").remove(this.#labels(group));
    }
  }

  heard(event: CollectorEvent): void {
    const cluster = this.#cluster;
    switch (event.type) {
      case "changed":
      case "removed":
        this.#changes.inc();
        return;
      case "granted":
        this.#changes.inc();
        this.#set.counter("observed_grants_total").inc(this.#labels(this.#groupFor(event.key)));
        return;
      case "released": {
        this.#changes.inc();
        const labels = this.#labels(this.#groupFor(event.key));
        this.#set.counter("observed_releases_total").inc(labels);
        if (event.heldMs === null) return;
        this.#set.histogram("observed_hold_duration_seconds").observe(labels, event.heldMs / 1000);
        return;
      }
      case "pass":
        this.#set
          .histogram("collector_duration_seconds")
          .observe({ cluster, source: event.source }, event.tookMs / 1000);
        return;
      case "resync":
        this.#set.counter("collector_resyncs_total").inc({ cluster, reason: labelWord(event.reason) });
        return;
      case "drift":
        this.#set.counter("collector_drift_total").inc({ cluster }, event.count);
        return;
      case "status":
        return;
    }
  }

  #groupFor(key: string): string {
    const group = this.#guard.pass(this.#groupOf(key));
    this.begin(group);
    return group;
  }

  #labels(group: string): Record<string, string> {
    return { cluster: this.#cluster, backend: this.#backend, lock_group: group };
  }
}
