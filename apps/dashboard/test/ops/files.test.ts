import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { lockCatalogue } from "@holdfast/metrics";
import { describe, expect, test } from "vitest";
import { alertRules, waitLimit } from "../../ops/generate/alert-rules.js";
import { madeFiles } from "../../ops/generate/files.js";
import { recorded, recordingRules } from "../../ops/generate/recording-rules.js";
import { exporterCatalogue } from "../../src/exporter/index.js";
import { panelExpressions } from "./expressions.js";

const ops = new URL("../../ops/", import.meta.url);

describe("the files of Prometheus and Grafana", () => {
  test.each([...madeFiles()])(
    "%s is as the generator makes it (HOLDFAST_WRITE_DOCS=1 writes it)",
    (path, content) => {
      const file = fileURLToPath(new URL(path, ops));
      if (process.env.HOLDFAST_WRITE_DOCS === "1") {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, content);
      }
      const is = readFileSync(file, "utf8");
      // The formatter breaks lines of JSON in its own way, so only the content is compared.
      if (path.endsWith(".json")) expect(JSON.parse(is)).toEqual(JSON.parse(content));
      else expect(is).toBe(content);
    },
  );
});

/** All series that a query may name, with their labels. */
function knownSeries(): Map<string, ReadonlySet<string>> {
  const known = new Map<string, ReadonlySet<string>>();
  for (const { prefix, entries } of [lockCatalogue, exporterCatalogue]) {
    for (const { name, type, labels } of entries) {
      const names = new Set([...labels.map((label) => label.name), "job", "instance"]);
      if (type === "histogram") {
        known.set(`${prefix}${name}_bucket`, new Set([...names, "le"]));
        for (const suffix of ["_sum", "_count"]) known.set(`${prefix}${name}${suffix}`, names);
      } else known.set(`${prefix}${name}`, names);
    }
  }
  for (const name of [...Object.values(recorded), waitLimit]) {
    known.set(name, new Set(["backend", "lock_group", "job", "instance"]));
  }
  known.set("up", new Set(["job", "instance"]));
  return known;
}

const expressions: [string, string][] = [
  ...recordingRules.map(({ record, expr }): [string, string] => [record, expr]),
  ...alertRules.map(({ alert, expr }): [string, string] => [alert, expr]),
  ...panelExpressions(),
];

test.each(expressions)("%s asks for series and labels that the catalogues have", (_, expr) => {
  const known = knownSeries();
  const asked = [
    ...expr.matchAll(
      /[a-z_]+:holdfast_[a-z0-9_]+:[a-z0-9_]+|[a-z_]+:holdfast_[a-z0-9_]+|holdfast_[a-z0-9_]+|\bup\b/g,
    ),
  ];
  expect(asked.length).toBeGreaterThan(0);
  const labels = new Set<string>();
  for (const [name] of asked) {
    expect([...known.keys()]).toContain(name);
    for (const label of known.get(name) ?? []) labels.add(label);
  }
  const selected = [...expr.matchAll(/([a-z_]+)(?:=~|!=|!~|=)"/g)].map((match) => match[1]);
  const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap((match) =>
    (match[1] ?? "").split(/, */),
  );
  for (const label of [...selected, ...grouped]) expect([...labels]).toContain(label);
});

test("each word that an expression compares a label with is one that the label can have", () => {
  const words = new Map<string, Set<string>>();
  for (const { entries } of [lockCatalogue, exporterCatalogue]) {
    for (const { name, values } of entries.flatMap(({ labels }) => labels)) {
      if (values === undefined) continue;
      const all = words.get(name) ?? new Set();
      for (const value of values) all.add(value);
      words.set(name, all);
    }
  }
  const wrong = expressions.flatMap(([, expr]) =>
    [...expr.matchAll(/([a-z_]+)(=~|=)"([^"$]*)"/g)].flatMap(([, label = "", operator, pattern = ""]) => {
      const all = words.get(label);
      if (all === undefined) return [];
      return pattern
        .split("|")
        .filter((word) =>
          operator === "="
            ? !all.has(word)
            : ![...all].some((each) => new RegExp(`^(?:${word})$`).test(each)),
        )
        .map((word) => `${label}: ${word}`);
    }),
  );
  expect(wrong).toEqual([]);
});

test("every alert says what happened, what it means and what to do first", () => {
  for (const { alert, summary, description, advice } of alertRules) {
    for (const text of [summary, description, advice]) expect(text.length, alert).toBeGreaterThan(20);
  }
  expect(new Set(alertRules.map(({ alert }) => alert)).size).toBe(alertRules.length);
});

test("ops/README.md lists every alert (HOLDFAST_WRITE_DOCS=1 writes it)", () => {
  const file = fileURLToPath(new URL("README.md", ops));
  const [begin, end] = ["<!-- alerts -->\n", "<!-- /alerts -->"];
  const is = readFileSync(file, "utf8");
  const rows = alertRules.map(
    (rule) => `| \`${rule.alert}\` | ${rule.severity} | ${rule.for ?? "at once"} | ${rule.description} |`,
  );
  const table = ["| alert | severity | after | what it means |", "|---|---|---|---|", ...rows, ""].join("\n");
  const from = is.indexOf(begin) + begin.length;
  const shouldBe = `${is.slice(0, from)}${table}${is.slice(is.indexOf(end))}`;
  if (process.env.HOLDFAST_WRITE_DOCS === "1") writeFileSync(file, shouldBe);
  // The formatter chooses the width of columns and the empty lines, so these are not compared.
  const plain = (text: string): string =>
    text
      .replace(/ *\| */g, "|")
      .replace(/-{3,}/g, "---")
      .replace(/\n{2,}/g, "\n");
  expect(plain(readFileSync(file, "utf8"))).toBe(plain(shouldBe));
});
