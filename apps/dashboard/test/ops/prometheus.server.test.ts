import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { drawn } from "../../../../e2e/support/share.js";
import { alertRules } from "../../ops/generate/alert-rules.js";
import { recordingFile } from "../../ops/generate/rules.js";
import { type AlertCase, alertCases } from "./alert-cases.js";
import { panelExpressions } from "./expressions.js";
import { promtool } from "./promtool.js";

const prometheus = fileURLToPath(new URL("../../ops/prometheus/", import.meta.url));
const cases = drawn(
  "worlds of the alerts",
  alertCases,
  Math.ceil(alertCases.length / 2),
  ({ alert, when }) => `${alert} when ${when}`,
);
let scratch: string;
let all: { ok: boolean; told: string };

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "holdfast-rules-"));
  // One start of promtool for all cases. Single cases are run only if one of them fails.
  all = play("all.yml", cases.map(worldOf));
});

afterAll(() => rmSync(scratch, { recursive: true }));

function check(name: string, content: string, ...args: string[]): { ok: boolean; told: string } {
  writeFileSync(join(scratch, name), content);
  return promtool([...args, name], scratch);
}

test("promtool takes the rules and the configuration", () => {
  const rules = promtool(["check", "rules", "rules/recording.yml", "rules/alerts.yml"], prometheus);
  expect(rules, rules.told).toMatchObject({ ok: true });
  expect(rules.told).toContain(`${alertRules.length} rules found`);
  const config = promtool(["check", "config", "--syntax-only", "prometheus.yml"], prometheus);
  expect(config, config.told).toMatchObject({ ok: true });
});

test("every query of the Grafana dashboard is PromQL", () => {
  const rules = panelExpressions().map(([, expr], index) => ({ record: `panel:query:${index}`, expr }));
  const asRules = check("panels.yml", recordingFile(rules), "check", "rules");
  expect(asRules, asRules.told).toMatchObject({ ok: true });
  const broken = check(
    "broken.yml",
    recordingFile([{ record: "panel:query:0", expr: "sum(" }]),
    "check",
    "rules",
  );
  expect(broken.ok).toBe(false);
});

const severities = new Map(alertRules.map(({ alert, severity }) => [alert, severity]));

function worldOf({ alert, series, at, fires }: AlertCase): object {
  const labels = (more: Readonly<Record<string, string>>): string =>
    Object.entries({ alertname: alert, alertstate: "firing", severity: severities.get(alert) ?? "", ...more })
      .map(([name, value]) => `${name}="${value}"`)
      .join(",");
  return {
    interval: "15s",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: `ALERTS{alertname="${alert}",alertstate="firing"}`,
        eval_time: at,
        exp_samples: fires.map((more) => ({ labels: `ALERTS{${labels(more)}}`, value: 1 })),
      },
    ],
  };
}

function play(name: string, worlds: readonly object[]): { ok: boolean; told: string } {
  const rule_files = ["recording.yml", "alerts.yml"].map((file) => join(prometheus, "rules", file));
  return check(name, stringify({ rule_files, evaluation_interval: "15s", tests: worlds }), "test", "rules");
}

test.each(
  cases.map(
    (each) => [each.alert, each.fires.length > 0 ? "is firing" : "is silent", each.when, each] as const,
  ),
)("%s %s when %s", (_alert, _told, _when, each) => {
  const played = all.ok ? all : play("case.yml", [worldOf(each)]);
  expect(played, played.told).toMatchObject({ ok: true });
});

test("each alert is seen to fire and seen not to", () => {
  for (const { alert } of alertRules) {
    const cases = alertCases.filter((each) => each.alert === alert);
    expect(
      cases.some(({ fires }) => fires.length > 0),
      `${alert} fires`,
    ).toBe(true);
    expect(
      cases.some(({ fires }) => fires.length === 0),
      `${alert} is silent`,
    ).toBe(true);
  }
});

test("an alert with the severity page has its values in its words", () => {
  const lost = alertCases.find(({ alert }) => alert === "LockLostWhileHeld") as AlertCase;
  const rule = alertRules.find(({ alert }) => alert === lost.alert);
  const world = {
    ...worldOf(lost),
    alert_rule_test: [
      {
        eval_time: lost.at,
        alertname: lost.alert,
        exp_alerts: [
          {
            exp_labels: { severity: "page", ...lost.fires[0] },
            exp_annotations: {
              summary: "A lock of order-* was lost while it was held (stolen)",
              description: rule?.description,
              advice: rule?.advice,
            },
          },
        ],
      },
    ],
  };
  const played = play("words.yml", [world]);
  expect(played, played.told).toMatchObject({ ok: true });
});

test("an alert of a finding links the pages of the locks that it is about, and none of another cluster's", () => {
  const rule = alertRules.find(({ alert }) => alert === "LockStuckWithWaiters");
  const { summary, description, advice } = rule ?? { summary: "", description: "", advice: "" };
  const page = (cluster: string, kind: string, url: string): string =>
    `holdfast_dashboard_finding_page{cluster="${cluster}",kind="${kind}",page="${url}"}`;
  const series = {
    'holdfast_dashboard_findings{cluster="prod",kind="stuck_with_waiters"}': "2x60",
    [page("prod", "stuck_with_waiters", "https://d/locks/a")]: "1x60",
    [page("prod", "long_hold", "https://d/locks/b")]: "1x60",
    [page("test", "stuck_with_waiters", "https://d/locks/c")]: "1x60",
  };
  const world = {
    interval: "15s",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [
      {
        eval_time: "5m",
        alertname: "LockStuckWithWaiters",
        exp_alerts: [
          {
            exp_labels: { severity: "page", cluster: "prod" },
            exp_annotations: {
              summary: summary.replace("{{ $value }}", "2").replace("{{ $labels.cluster }}", "prod"),
              description,
              advice,
              page: "https://d/locks/a ",
            },
          },
        ],
      },
    ],
  };
  const played = play("page.yml", [world]);
  expect(played, played.told).toMatchObject({ ok: true });
});
