import { expect, it } from "vitest";
import { scenarioOf } from "../src/cell.js";
import { faults } from "../src/faults.js";
import { codeOf } from "../src/own-code.js";
import { subjects } from "../src/subjects.js";

const cells = subjects.flatMap((subject) =>
  faults.flatMap((fault) => {
    const trial = fault.of(subject);
    return typeof trial === "string" ? [] : [{ subject, fault, trial }];
  }),
);

it.each(cells)("$subject.id under $fault.id is a scenario of the runner whose faults it knows", (cell) => {
  const { subject, fault, trial } = cell;
  const { subject: judged, groups, expect: expected } = scenarioOf(subject, fault, trial);
  expect(judged?.cannot).toBeUndefined();
  expect(expected.pass).toEqual([]);
  // A holder that does not renew is never asked to hold for longer than its lease.
  const longest = Math.max(...groups.map(({ holdMs }) => holdMs[1]));
  if (!subject.renews) expect(longest).toBeLessThan(trial.leaseMs ?? 2_000);
});

it("runs of our own locks are distinguished by their code too, those of others by their version alone", () => {
  const codes = subjects.filter(({ id }) => id.startsWith("holdfast-")).map((each) => codeOf(each).code);
  expect(new Set(codes).size).toBe(3);
  for (const code of codes) expect(code).toMatch(/^[0-9a-f]{8}$/);
  for (const each of subjects) if (!each.id.startsWith("holdfast-")) expect(codeOf(each)).toEqual({});
});

it("what no document says is not marked: each note has its source, and is about a fault of the table", () => {
  for (const { outOfScope } of subjects) {
    for (const [fault, note] of Object.entries(outOfScope)) {
      expect(faults.map(({ id }) => id)).toContain(fault);
      expect(note?.source).toMatch(/^(https:|packages\/)/);
    }
  }
});
