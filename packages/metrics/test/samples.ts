import type { AnyRegistry } from "../src/index.js";

/** The value of the series `name{label="value"}` in a scrape. Labels in any order; `undefined` if there is no such series. */
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
