import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { scenarioOf } from "../src/cell.js";
import { codeOf } from "../src/code.js";
import { digestOf, faults } from "../src/faults.js";
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
  // A holder that does not renew must never be asked to hold for longer than its lease.
  const longest = Math.max(...groups.map(({ holdMs }) => holdMs[1]));
  if (!subject.renews) expect(longest).toBeLessThan(trial.leaseMs ?? 2_000);
});

it("the group whose grant no replica may hear of has the time for two whole turns", () => {
  const waits = cells.flatMap(({ trial: { plan, groups } }) =>
    plan.flatMap(({ options }) => {
      const own = groups.find(({ name }) => name === options?.group);
      return own === undefined || options?.waitMs === undefined ? [] : [{ own, waitMs: options.waitMs }];
    }),
  );
  expect(waits.length).toBeGreaterThan(0);
  for (const { own, waitMs } of waits)
    expect(Number(waitMs)).toBeGreaterThanOrEqual(2 * (own.holdMs[1] + (own.pauseMs?.[1] ?? 0)));
});

it("runs of our own locks are distinguished by the lock's code, those of other libraries are not", () => {
  const codes = subjects.filter(({ id }) => id.startsWith("holdfast-")).map((each) => codeOf(each));
  expect(new Set(codes).size).toBe(3);
  const others = subjects.filter(({ id }) => !id.startsWith("holdfast-")).map((each) => codeOf(each));
  expect(new Set(others).size).toBe(1);
});

it.each([
  "apps/chaos/dist/checkers/mutex.js",
  "apps/chaos/dist/engine/run.js",
  "apps/chaos/shims/holdfast-shim.c",
  "apps/trials/python/worker.py",
  "apps/trials/dist/verdict.js",
  "packages/test-servers/dist/tcp-proxy.js",
])(
  "runs of every subject are distinguished by the code of the runner and its clients, such as %s",
  (file) => {
    const codes = ["one", "two"].map((text) => {
      const root = mkdtempSync(join(tmpdir(), "holdfast-trials-"));
      onTestFinished(() => rmSync(root, { recursive: true }));
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), text);
      return codeOf({}, root);
    });
    expect(codes[0]).not.toBe(codes[1]);
  },
);

it("a run does not count any more once its subject or its fault has another say in what convicts", () => {
  const { subject, fault, trial } = cells[0] as (typeof cells)[number];
  const { provides } = subject;
  const telling = { ...subject, provides: { ...provides, tellsLoss: provides.tellsLoss !== true } };
  const before = digestOf(fault, trial, subject);
  expect(digestOf(fault, trial, { ...subject, provides: { ...provides } })).toBe(before);
  expect(digestOf(fault, trial, telling)).not.toBe(before);
  expect(digestOf({ excuses: { stuck: "no lock can go on" } }, trial, subject)).not.toBe(before);
});

it("what no document says is not marked: each note has its source, and is about a fault of the table", () => {
  for (const { outOfScope } of subjects) {
    for (const [fault, note] of Object.entries(outOfScope)) {
      expect(faults.map(({ id }) => id)).toContain(fault);
      expect(note?.source).toMatch(/^(https:|packages\/)/);
    }
  }
});
