import { InvalidArgumentError } from "@holdfast/core";
import type { Counter, Gauge, Histogram, Metric, Registry, RegistryContentType } from "prom-client";
import type { Catalogue } from "./catalogue.js";
import type { PromClient } from "./prom-client.js";

/** Any registry, of either format. */
export type AnyRegistry = Registry<RegistryContentType>;

export interface MetricSetOptions {
  /** The histograms that carry exemplars. Their `observe` then takes an object. */
  readonly exemplars?: ReadonlySet<string>;
}

/** The metrics of a catalogue in a registry, found by name. */
export class MetricSet {
  readonly #registry: AnyRegistry;
  readonly #catalogue: Catalogue;
  readonly #metrics = new Map<string, Metric>();

  /** Throws `InvalidArgumentError` when the registry has one of the names, and leaves it as it was. */
  constructor(
    prom: PromClient,
    registry: AnyRegistry,
    catalogue: Catalogue,
    { exemplars }: MetricSetOptions = {},
  ) {
    this.#registry = registry;
    this.#catalogue = catalogue;
    const { prefix, entries } = catalogue;
    for (const { name } of entries) {
      if (registry.getSingleMetric(prefix + name) === undefined) continue;
      throw new InvalidArgumentError(
        `the registry has a metric ${prefix}${name} already: give all providers to one call, or a registry to each`,
      );
    }
    for (const { name, type, labels, buckets, help } of entries) {
      const config = {
        name: prefix + name,
        help,
        labelNames: labels.map((label) => label.name),
        // The types of prom-client expect registries of one format. What it does with registries of both formats is the same.
        registers: [registry as Registry],
      };
      const metric: Metric =
        type === "counter"
          ? new prom.Counter(config)
          : type === "gauge"
            ? new prom.Gauge(config)
            : new prom.Histogram({
                ...config,
                buckets: [...(buckets ?? [])],
                enableExemplars: exemplars?.has(name) === true,
              });
      this.#metrics.set(name, metric);
    }
  }

  counter(name: string): Counter {
    return this.#find(name, "counter") as Counter;
  }

  gauge(name: string): Gauge {
    return this.#find(name, "gauge") as Gauge;
  }

  histogram(name: string): Histogram {
    return this.#find(name, "histogram") as Histogram;
  }

  /** Has a gauge filled by `collect` at each scrape. */
  collected(name: string, collect: (gauge: Gauge) => void | Promise<void>): void {
    const gauge = this.gauge(name);
    (gauge as { collect?: () => void | Promise<void> }).collect = () => collect(gauge);
  }

  /** A counter without labels whose total is kept elsewhere; each scrape reads it. */
  counted(name: string, totalNow: () => number): void {
    const counter = this.counter(name);
    (counter as { collect?: () => void }).collect = () => {
      counter.reset();
      counter.inc(totalNow());
    };
  }

  /** Takes the metrics out of the registry. */
  remove(): void {
    for (const { name } of this.#catalogue.entries) {
      this.#registry.removeSingleMetric(this.#catalogue.prefix + name);
    }
  }

  #find(name: string, type: string): Metric {
    const metric = this.#metrics.get(name);
    const entry = this.#catalogue.entries.find((each) => each.name === name);
    if (metric === undefined || entry?.type !== type) throw new Error(`the catalogue has no ${type} ${name}`);
    return metric;
  }
}
