import type { Counter } from "prom-client";
import { type LabelGuard, otherValue } from "./label-guard.js";
import type { MetricSet } from "./metric-set.js";
import { keepingEnds, labelWord, lossReasons, releaseFailureReasons, requeueReasons } from "./words.js";

/** An acquire under way. */
export interface Pending {
  readonly startedMs: number;
  notifiedMs: number | undefined;
  readonly traceId: string | undefined;
}

export interface Observer {
  observe(value: number, traceId?: string): void;
}

/** The series of one backend, recipe and group, bound to their labels once. */
export class GroupSeries {
  readonly labels: Readonly<Record<"backend" | "recipe" | "lock_group", string>>;
  readonly recipe: RecipeSeries;
  readonly contended: Counter.Internal;
  /** The acquires under way, oldest first. */
  readonly pending: Set<Pending> = new Set();
  readonly #set: MetricSet;
  readonly #traced: boolean;
  readonly #acquired = new Map<string, Observer>();
  readonly #held = new Map<string, Observer>();
  readonly #lost = new Map<string, Counter.Internal>();

  constructor(set: MetricSet, recipe: RecipeSeries, group: string, traced: boolean) {
    this.#set = set;
    this.#traced = traced;
    this.recipe = recipe;
    this.labels = { ...recipe.labels, lock_group: group };
    this.contended = set.counter("lock_acquire_contended_total").labels(this.labels);
    this.contended.inc(0);
    // A counter that appears with its first event shows no increase: the first loss would raise no alert.
    for (const reason of lossReasons) this.lost(reason).inc(0);
  }

  acquired(outcome: string): Observer {
    return bound(this.#acquired, outcome, () => {
      const histogram = this.#set.histogram("lock_acquire_duration_seconds");
      const labels = { ...this.labels, outcome };
      if (!this.#traced) return histogram.labels(labels);
      // With exemplars, prom-client has no form that is bound to labels.
      return {
        observe: (value, traceId) => {
          const exemplarLabels: Record<string, string> = traceId === undefined ? {} : { trace_id: traceId };
          histogram.observe({ labels, value, exemplarLabels });
        },
      };
    });
  }

  held(end: "released" | "lost"): Observer {
    return bound(this.#held, end, () =>
      this.#set.histogram("lock_hold_duration_seconds").labels({ ...this.labels, end }),
    );
  }

  lost(reason: string): Counter.Internal {
    return bound(this.#lost, reason, () =>
      this.#set.counter("lock_lost_total").labels({ ...this.labels, reason: labelWord(reason) }),
    );
  }
}

/** The series of one backend and recipe. */
export class RecipeSeries {
  readonly labels: Readonly<Record<"backend" | "recipe", string>>;
  readonly handOff: Observer;
  readonly roundTrips: Observer;
  readonly #set: MetricSet;
  #keeping: KeepingSeries | undefined;
  readonly #requeued = new Map<string, Counter.Internal>();
  readonly #releaseErrors = new Map<string, Counter.Internal>();

  constructor(set: MetricSet, backend: string, recipe: string) {
    this.#set = set;
    this.labels = { backend, recipe };
    this.handOff = set.histogram("lock_handoff_duration_seconds").labels(this.labels);
    this.roundTrips = set.histogram("lock_acquire_round_trips").labels(this.labels);
    for (const reason of requeueReasons) this.requeued(reason).inc(0);
    for (const reason of releaseFailureReasons) this.releaseErrors(reason).inc(0);
  }

  /** Made when a lock of this kind is kept for the first time: where nothing is kept there are no such series. */
  get keeping(): KeepingSeries {
    this.#keeping ??= new KeepingSeries(this.#set, this.labels);
    return this.#keeping;
  }

  requeued(reason: string): Counter.Internal {
    return bound(this.#requeued, reason, () =>
      this.#set.counter("lock_requeued_total").labels({ ...this.labels, reason: labelWord(reason) }),
    );
  }

  releaseErrors(reason: string): Counter.Internal {
    return bound(this.#releaseErrors, reason, () =>
      this.#set.counter("lock_release_errors_total").labels({ ...this.labels, reason }),
    );
  }
}

/** The series of the locks that are kept for their next owner. */
export class KeepingSeries {
  readonly lent: Counter.Internal;
  readonly unused: Counter.Internal;
  readonly #ended = new Map<string, Counter.Internal>();

  constructor(set: MetricSet, labels: Readonly<Record<"backend" | "recipe", string>>) {
    this.lent = set.counter("lock_grants_lent_total").labels(labels);
    this.unused = set.counter("lock_keepings_unused_total").labels(labels);
    for (const reason of keepingEnds) {
      this.#ended.set(reason, set.counter("lock_keepings_ended_total").labels({ ...labels, reason }));
    }
    for (const counter of [this.lent, this.unused, ...this.#ended.values()]) counter.inc(0);
  }

  ended(reason: string): void {
    this.#ended.get(labelWord(reason))?.inc();
  }
}

/** Finds the series of a lock, which all providers share. Their number grows with the number of admitted groups. */
export class LockSeries {
  readonly all: Map<string, GroupSeries> = new Map();
  readonly #recipes = new Map<string, RecipeSeries>();
  readonly #set: MetricSet;
  readonly #guard: LabelGuard;
  readonly #groupOf: (name: string) => string;
  readonly #traced: boolean;

  constructor(set: MetricSet, guard: LabelGuard, groupOf: (name: string) => string, traced: boolean) {
    this.#set = set;
    this.#guard = guard;
    this.#groupOf = groupOf;
    this.#traced = traced;
  }

  overflowed(): void {
    this.#guard.overflowed();
  }

  find(backend: string, kind: string, name: string): GroupSeries {
    const group = this.#guard.admit(this.#groupOf(name));
    const recipe = labelWord(kind);
    return bound(this.all, `${backend} ${recipe} ${group}`, () => {
      const series = bound(
        this.#recipes,
        `${backend} ${recipe}`,
        () => new RecipeSeries(this.#set, backend, recipe),
      );
      return new GroupSeries(this.#set, series, group, this.#traced);
    });
  }
}

export function isOverflow(series: GroupSeries): boolean {
  return series.labels.lock_group === otherValue;
}

export function bound<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
