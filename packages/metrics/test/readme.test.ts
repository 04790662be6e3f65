import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lockCatalogue } from "../src/index.js";
import { version } from "../src/version.js";
import { documentOf } from "./documents.js";
import { promtool } from "./promtool.js";

const readme = new URL("../README.md", import.meta.url);
const queries = [...readFileSync(readme, "utf8").matchAll(/```promql\n([\s\S]*?)```/g)].map(
  ([, query]) => query ?? "",
);

it("the version among the metrics is that of the package", () => {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  expect(version).toBe(JSON.parse(manifest).version);
});

describe("the README", () => {
  it("has the catalogue of today (HOLDFAST_WRITE_DOCS=1 writes it)", () => {
    const { is, shouldBe } = documentOf(readme, lockCatalogue);
    expect(is).toBe(shouldBe);
  });

  it("asks for metrics that there are", () => {
    expect(queries.length).toBe(8);
    const own = queries.flatMap((query) => query.match(/holdfast_(?!dashboard_)[a-z_]+/g) ?? []);
    const names = new Set(
      lockCatalogue.entries.flatMap(({ name, type }) =>
        type === "histogram"
          ? ["_sum", "_count", "_bucket"].map((part) => `holdfast_${name}${part}`)
          : `holdfast_${name}`,
      ),
    );
    expect(own.filter((name) => !names.has(name))).toEqual([]);
    expect(own.length).toBeGreaterThan(5);
  });

  it.runIf(promtool !== undefined)("has queries that promtool accepts", () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-promql-"));
    try {
      const file = join(folder, "queries.json");
      const rules = queries.map((expr, i) => ({ record: `holdfast:readme:query${i}`, expr }));
      writeFileSync(file, JSON.stringify({ groups: [{ name: "readme", rules }] }));
      const { stdout, stderr, status } = spawnSync(promtool ?? "", ["check", "rules", file], {
        encoding: "utf8",
      });
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      expect(stdout).toContain("8 rules found");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
