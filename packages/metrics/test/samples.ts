import type { AnyRegistry } from "../src/index.js";

/** The value of a series as a scrape shows it: `name{label="value"}`, labels in any order. `undefined` when it is not there. */
export async function sample(
  registry: AnyRegistry | undefined,
  name: string,
  labels: Readonly<Record<string, string | number>> = {},
): Promise<number | undefined> {
  const all = (await registry?.getMetricsAsJSON()) ?? [];
  for (const metric of all) {
    for (const value of metric.values as readonly {
      value: number;
      metricName?: string;
      labels: Record<string, string | number | undefined>;
    }[]) {
      if ((value.metricName ?? metric.name) !== name) continue;
      const same = Object.entries(labels).every(([label, wanted]) => value.labels[label] === wanted);
      if (same && Object.keys(value.labels).length === Object.keys(labels).length) return value.value;
    }
  }
  return undefined;
}
