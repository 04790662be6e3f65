import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { catalogue, type PlannedFault, run, type Scenario, shrink } from "@holdfast/chaos";
import { expect, it, onTestFinished } from "vitest";

/** Three runs take twenty seconds; a machine under load gets ten times as much. */
const timeout = 200_000;

const naive = catalogue.find(({ id }) => id === "S02-naive") as Scenario;
/** The naive lock that most programmers write first, in a scenario that expects it to pass. */
const trusted: Scenario = {
  ...naive,
  // A worker that is merely slow must not lose its lease: only the pause may have that effect.
  keys: { k1: { kind: "naive", backend: "redis", leaseMs: 2_000 } },
  groups: naive.groups.map((group) => ({ ...group, count: 3, holdMs: [100, 150] })),
  runMs: 1_000,
  expect: { pass: ["lost-update"], report: naive.expect.report ?? [] },
  check: { minGrants: 6 },
};
const plan: readonly PlannedFault[] = [
  { number: 1, fault: "worker.kill", target: "worker(w0)", atMs: 100, forMs: 100, lanes: ["clients"] },
  {
    number: 2,
    fault: "worker.pause",
    target: "holder(k1)",
    atMs: 600,
    // After the lease of 2 s another worker has to write before the pause ends.
    forMs: 6_000,
    options: { working: true },
    lanes: ["clients"],
  },
];

it("of two faults, shrinking leaves the one that a lock without tokens does not survive", {
  timeout,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "chaos-shrink-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  const capabilities = ["redis"] as const;
  const { outcomes } = await run({
    scenarios: [trusted],
    seed: 1,
    folder,
    capabilities,
    plans: { [trusted.id]: plan },
  });
  const [found] = outcomes;
  if (found === undefined) throw new Error("nothing was run");
  expect(found).toMatchObject({ outcome: "violation", unexpected: ["lost-update"] });
  const asked: string[] = [];
  const smallest = await shrink(trusted, found, {
    seed: 1,
    capabilities,
    folder: join(folder, trusted.id),
    tries: 2,
    onTry: (_, { plan: part }, still) => asked.push(`${part.map(({ fault }) => fault).join(" ")} ${still}`),
  });
  expect(asked).toEqual(["worker.kill false", "worker.pause true"]);
  expect(smallest.plan).toMatchObject([{ number: 2, fault: "worker.pause", target: "holder(k1)" }]);
  expect(smallest.outcome).toMatchObject({ outcome: "violation", unexpected: ["lost-update"] });
  // The try that shows the violation keeps its history and its plan. The folder of the other try is gone.
  for (const file of ["history.jsonl", "plan.json"]) {
    expect(existsSync(join(folder, trusted.id, "shrink", "2", trusted.id, file))).toBe(true);
  }
  expect(existsSync(join(folder, trusted.id, "shrink", "1", trusted.id))).toBe(false);
});
