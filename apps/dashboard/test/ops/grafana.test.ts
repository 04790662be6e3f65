import { Type } from "typebox";
import { Errors } from "typebox/value";
import { expect, test } from "vitest";
import { grafanaDashboard } from "../../ops/generate/grafana.js";
import type { StatPanel } from "../../ops/generate/grafana-types.js";

const strict = { additionalProperties: false } as const;
const Text = Type.String({ minLength: 1 });
const Datasource = Type.Object({ type: Type.Literal("prometheus"), uid: Text }, strict);
const Place = Type.Object(
  {
    x: Type.Integer({ minimum: 0, maximum: 23 }),
    y: Type.Integer({ minimum: 0 }),
    w: Type.Integer({ minimum: 1, maximum: 24 }),
    h: Type.Integer({ minimum: 1 }),
  },
  strict,
);
const Target = Type.Object(
  {
    refId: Type.String({ pattern: "^[A-Z]$" }),
    datasource: Datasource,
    expr: Text,
    legendFormat: Type.String(),
    instant: Type.Boolean(),
    range: Type.Boolean(),
    format: Type.Optional(Type.Literal("table")),
  },
  strict,
);
const Step = Type.Object({ color: Type.Enum(["green", "red"]), value: Type.Number() }, strict);
const DataLink = Type.Object({ title: Text, url: Text, targetBlank: Type.Boolean() }, strict);
const Fields = Type.Object(
  {
    defaults: Type.Object(
      {
        unit: Type.Enum(["short", "s", "ops", "percentunit", "bytes"]),
        min: Type.Optional(Type.Number()),
        custom: Type.Optional(Type.Object({ fillOpacity: Type.Number(), spanNulls: Type.Boolean() }, strict)),
        thresholds: Type.Optional(
          Type.Object({ mode: Type.Literal("absolute"), steps: Type.Array(Step, { minItems: 1 }) }, strict),
        ),
      },
      strict,
    ),
    overrides: Type.Array(
      Type.Object(
        {
          matcher: Type.Object({ id: Type.Literal("byName"), options: Text }, strict),
          properties: Type.Array(
            Type.Object({ id: Type.Literal("links"), value: Type.Array(DataLink, { minItems: 1 }) }, strict),
            { minItems: 1 },
          ),
        },
        strict,
      ),
    ),
  },
  strict,
);
const shared = { id: Type.Integer({ minimum: 1 }), gridPos: Place, title: Text };
const Row = Type.Object(
  { ...shared, type: Type.Literal("row"), collapsed: Type.Boolean(), panels: Type.Array(Type.Unknown()) },
  strict,
);
const Panel = Type.Object(
  {
    ...shared,
    type: Type.Enum(["stat", "timeseries", "table"]),
    description: Text,
    datasource: Datasource,
    targets: Type.Array(Target, { minItems: 1 }),
    fieldConfig: Fields,
    options: Type.Object({}),
    transformations: Type.Optional(Type.Array(Type.Object({ id: Text, options: Type.Object({}) }, strict))),
  },
  strict,
);
const Variable = Type.Object({
  name: Text,
  type: Type.Enum(["datasource", "query"]),
  query: Text,
});
/** The part of Grafana's dashboard model that we use. It refuses every other field. */
const Dashboard = Type.Object(
  {
    uid: Type.String({ pattern: "^[a-zA-Z0-9_-]{1,40}$" }),
    title: Text,
    description: Text,
    tags: Type.Array(Text),
    schemaVersion: Type.Literal(39),
    version: Type.Integer({ minimum: 1 }),
    editable: Type.Boolean(),
    graphTooltip: Type.Enum([0, 1, 2]),
    refresh: Type.String({ pattern: "^\\d+[smh]$" }),
    timezone: Type.Enum(["browser", "utc"]),
    time: Type.Object({ from: Text, to: Text }, strict),
    annotations: Type.Object({ list: Type.Array(Type.Unknown()) }, strict),
    links: Type.Array(Type.Unknown()),
    templating: Type.Object({ list: Type.Array(Variable) }, strict),
    panels: Type.Array(Type.Union([Row, Panel]), { minItems: 1 }),
  },
  strict,
);

interface Placed {
  id: number;
  title: string;
  targets?: { refId: string }[];
  gridPos: { x: number; y: number; w: number; h: number };
}

const dashboard = grafanaDashboard() as unknown as {
  panels: Placed[];
  templating: { list: { name: string }[] };
};

test("the dashboard is of Grafana's model", () => {
  expect(
    Errors(Dashboard, dashboard).map(({ instancePath, message }) => `${instancePath} ${message}`),
  ).toEqual([]);
  // The schema must be able to refuse.
  expect(Errors(Dashboard, { ...dashboard, panls: [] })).not.toEqual([]);
});

test("what makes it is held to the types that Grafana publishes, which refuse what is not of its model", () => {
  const right: StatPanel["options"] = {
    reduceOptions: { calcs: ["lastNotNull"] },
    orientation: "auto",
    textMode: "auto",
    colorMode: "value",
    graphMode: "none",
    justifyMode: "auto",
    wideLayout: true,
    showPercentChange: false,
    percentChangeColorMode: "standard",
  };
  const wrong: StatPanel["options"][] = [
    // @ts-expect-error: no such word
    { ...right, graphMode: "nothing" },
    // @ts-expect-error: no such option
    { ...right, graphColour: "red" },
  ];
  const { panels } = grafanaDashboard();
  const stats = panels.filter((panel): panel is (typeof panels)[number] & StatPanel => panel.type === "stat");
  expect(stats.length).toBeGreaterThan(3);
  for (const { options } of stats) expect(Object.keys(options).sort()).toEqual(Object.keys(right).sort());
  expect(wrong).toHaveLength(2);
});

test("ids and titles are there once, and no two panels lie on each other", () => {
  const { panels } = dashboard;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  for (const { targets = [] } of panels)
    expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
  const taken = new Map<string, string>();
  for (const { title, gridPos } of panels) {
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.get(`${x} ${y}`), title).toBeUndefined();
        taken.set(`${x} ${y}`, title);
      }
    }
  }
});

test("every variable that a query names is there", () => {
  const there = new Set(["__rate_interval", "__value", ...dashboard.templating.list.map(({ name }) => name)]);
  const named = [...JSON.stringify(dashboard).matchAll(/\$\{?([a-z_]+)/g)].map((match) => match[1]);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => name === undefined || !there.has(name))).toEqual([]);
});
