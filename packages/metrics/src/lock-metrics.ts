import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { InvalidArgumentError, type LockProvider } from "@holdfast/core";
import {
  channelNames,
  checkKnownKeys,
  checkMethods,
  checkObject,
  checkString,
  show,
  stackOf,
} from "@holdfast/core/internal";
import type { RegistryContentType } from "prom-client";
import { type GuardedLabel, guardedLabels, LabelGuard, otherValue } from "./label-guard.js";
import { lockCatalogue } from "./lock-catalogue.js";
import { defaultLockGroup } from "./lock-group.js";
import { LockSeries } from "./lock-series.js";
import { type AnyRegistry, MetricSet } from "./metric-set.js";
import { findPromClient, type PromClient } from "./prom-client.js";
import { collectGauges, ProviderWatch } from "./provider-watch.js";
import { SessionSeries } from "./session-series.js";
import { version } from "./version.js";

/** What `lockMetrics()` takes. */
export interface LockMetricsOptions {
  /**
   * The registry for the metrics. Default: a registry of their own, in the text format, or in OpenMetrics when `traceId` is
   * given. The global registry is never used, and no default metrics are registered.
   */
  registry?: AnyRegistry;
  /** The label `lock_group` for a lock's name. Default: `defaultLockGroup`, which puts `*` for the parts that vary. */
  group?: (name: string) => string;
  /** The number of groups that keep their name; all later groups are counted as `__other__`. Default 200. */
  maxGroups?: number;
  /** The label `cluster`. Default: the servers as the event `session-state` names them. */
  cluster?: string;
  /**
   * Returns the id of the active trace; called in the context of each acquire. The id is the exemplar `trace_id` of the
   * times of that acquire. Needs a registry in the OpenMetrics format. Default: no exemplars.
   */
  traceId?: () => string | undefined;
}

/** The metrics of one provider or several. Disposing calls `close()`. */
export interface LockMetrics extends Disposable {
  /** The registry of the metrics; `undefined` where prom-client is not installed: then nothing is measured. */
  readonly registry: AnyRegistry | undefined;
  /** Stops counting, and takes the metrics out of the registry. */
  close(): void;
}

const known: ReadonlySet<string> = new Set(["registry", "group", "maxGroups", "cluster", "traceId"]);
/** The most values of operations, resource groups and clusters, which are few unless something is wrong. */
const maxValues = 100;

/**
 * Prometheus metrics of one provider or of several, fed by their events. One call for each registry. Throws
 * `InvalidArgumentError` for options that cannot be right, and for a registry that has the metrics already. Without prom-client
 * it measures nothing, and a process warning says so.
 *
 * @example
 * ```ts
 * import { lockMetrics } from "@holdfast/metrics";
 *
 * const { registry } = lockMetrics(locks);
 * console.log(await registry?.metrics()); // the text that Prometheus scrapes
 * ```
 */
export function lockMetrics(
  providers: LockProvider | readonly LockProvider[],
  options: LockMetricsOptions = {},
): LockMetrics {
  const all: readonly LockProvider[] = Array.isArray(providers) ? providers : [providers as LockProvider];
  for (const provider of all) {
    checkMethods("lockMetrics: provider", provider ?? null, ["holds", "kept"]);
    checkMethods("lockMetrics: provider.events", provider.events ?? null, ["on"]);
  }
  if (new Set(all).size < all.length) {
    throw new InvalidArgumentError(
      "lockMetrics: the same provider is given twice; it would be counted twice",
    );
  }
  checkOptions(options);
  const prom = findPromClient();
  if (prom === undefined) {
    process.emitWarning(
      "lockMetrics measures nothing: prom-client is not installed; npm install prom-client",
      {
        type: "HoldfastWarning",
      },
    );
    const close = (): void => {};
    return { registry: undefined, close, [Symbol.dispose]: close };
  }
  return startMetrics(prom, all, options);
}

function startMetrics(
  prom: PromClient,
  providers: readonly LockProvider[],
  options: LockMetricsOptions,
): LockMetrics {
  const { group, maxGroups = 200, cluster, traceId } = options;
  const registry = options.registry ?? ownRegistry(prom, traceId !== undefined);
  const traced = traceId !== undefined;
  const set = new MetricSet(prom, registry, lockCatalogue, {
    exemplars: new Set(traced ? ["lock_acquire_duration_seconds"] : []),
  });
  set.gauge("build_info").set({ version, node: process.version }, 1);
  const overflows = set.counter("metrics_label_overflow_total");
  for (const label of guardedLabels) overflows.inc({ label }, 0);
  const onOverflow = (label: GuardedLabel): void => overflows.inc({ label });
  const guard = (label: GuardedLabel, max = maxValues): LabelGuard => new LabelGuard(label, max, onOverflow);

  const groupOf = group === undefined ? defaultLockGroup : guardedFunction(group);
  const series = new LockSeries(set, guard("lock_group", maxGroups), groupOf, traced);
  const resourceGroups = guard("resource_group");
  const parts = {
    set,
    series,
    ops: guard("op"),
    resourceGroups,
    traceId: traceId === undefined ? undefined : shortTraceId(traceId),
  };
  const sessions = new SessionSeries(set, guard("cluster"), cluster);
  const watches = new Set<ProviderWatch>();
  const listening: Disposable[] = [];
  for (const provider of providers) {
    const watch = new ProviderWatch(provider, parts);
    watches.add(watch);
    listening.push(watch, sessions.add(provider));
  }
  collectGauges(set, series, watches);

  // A gate without a provider publishes only on the channel. A rejection with a provider comes here too, but its
  // `ProviderWatch` counts it.
  const onRejection = (message: unknown): void => {
    const { provider, group } = message as { provider?: string; group: string };
    if (provider !== undefined) return;
    set.counter("fencing_rejections_total").inc({ resource_group: resourceGroups.pass(group) });
  };
  subscribe(channelNames["fencing-rejected"], onRejection);

  let closed = false;
  const close = (): void => {
    if (closed) return;
    closed = true;
    unsubscribe(channelNames["fencing-rejected"], onRejection);
    for (const each of listening) each[Symbol.dispose]();
    watches.clear();
    set.remove();
  };
  return { registry, close, [Symbol.dispose]: close };
}

function checkOptions(options: LockMetricsOptions): void {
  checkObject("lockMetrics: options", options);
  checkKnownKeys("lockMetrics", options, known);
  const { registry, group, maxGroups, cluster, traceId } = options;
  checkMethods("lockMetrics: registry", registry, ["registerMetric", "getSingleMetric"]);
  checkString("lockMetrics: cluster", cluster);
  for (const [name, value] of Object.entries({ group, traceId })) {
    if (value === undefined || typeof value === "function") continue;
    throw new InvalidArgumentError(`lockMetrics: ${name} must be a function; got ${show(value)}`);
  }
  if (maxGroups !== undefined && !(Number.isInteger(maxGroups) && maxGroups >= 1)) {
    throw new InvalidArgumentError(
      `lockMetrics: maxGroups must be a whole number from 1; got ${show(maxGroups)}`,
    );
  }
  if (traceId === undefined || registry === undefined) return;
  if (!String(registry.contentType).startsWith("application/openmetrics-text")) {
    throw new InvalidArgumentError(
      "lockMetrics: traceId needs a registry in the OpenMetrics format: new Registry(Registry.OPENMETRICS_CONTENT_TYPE)",
    );
  }
}

function ownRegistry({ Registry }: PromClient, openMetrics: boolean): AnyRegistry {
  // The types of prom-client know no argument here; its documentation does.
  const Typed = Registry as new (contentType: RegistryContentType) => AnyRegistry;
  return new Typed(openMetrics ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE);
}

/**
 * A mistake in an operator's function must not stop the measurement: the locks concerned are `__other__`, and there is one
 * warning.
 */
function guardedFunction(group: (name: string) => string): (name: string) => string {
  const warn = onceWarned("group");
  return (name) => {
    try {
      const given: unknown = group(name);
      if (typeof given === "string") return given;
      warn(`gave ${show(given)} in place of a string`);
    } catch (error) {
      warn(threw(error));
    }
    return otherValue;
  };
}

/** The format allows 128 characters for name and value together. A function that throws costs only the exemplar. */
function shortTraceId(traceId: () => string | undefined): () => string | undefined {
  const warn = onceWarned("traceId");
  return () => {
    try {
      const id = traceId();
      return typeof id === "string" && id !== "" && id.length <= 120 ? id : undefined;
    } catch (error) {
      warn(threw(error));
      return undefined;
    }
  };
}

function onceWarned(name: string): (problem: string) => void {
  let warned = false;
  return (problem) => {
    if (!warned)
      process.emitWarning(`the function ${name} of lockMetrics ${problem}`, { type: "HoldfastWarning" });
    warned = true;
  };
}

const threw = (error: unknown): string => `threw: ${stackOf(error)}`;
