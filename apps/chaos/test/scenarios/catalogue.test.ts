import { describe, expect, it } from "vitest";
import { checkerNames } from "../../src/checkers/judge.js";
import { drawPlan } from "../../src/engine/plan.js";
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
        // Links and sessions can be reached only through proxies of the worker's own.
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
