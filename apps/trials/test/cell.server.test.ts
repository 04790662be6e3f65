import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerSet } from "@holdfast/chaos";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCell } from "../src/cell.js";
import { type Fault, faults, type Trial } from "../src/faults.js";
import type { Result } from "../src/results.js";
import { startOther } from "../src/servers/other-set.js";
import { postgres } from "../src/servers/postgres.js";
import { type Subject, subjects } from "../src/subjects.js";

const subject = subjects.find(({ id }) => id === "postgresql") as Subject;
const fault = faults.find(({ id }) => id === "session") as Fault;
const whole = fault.of(subject) as Trial;
const folder = mkdtempSync(join(tmpdir(), "holdfast-trials-"));
let set: ServerSet;

beforeAll(async () => {
  set = await startOther(postgres(), whole.topology);
}, 60_000);
afterAll(async () => {
  await set.close();
  rmSync(folder, { recursive: true });
});

/**
 * The result of a short run in which a session is ended once. The holds are long, so that the next holder has read before
 * the one whose session was ended writes: in the other order nothing is damaged. On a busy machine a worker may need most of
 * a second to read, or to hear that its session has ended.
 */
async function ended(options: Record<string, boolean>): Promise<Result> {
  const [group] = whole.groups;
  const [first] = whole.plan;
  if (group === undefined || first === undefined) throw new Error("the trial has neither workers nor faults");
  const trial = {
    ...whole,
    groups: [{ ...group, holdMs: [2_000, 2_000] as const, options }],
    plan: [first],
    runMs: 2_500,
    check: { ...whole.check, minGrants: 4, lostLateMs: 1_900 },
  };
  const about = { seed: 1, version: "test", signal: new AbortController().signal };
  return await runCell(subject, fault, trial, { ...about, set, folder: join(folder, "run") });
}

it("a lock whose holder heeds the end of its session is acquitted, and one that writes on is convicted of damage", async () => {
  expect(await ended({ heeds: true })).toMatchObject({ verdict: "kept", charges: [] });
  const { verdict, charges, why } = await ended({ heeds: false });
  expect({ verdict, worst: charges[0]?.charge }, why).toEqual({ verdict: "convicted", worst: "damage" });
}, 120_000);
