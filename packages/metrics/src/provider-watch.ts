import type { LockProvider, PrimitiveKind } from "@holdfast/core";
import { Handle } from "@holdfast/core/internal";
import type { Gauge } from "prom-client";
import type { LabelGuard } from "./label-guard.js";
import { bound, type GroupSeries, isOverflow, type LockSeries } from "./lock-series.js";
import type { MetricSet } from "./metric-set.js";
import { PendingAcquires } from "./pending-acquires.js";
import { keepingStates, labelWord } from "./words.js";

export interface WatchParts {
  readonly set: MetricSet;
  readonly series: LockSeries;
  readonly ops: LabelGuard;
  readonly resourceGroups: LabelGuard;
  readonly traceId: (() => string | undefined) | undefined;
}

/** The most names whose series are remembered. Beyond this number, all are forgotten and looked up anew. */
const maxNames = 4096;

/** Feeds the events of one provider to the series. */
export class ProviderWatch implements Disposable {
  readonly provider: LockProvider;
  readonly #parts: WatchParts;
  readonly #backend: string;
  readonly #pending = new PendingAcquires();
  readonly #listening: Disposable[] = [];
  readonly #names = new Map<PrimitiveKind, Map<string, GroupSeries>>();
  #remembered = 0;

  constructor(provider: LockProvider, parts: WatchParts) {
    this.provider = provider;
    this.#parts = parts;
    this.#backend = provider.capabilities.backend;
    this.#listenToAcquires();
    this.#listenToHolds();
    this.#listenToTheRest();
  }

  [Symbol.dispose](): void {
    for (const each of this.#listening.splice(0)) each[Symbol.dispose]();
    this.#pending.clear();
  }

  /** The holds of this moment: their series and their ages. */
  *holds(): Iterable<{ readonly series: GroupSeries; readonly heldMs: number }> {
    for (const handle of this.provider.holds()) {
      // A provider of another library has handles without a kind, and so no such gauge.
      if (!(handle instanceof Handle)) continue;
      const hold = Handle.holdOf(handle);
      yield { series: this.#seriesOf(hold.kind, hold.name), heldMs: hold.heldMs() };
    }
  }

  #listenToAcquires(): void {
    const { series: all, traceId } = this.#parts;
    const { events } = this.provider;
    this.#listening.push(
      events.on("acquire-started", (event) => {
        const series = this.#seriesOf(event.kind, event.name);
        // `traceId` is read now, in the context of the caller: when the acquire settles, another context is current.
        const pending = { startedMs: performance.now(), notifiedMs: undefined, traceId: traceId?.() };
        this.#pending.started(event, series, pending);
      }),
      events.on("notified", (event) => {
        const pending = this.#pending.find(event);
        if (pending !== undefined) pending.notifiedMs = event.at;
      }),
      events.on("requeued", (event) => {
        this.#seriesOf(event.kind, event.name).recipe.requeued(event.reason).inc();
      }),
      events.on("acquire-settled", (event) => {
        const series = this.#seriesOf(event.kind, event.name);
        if (isOverflow(series)) all.overflowed();
        const pending = this.#pending.settled(event);
        series.acquired(event.outcome).observe(event.waitedMs / 1000, pending?.traceId);
        if (event.contended) series.contended.inc();
        if (event.outcome !== "granted") return;
        series.recipe.roundTrips.observe(event.roundTrips);
        if (event.kept) series.recipe.keeping.lent.inc();
        const notifiedMs = pending?.notifiedMs;
        if (notifiedMs !== undefined) series.recipe.handOff.observe((event.at - notifiedMs) / 1000);
      }),
    );
  }

  #listenToHolds(): void {
    const { events } = this.provider;
    this.#listening.push(
      events.on("released", (event) => {
        const series = this.#seriesOf(event.kind, event.name);
        series.held(event.outcome === "lost" ? "lost" : "released").observe(event.heldMs / 1000);
        // The release found that the hold was already lost. No event `lost` comes in addition to this one.
        if (event.reason !== undefined) series.lost(event.reason).inc();
        // A counter that appears with its first event shows no increase.
        if (event.outcome === "kept") void series.recipe.keeping;
      }),
      events.on("keeping-ended", (event) => {
        const { keeping } = this.#seriesOf(event.kind, event.name).recipe;
        keeping.ended(event.reason);
        if (event.lends === 0) keeping.unused.inc();
      }),
      events.on("lost", (event) => {
        const series = this.#seriesOf(event.kind, event.name);
        series.held("lost").observe(event.heldMs / 1000);
        series.lost(event.reason).inc();
      }),
      events.on("release-failed", (event) => {
        this.#seriesOf(event.kind, event.name).recipe.releaseErrors(event.reason).inc();
      }),
    );
  }

  #listenToTheRest(): void {
    const { set, ops, resourceGroups } = this.#parts;
    const { events } = this.provider;
    const backend = this.#backend;
    const margin = set.histogram("lock_renewal_margin_seconds").labels({ backend });
    const renewed = set.counter("lock_renewals_total").labels({ backend, outcome: "ok" });
    const failed = set.counter("lock_renewals_total").labels({ backend, outcome: "error" });
    renewed.inc(0);
    failed.inc(0);
    const requests = set.histogram("backend_request_duration_seconds");
    const byOp = new Map<string, { observe(value: number): void }>();
    this.#listening.push(
      events.on("renewed", ({ marginMs }) => {
        renewed.inc();
        margin.observe(marginMs / 1000);
      }),
      events.on("renew-failed", ({ marginMs }) => {
        failed.inc();
        margin.observe(marginMs / 1000);
      }),
      events.on("request-settled", (event) => {
        const op = ops.pass(labelWord(event.op));
        bound(byOp, op, () => requests.labels({ backend, op })).observe(event.tookMs / 1000);
      }),
      events.on("fencing-rejected", ({ group }) => {
        set.counter("fencing_rejections_total").inc({ resource_group: resourceGroups.pass(group) });
      }),
    );
  }

  #seriesOf(kind: PrimitiveKind, name: string): GroupSeries {
    const known = this.#names.get(kind)?.get(name);
    if (known !== undefined) return known;
    // Where names carry an order number, there is no end of new names. Forgetting all of them is cheap, because the series
    // stay.
    if (this.#remembered >= maxNames) {
      this.#names.clear();
      this.#remembered = 0;
    }
    this.#remembered += 1;
    return bound(
      bound(this.#names, kind, () => new Map()),
      name,
      () => this.#parts.series.find(this.#backend, kind, name),
    );
  }
}

/** The gauges that are read at each scrape. */
export function collectGauges(set: MetricSet, series: LockSeries, watches: ReadonlySet<ProviderWatch>): void {
  const perHold = (gauge: Gauge, fold: (before: number, heldMs: number) => number): void => {
    const values = new Map<GroupSeries, number>();
    for (const watch of watches) {
      for (const hold of watch.holds()) {
        values.set(hold.series, fold(values.get(hold.series) ?? 0, hold.heldMs));
      }
    }
    // Series without a hold are set to 0 too: a gauge that vanishes is drawn as if it went on.
    for (const each of series.all.values()) gauge.set(each.labels, values.get(each) ?? 0);
  };
  set.collected("locks_held", (gauge) => perHold(gauge, (count) => count + 1));
  set.collected("lock_oldest_hold_seconds", (gauge) =>
    perHold(gauge, (oldest, heldMs) => Math.max(oldest, heldMs / 1000)),
  );
  set.collected("locks_kept", (gauge) => {
    for (const { provider } of watches) {
      const { backend } = provider.capabilities;
      for (const state of keepingStates) gauge.set({ backend, state }, 0);
    }
    for (const { provider } of watches) {
      const { backend } = provider.capabilities;
      for (const { lent } of provider.kept()) gauge.inc({ backend, state: lent ? "lent" : "idle" });
    }
  });
  set.collected("lock_waiters", (gauge) => {
    for (const { labels, pending } of series.all.values()) gauge.set(labels, pending.size);
  });
  set.collected("lock_oldest_wait_seconds", (gauge) => {
    const nowMs = performance.now();
    for (const { labels, pending } of series.all.values()) {
      const [oldest] = pending;
      gauge.set(labels, oldest === undefined ? 0 : (nowMs - oldest.startedMs) / 1000);
    }
  });
}
