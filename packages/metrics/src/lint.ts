import type { Catalogue } from "./catalogue.js";

/** A metric as `getMetricsAsJSON()` of a registry gives it. */
export interface LintedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values?: readonly {
    readonly metricName?: string;
    readonly labels: Readonly<Record<string, string | number | undefined>>;
  }[];
}

const metricName = /^[a-z][a-z0-9_]*$/;
const labelName = /^[a-z][a-z0-9_]*$/;
/** Labels of Prometheus itself: set by the scrape, or part of a format. */
const reservedLabels: ReadonlySet<string> = new Set(["le", "quantile", "job", "instance", "name"]);
/** Suffixes that other tools give to their own series. A name of ours ends in one of them only where its type says so. */
const typeSuffixes: readonly string[] = ["_count", "_sum", "_bucket", "_info", "_total", "_created"];
/** Histograms of a quantity that has no unit. */
const counted: ReadonlySet<string> = new Set(["lock_acquire_round_trips"]);
const baseUnits: readonly string[] = ["_seconds", "_bytes", "_ratio"];
const otherUnits = /_(ms|millis|milliseconds|microseconds|minutes|hours|kb|mb|percent)(_|$)/;

/** What is wrong with the names, types and labels of a catalogue, one line each. */
export function lintCatalogue({ prefix, entries }: Catalogue): string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  for (const { name, type, labels, buckets, help } of entries) {
    const fault = (what: string): void => void faults.push(`${prefix}${name}: ${what}`);
    if (!metricName.test(prefix + name)) fault("not a metric name");
    if (!prefix.startsWith("holdfast_") || !prefix.endsWith("_")) fault("the prefix is not ours");
    if (seen.has(name)) fault("twice in the catalogue");
    seen.add(name);
    if (help.trim() === "" || !help.endsWith(".")) fault("help must be a sentence");
    if (/[\n\\|]/.test(help)) fault("help has characters that formats or tables escape");
    if ((type === "counter") !== name.endsWith("_total")) fault("counters, and they alone, end in _total");
    const suffix = typeSuffixes.find((each) => name.endsWith(each));
    const fits = suffix === undefined || suffix === (type === "counter" ? "_total" : "_info");
    if (!fits) fault(`a ${type} must not end in ${suffix}`);
    if (otherUnits.test(name)) fault("base units only: seconds, bytes, ratios");
    const unit = baseUnits.some((each) => name.endsWith(each));
    if (type === "histogram" && !unit && !counted.has(name)) fault("a histogram must end in its unit");
    if ((type === "histogram") !== (buckets !== undefined)) fault("histograms, and they alone, have buckets");
    if (buckets?.some((bound, i) => i > 0 && bound <= (buckets[i - 1] as number))) fault("buckets must rise");
    const names = labels.map((label) => label.name);
    if (new Set(names).size < names.length) fault("a label twice");
    for (const label of labels) {
      if (!labelName.test(label.name)) fault(`${label.name} is not a label name`);
      if (reservedLabels.has(label.name) || label.name.startsWith("__"))
        fault(`the label ${label.name} is reserved`);
      if (label.values?.some((value) => !/^[a-z][a-z0-9_]*$/.test(value)))
        fault(`a value of ${label.name} is no label word`);
    }
  }
  return faults;
}

/** What only the registry has and not its catalogue, or the other way round, one line each. */
export function lintRegistry(metrics: readonly LintedMetric[], { prefix, entries }: Catalogue): string[] {
  const faults: string[] = [];
  const missing = new Map(entries.map((entry) => [prefix + entry.name, entry]));
  for (const { name, type, help, values = [] } of metrics) {
    const entry = missing.get(name);
    missing.delete(name);
    if (entry === undefined) {
      faults.push(`${name}: not in the catalogue`);
      continue;
    }
    if (String(type) !== entry.type) faults.push(`${name}: a ${String(type)}, not a ${entry.type}`);
    if (help !== entry.help) faults.push(`${name}: help differs`);
    const allowed = new Map(entry.labels.map((label) => [label.name, label.values]));
    for (const { labels } of values) {
      const own = Object.keys(labels).filter((label) => !(entry.type === "histogram" && label === "le"));
      const missingLabel = [...allowed.keys()].find((label) => !own.includes(label));
      if (missingLabel !== undefined) faults.push(`${name}: a series without ${missingLabel}`);
      for (const label of own) {
        const values = allowed.get(label);
        if (!allowed.has(label)) faults.push(`${name}: the label ${label} is not in the catalogue`);
        else if (values !== undefined && !values.includes(String(labels[label])))
          faults.push(`${name}: ${label}="${String(labels[label])}" is not in its closed set`);
      }
    }
  }
  for (const name of missing.keys()) faults.push(`${name}: not registered`);
  return [...new Set(faults)];
}
