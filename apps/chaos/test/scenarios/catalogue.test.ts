import { describe, expect, it } from "vitest";
import { checkerNames } from "../../src/checkers/judge.js";
import { drawPlan } from "../../src/engine/plan.js";
import { Random } from "../../src/engine/random.js";
import type { Scenario } from "../../src/engine/scenario.js";
import { parseWorkerTarget } from "../../src/engine/trigger.js";
import { catalogue } from "../../src/scenarios/catalogue.js";

const withServers = catalogue.filter(({ topology }) => topology.kind !== "none");

describe("the catalogue", () => {
  it("names each scenario once", () => {
    const ids = catalogue.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each(withServers.map((scenario) => [scenario.id, scenario] as const))(
    "%s expects something of known checkers, and of each only one thing",
    (_, { expect: wanted }) => {
      const { pass, violation = [], report = [], figures = {} } = wanted;
      const named = [...pass, ...violation, ...report];
      expect(pass.length + violation.length).toBeGreaterThan(0);
      expect(new Set(named).size).toBe(named.length);
      for (const name of [...named, ...Object.keys(figures).map((figure) => figure.split(".")[0])]) {
        expect(checkerNames).toContain(name);
      }
    },
  );

  it("has the twins of locks that are kept: the same servers and faults, judged by the same checkers, and none without keeping", () => {
    const kept = catalogue.filter(({ mode }) => mode.endsWith(", kept"));
    expect(kept.length).toBeGreaterThan(30);
    for (const twin of kept) {
      const scenario = catalogue.find(({ id }) => `${id}-kept` === twin.id);
      expect(scenario, twin.id).toBeDefined();
      expect(twin.topology).toBe(scenario?.topology);
      const faults = ({ plan }: Scenario): string[] =>
        plan(new Random(1, "twins"), 1_000).map(({ fault }) => fault);
      expect(new Set(faults(twin)), twin.id).toEqual(new Set(faults(scenario as Scenario)));
      const { pass, report = [], figures = {} } = twin.expect;
      expect([...pass, ...report], twin.id).toEqual(
        expect.arrayContaining([...(scenario?.expect.pass ?? [])]),
      );
      expect(figures["stats.kept"]?.least, twin.id).toBeGreaterThan(0);
      for (const { options } of twin.groups) expect(options?.keepMs, twin.id).toBeGreaterThan(0);
    }
    expect(kept.filter(({ tags }) => tags.includes("smoke")).map(({ id }) => id)).toEqual(["R03f-kept"]);
  });

  it.each(withServers.map((scenario) => [scenario.id, scenario] as const))(
    "%s gives its workers keys that are there, and its faults targets among them",
    (_, scenario) => {
      const keys = Object.keys(scenario.keys);
      const workers = scenario.groups.flatMap(({ name, count }) =>
        Array.from({ length: count }, (__, at) => `${name}${at}`),
      );
      expect(new Set(workers).size).toBe(workers.length);
      for (const group of scenario.groups) for (const key of group.keys) expect(keys).toContain(key);
      for (const { target, fault } of drawPlan(scenario, 1)) {
        const worker = parseWorkerTarget(target ?? "");
        if (worker === null) continue;
        expect(worker.role === "worker" ? workers : keys, fault).toContain(worker.name);
        // Links and sessions can be reached only through a worker's own proxies.
        if (!/^(link\.|zk\.session-kill$)/.test(fault) || worker.role === "worker") continue;
        const those = scenario.groups.filter((group) => group.keys.includes(worker.name));
        expect(
          those.every(({ proxied }) => proxied === true),
          `${fault} ${target}`,
        ).toBe(true);
      }
    },
  );
});
