/** One metric as the documentation prints it and as it is registered. */
export interface CatalogueEntry {
  /** The name without the prefix. */
  readonly name: string;
  /** The type as Prometheus names it. */
  readonly type: "counter" | "gauge" | "histogram";
  /** The labels in the order in which they are registered. */
  readonly labels: readonly CatalogueLabel[];
  /** The upper bounds of the buckets; for histograms only. */
  readonly buckets?: readonly number[];
  /** The event or call that feeds the metric. */
  readonly from: string;
  /** What the metric means, as the registry prints it. */
  readonly help: string;
}

/** One label of a metric. */
export interface CatalogueLabel {
  /** The name as it is registered. */
  readonly name: string;
  /** All values that the label can ever have; left out where operators or backends choose the words. */
  readonly values?: readonly string[];
}

/** All metrics of one source, for documentation and for registration. */
export interface Catalogue {
  /** The prefix of every name, with its underscore. */
  readonly prefix: string;
  /** The metrics in the order in which the documentation prints them. */
  readonly entries: readonly CatalogueEntry[];
}

/** The catalogue as a table in Markdown, for documentation that a test compares with it. */
export function catalogueTable({ prefix, entries }: Catalogue): string {
  const rows = entries.map(({ name, type, labels, from, help }) => {
    const shown = labels.map((label) => `\`${label.name}\``).join(", ");
    return `| \`${prefix}${name}\` | ${type} | ${shown === "" ? "-" : shown} | ${from} | ${help} |`;
  });
  return ["| name | type | labels | from | meaning |", "|---|---|---|---|---|", ...rows].join("\n");
}

/** The closed sets of label values as a table in Markdown. */
export function labelTable({ entries }: Catalogue): string {
  const rows = new Map<string, string>();
  for (const { name, labels } of entries) {
    for (const { name: label, values } of labels) {
      if (values === undefined) continue;
      const row = values.map((value) => `\`${value}\``).join(", ");
      const metrics = rows.get(`| \`${label}\` | ${row}`);
      rows.set(`| \`${label}\` | ${row}`, metrics === undefined ? name : `${metrics}, ${name}`);
    }
  }
  const lines = [...rows].map(([row, metrics]) => {
    const all = metrics.split(", ");
    return `${row} | ${all.length > 3 ? `${all.length} metrics` : all.map((each) => `\`${each}\``).join(", ")} |`;
  });
  return ["| label | values | of |", "|---|---|---|", ...lines].join("\n");
}
