import type { CheckResult, Verdict } from "../../src/checkers/verdict.js";
import type { RunOutcome, ScenarioOutcome } from "../../src/engine/outcome.js";

export const result = (checker: string, verdict: Verdict, text = ""): CheckResult => ({
  checker,
  verdict,
  summary: text === "" ? `3 holds in order` : `1 x: ${text}`,
  examples: text === "" ? [] : [{ records: [2, 4], text }],
  metrics: { judged: 3, violations: text === "" ? 0 : 1 },
});

/** An outcome of a scenario Z01 at one ZooKeeper server that came out as expected. `parts` change it. */
export function outcome(
  parts: Omit<Partial<ScenarioOutcome>, "scenario"> & {
    scenario?: Partial<ScenarioOutcome["scenario"]>;
  } = {},
): ScenarioOutcome {
  const { scenario, ...rest } = parts;
  return {
    scenario: {
      id: "Z01",
      title: "a fair lock without faults",
      tags: ["smoke"],
      topology: { kind: "zookeeper", members: 1 },
      expect: { pass: ["belief", "mutex"] },
      faults: ["none"],
      mode: "ours",
      ...scenario,
    },
    outcome: "as-expected",
    why: "2 checkers passed",
    seed: 42,
    tookMs: 8_123,
    missing: [],
    plan: [],
    results: [result("belief", "pass"), result("mutex", "pass")],
    unexpected: [],
    metrics: { grants: 120, faults: 1 },
    versions: { zookeeper: "3.9.3" },
    capabilities: ["zookeeper"],
    folder: null,
    ...rest,
  };
}

export const runOf = (...outcomes: ScenarioOutcome[]): RunOutcome => ({
  seed: 42,
  startedAt: "2026-01-02T03:04:05.678Z",
  tookMs: 12_345,
  outcomes,
});

/** A run with one outcome of each kind. */
export const everyKind = (): RunOutcome =>
  runOf(
    outcome(),
    outcome({
      scenario: {
        id: "R03",
        topology: { kind: "redis" },
        mode: "naive",
        expect: { pass: [], violation: ["lost-update"] },
      },
      results: [result("lost-update", "violation", 'k: a had read 1 and wrote over 2 of <b> & "c"')],
      why: "shown: lost-update",
    }),
    outcome({
      scenario: { id: "Z02" },
      outcome: "violation",
      why: "k: both for 5.000 ms",
      results: [result("mutex", "violation", "k: both for 5.000 ms")],
      unexpected: ["mutex"],
    }),
    outcome({
      scenario: {
        id: "R05",
        topology: { kind: "replicated", replicas: 2, sentinels: 3 },
        expect: { pass: [], violation: ["mutex"] },
      },
      outcome: "not-demonstrated",
      why: "mutex convicted nothing, though it should",
      results: [result("mutex", "pass")],
      unexpected: ["mutex"],
    }),
    outcome({ scenario: { id: "Z03" }, outcome: "unknown", why: "k1 has 3 of 20 grants", results: [] }),
    outcome({
      scenario: { id: "Z08" },
      outcome: "skipped",
      why: "not run",
      missing: ["namespaces"],
      results: [],
    }),
    outcome({ scenario: { id: "Z09" }, outcome: "broken", why: "no server\u0000 came up", results: [] }),
  );
