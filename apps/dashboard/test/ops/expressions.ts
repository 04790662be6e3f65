import { grafanaDashboard } from "../../ops/generate/grafana.js";

interface PanelOfDashboard {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

/** Every query of the Grafana dashboard with the title of its panel. Grafana's own variables have a possible value. */
export function panelExpressions(): [string, string][] {
  const { panels } = grafanaDashboard() as { panels: readonly PanelOfDashboard[] };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }): [string, string] => [
      `panel ${title}`,
      expr.replaceAll("$__rate_interval", "5m"),
    ]),
  );
}
