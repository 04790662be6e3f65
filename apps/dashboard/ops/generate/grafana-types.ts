import type { Dashboard, Panel, RowPanel } from "@grafana/schema";
import type { Options as StatOptions } from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen.js";
import type { Options as TableOptions } from "@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen.js";
import type {
  FieldConfig as TimeSeriesFields,
  Options as TimeSeriesOptions,
} from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen.js";

// Grafana's own model of a dashboard, in the version that the Compose file runs, in the form that JSON has: an enumeration is the
// word or number that it stands for.

/** The type as JSON has it. */
export type Plain<T> = T extends string
  ? `${T}`
  : T extends number
    ? `${T}` extends `${infer N extends number}`
      ? N
      : T
    : T extends readonly (infer E)[]
      ? readonly Plain<E>[]
      : T extends object
        ? { readonly [K in keyof T]: Plain<T[K]> }
        : T;

/** A panel gets its id and place only when the panels are laid out. */
type Unplaced<P> = Omit<P, "id" | "gridPos">;

/** A query of the data source for Prometheus by `expr`. Grafana does not publish its type. */
export interface PrometheusTarget {
  readonly refId: string;
  readonly datasource: { readonly type: "prometheus"; readonly uid: string };
  readonly expr: string;
  readonly legendFormat: string;
  readonly instant: boolean;
  readonly range: boolean;
  readonly format?: "time_series" | "table" | "heatmap";
}

type PanelOf<Type extends string, Options, Fields = Record<string, never>> = Unplaced<
  Omit<Plain<Panel>, "type" | "options" | "targets" | "fieldConfig">
> & {
  readonly type: Type;
  readonly title: string;
  readonly targets: readonly PrometheusTarget[];
  readonly options: Plain<Options>;
  readonly fieldConfig: Omit<NonNullable<Plain<Panel>["fieldConfig"]>, "defaults"> & {
    readonly defaults: Omit<NonNullable<Plain<Panel>["fieldConfig"]>["defaults"], "custom"> & {
      readonly custom?: Plain<Fields>;
    };
  };
};

export type StatPanel = PanelOf<"stat", StatOptions>;
export type TimeSeriesPanel = PanelOf<"timeseries", TimeSeriesOptions, TimeSeriesFields>;
export type TablePanel = PanelOf<"table", TableOptions>;
export type Row = Unplaced<Plain<RowPanel>> & { readonly title: string };

export type AnyPanel = StatPanel | TimeSeriesPanel | TablePanel | Row;
export type Place = Plain<NonNullable<Panel["gridPos"]>>;
export type GrafanaDashboard = Omit<Plain<Dashboard>, "panels"> & {
  readonly panels: readonly (AnyPanel & { readonly id: number; readonly gridPos: Place })[];
};
