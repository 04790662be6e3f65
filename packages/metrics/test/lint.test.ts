import { Counter, Registry, type RegistryContentType } from "prom-client";
import { afterEach, describe, expect, it } from "vitest";
import { type LockMetrics, lockCatalogue } from "../src/index.js";
import { type LintedMetric, lintCatalogue, lintRegistry } from "../src/lint.js";
import { everythingHappened } from "./everything.js";
import { checkOpenMetrics, checkText, promtool } from "./promtool.js";

const OpenRegistry = Registry as new (contentType: RegistryContentType) => Registry<RegistryContentType>;

describe("the registry", () => {
  let metrics: LockMetrics;
  afterEach(() => metrics.close());

  it("has the names, types, labels and closed label values of the catalogue after everything has happened", async () => {
    metrics = everythingHappened();
    expect(lintCatalogue(lockCatalogue)).toEqual([]);
    const registered = (await metrics.registry?.getMetricsAsJSON()) as LintedMetric[];
    expect(registered.length).toBe(lockCatalogue.entries.length);
    expect(lintRegistry(registered, lockCatalogue)).toEqual([]);
    // Every metric has at least one series by now.
    const empty = registered.filter(({ values }) => values?.length === 0).map(({ name }) => name);
    expect(empty).toEqual([]);
  });

  it.runIf(promtool !== undefined)("is accepted by promtool in the text format", async () => {
    metrics = everythingHappened();
    const text = (await metrics.registry?.metrics()) ?? "";
    expect(text).toContain('lock_group="hostile \\"name\\"\\\\ with\\nlines{}"');
    expect(checkText(text)).toBe("");
  });

  it.runIf(promtool !== undefined)(
    "is parsed by Prometheus in the OpenMetrics format, with exemplars",
    async () => {
      const registry = new OpenRegistry(Registry.OPENMETRICS_CONTENT_TYPE);
      metrics = everythingHappened({ registry, traceId: () => "4bf92f3577b34da6a3ce929d0e0e4736" });
      const text = await registry.metrics();
      expect(text).toMatch(/_bucket\{.*\} \d+ # \{trace_id="4bf92f3577b34da6a3ce929d0e0e4736"\} 0.003 /);
      expect(text).toContain("# EOF");
      expect(checkOpenMetrics(text)).toBe("");
    },
  );

  it.runIf(promtool !== undefined)("would be refused with a broken line in either format", () => {
    expect(checkText("# TYPE a gauge\na{b} 1\n")).toContain("exit");
    expect(checkOpenMetrics("# TYPE a gauge\na{b} 1\n# EOF\n")).toContain("exit");
  });

  it("gives the same series names in both formats", async () => {
    metrics = everythingHappened();
    const text = (await metrics.registry?.metrics()) ?? "";
    metrics.close();
    metrics = everythingHappened({ registry: new OpenRegistry(Registry.OPENMETRICS_CONTENT_TYPE) });
    const open = (await metrics.registry?.metrics()) ?? "";
    const names = (exposition: string) =>
      new Set(
        exposition
          .split("\n")
          .filter((line) => !line.startsWith("#") && line !== "")
          .map((line) => line.replace(/[{ ].*/, "")),
      );
    expect(names(open)).toEqual(names(text));
    expect(names(text).size).toBeGreaterThan(25);
  });
});

describe("the lint", () => {
  const entry = { from: "-", help: "A sentence.", labels: [] } as const;
  const faultsOf = (name: string, type: "counter" | "gauge" | "histogram", more = {}) =>
    lintCatalogue({ prefix: "holdfast_", entries: [{ ...entry, name, type, ...more }] }).join("; ");

  it.each([
    ["Bad", "gauge", {}, "not a metric name"],
    ["things", "counter", {}, "end in _total"],
    ["things_total", "gauge", {}, "end in _total"],
    ["things_count", "gauge", {}, "must not end in _count"],
    ["wait_ms", "gauge", {}, "base units only"],
    ["wait", "histogram", { buckets: [1] }, "must end in its unit"],
    ["wait_seconds", "histogram", {}, "have buckets"],
    ["wait_seconds", "histogram", { buckets: [2, 1] }, "must rise"],
    ["things", "gauge", { help: " " }, "help must be a sentence"],
    ["things", "gauge", { labels: [{ name: "le" }] }, "reserved"],
    ["things", "gauge", { labels: [{ name: "instance" }] }, "reserved"],
    ["things", "gauge", { labels: [{ name: "kind", values: ["not-a-word"] }] }, "no label word"],
  ] as const)("finds fault with %s as a %s %o", (name, type, more, fault) => {
    expect(faultsOf(name, type, more)).toContain(fault);
  });

  it("finds what a registry has beyond its catalogue, and label values outside their set", async () => {
    const registry = new Registry();
    const things = new Counter({
      name: "holdfast_things_total",
      help: "A sentence.",
      labelNames: ["kind", "who"],
      registers: [registry],
    });
    things.inc({ kind: "other", who: "me" });
    new Counter({ name: "holdfast_more_total", help: "More.", registers: [registry] });
    const catalogue = {
      prefix: "holdfast_",
      entries: [
        { ...entry, name: "things_total", type: "counter", labels: [{ name: "kind", values: ["one"] }] },
        { ...entry, name: "gone", type: "gauge" },
      ],
    } as const;
    const faults = lintRegistry((await registry.getMetricsAsJSON()) as LintedMetric[], catalogue).join("\n");
    expect(faults).toContain('kind="other" is not in its closed set');
    expect(faults).toContain("the label who is not in the catalogue");
    expect(faults).toContain("holdfast_more_total: not in the catalogue");
    expect(faults).toContain("holdfast_gone: not registered");
  });
});
