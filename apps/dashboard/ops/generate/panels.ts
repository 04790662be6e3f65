import type {
  AnyPanel,
  GrafanaDashboard,
  PrometheusTarget,
  StatPanel,
  TablePanel,
  TimeSeriesPanel,
} from "./grafana-types.js";

// Panels in the form of Grafana's dashboard model (schemaVersion 39). All fields that it calls required are set, even those with
// a default.

export interface Query {
  readonly expr: string;
  readonly legend: string;
}

export interface PanelOptions {
  readonly title: string;
  readonly description: string;
  readonly queries: readonly Query[];
  /** A unit by its name in Grafana: `s`, `bytes`, `percentunit`, `ops`, `short`. */
  readonly unit: string;
  /** The number of columns, of 24. */
  readonly width: number;
  readonly height: number;
}

export interface StatOptions extends PanelOptions {
  /** From this value on the panel is red. If left out, it never is. */
  readonly badFrom?: number;
}

/** A panel that has no place yet. */
export interface Draft {
  readonly width: number;
  readonly height: number;
  readonly panel: AnyPanel;
}

/** The variable by which a viewer chooses the Prometheus server to ask. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana puts in the one that was chosen.
export const datasource = { type: "prometheus", uid: "${datasource}" } as const;

function common({ title, description, queries }: PanelOptions, instant: boolean) {
  return {
    title,
    description,
    datasource,
    targets: queries.map(
      ({ expr, legend }, index): PrometheusTarget => ({
        refId: String.fromCharCode("A".charCodeAt(0) + index),
        datasource,
        expr,
        legendFormat: legend,
        instant,
        range: !instant,
      }),
    ),
  };
}

export function stat(options: StatOptions): Draft {
  const { unit, badFrom, width, height } = options;
  // The first step applies below its value too. The schema wants a number, and no value shown here is negative.
  const steps = [
    { color: "green", value: 0 },
    ...(badFrom === undefined ? [] : [{ color: "red", value: badFrom }]),
  ];
  const panel: StatPanel = {
    type: "stat",
    ...common(options, true),
    fieldConfig: { defaults: { unit, thresholds: { mode: "absolute", steps } }, overrides: [] },
    options: {
      reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false },
      orientation: "auto",
      textMode: "auto",
      colorMode: "value",
      graphMode: "none",
      justifyMode: "auto",
      wideLayout: true,
      showPercentChange: false,
      percentChangeColorMode: "standard",
    },
  };
  return { width, height, panel };
}

export function timeSeries(options: PanelOptions): Draft {
  const { unit, width, height } = options;
  const panel: TimeSeriesPanel = {
    type: "timeseries",
    ...common(options, false),
    fieldConfig: {
      defaults: { unit, min: 0, custom: { fillOpacity: 5, spanNulls: false } },
      overrides: [],
    },
    options: {
      legend: { displayMode: "list", placement: "bottom", showLegend: true, calcs: [] },
      tooltip: { mode: "multi", sort: "desc" },
    },
  };
  return { width, height, panel };
}

/** The value of the cell itself. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana puts it in.
const cellValue = "${__value.raw}";

export interface TableOptions extends PanelOptions {
  /** The name of the column whose values are addresses. */
  readonly addresses?: string;
}

/** A table with one row for each series, the largest value first. */
export function table(options: TableOptions): Draft {
  const { unit, width, height, addresses } = options;
  const overrides =
    addresses === undefined
      ? []
      : [
          {
            matcher: { id: "byName", options: addresses },

            properties: [{ id: "links", value: [{ title: "Open", url: cellValue, targetBlank: true }] }],
          },
        ];
  const { targets, ...rest } = common(options, true);
  const panel: TablePanel = {
    type: "table",
    ...rest,
    targets: targets.map((target) => ({ ...target, format: "table" })),
    fieldConfig: { defaults: { unit }, overrides },
    options: { frameIndex: 0, showHeader: true, sortBy: [{ displayName: "Value", desc: true }] },
    transformations: [
      {
        id: "organize",
        options: { excludeByName: { Time: true, __name__: true, instance: true, job: true } },
      },
    ],
  };
  return { width, height, panel };
}

export function row(title: string): Draft {
  return { width: 24, height: 1, panel: { type: "row", title, collapsed: false, panels: [] } };
}

/** Gives each panel an id, from 1, and a place. Panels are placed from left to right; a full row starts a new one. */
export function placed(drafts: readonly Draft[]): GrafanaDashboard["panels"] {
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
