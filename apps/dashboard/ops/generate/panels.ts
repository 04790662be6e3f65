// Panels as Grafana's dashboard model (schemaVersion 39) has them; only what is used here.

export interface Query {
  readonly expr: string;
  readonly legend: string;
}

export interface PanelOptions {
  readonly title: string;
  readonly description: string;
  readonly queries: readonly Query[];
  /** As Grafana calls it: `s`, `bytes`, `percentunit`, `ops`, `short`. */
  readonly unit: string;
  /** Of 24 columns. */
  readonly width: number;
  readonly height: number;
}

export interface StatOptions extends PanelOptions {
  /** From this value on it is red; never, when left out. */
  readonly badFrom?: number;
}

export type Panel = Readonly<Record<string, unknown>> & { readonly type: string; readonly title: string };
/** What a panel is before it has its place. */
export interface Draft {
  readonly width: number;
  readonly height: number;
  readonly panel: Panel;
}

/** The variable by which people choose which Prometheus to ask. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana puts in the one that was chosen.
export const datasource = { type: "prometheus", uid: "${datasource}" } as const;

function common({ title, description, queries }: PanelOptions, instant: boolean) {
  return {
    title,
    description,
    datasource,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + index),
      datasource,
      expr,
      legendFormat: legend,
      instant,
      range: !instant,
    })),
  };
}

export function stat(options: StatOptions): Draft {
  const { unit, badFrom, width, height } = options;
  const steps = [
    { color: "green", value: null },
    ...(badFrom === undefined ? [] : [{ color: "red", value: badFrom }]),
  ];
  return {
    width,
    height,
    panel: {
      type: "stat",
      ...common(options, true),
      fieldConfig: { defaults: { unit, thresholds: { mode: "absolute", steps } }, overrides: [] },
      options: { reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false }, colorMode: "value" },
    },
  };
}

export function timeSeries(options: PanelOptions): Draft {
  const { unit, width, height } = options;
  return {
    width,
    height,
    panel: {
      type: "timeseries",
      ...common(options, false),
      fieldConfig: {
        defaults: { unit, min: 0, custom: { fillOpacity: 5, spanNulls: false } },
        overrides: [],
      },
      options: {
        legend: { displayMode: "list", placement: "bottom", showLegend: true },
        tooltip: { mode: "multi", sort: "desc" },
      },
    },
  };
}

/** One row for each series, the largest value first. */
export function table(options: PanelOptions): Draft {
  const { unit, width, height } = options;
  const { targets, ...rest } = common(options, true);
  return {
    width,
    height,
    panel: {
      type: "table",
      ...rest,
      targets: targets.map((target) => ({ ...target, format: "table" })),
      fieldConfig: { defaults: { unit }, overrides: [] },
      options: { showHeader: true, sortBy: [{ displayName: "Value", desc: true }] },
      transformations: [
        {
          id: "organize",
          options: { excludeByName: { Time: true, __name__: true, instance: true, job: true } },
        },
      ],
    },
  };
}

export function row(title: string): Draft {
  return { width: 24, height: 1, panel: { type: "row", title, collapsed: false, panels: [] } };
}

/** Ids from 1, and places from left to right, a new line where one is full. */
export function placed(drafts: readonly Draft[]): object[] {
  let x = 0;
  let y = 0;
  let tallest = 0;
  return drafts.map(({ width, height, panel }, index) => {
    if (x + width > 24) {
      x = 0;
      y += tallest;
      tallest = 0;
    }
    const gridPos = { x, y, w: width, h: height };
    x += width;
    tallest = Math.max(tallest, height);
    return { id: index + 1, gridPos, ...panel };
  });
}
