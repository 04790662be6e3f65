import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Result, Results } from "../src/results.js";
import { nextSeed, verdictOf } from "../src/verdict.js";

let folder = "";
const file = (): string => join(folder, "results.jsonl");
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-trials-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const result = (more: Partial<Result>): Result => ({
  subject: "redlock",
  version: "5",
  fault: "cut",
  trial: "a1",
  code: "c0",
  seed: 1,
  verdict: "kept",
  charges: [],
  why: "",
  servers: {},
  figures: {},
  tookMs: 1,
  ...more,
});

const convicted = (seed: number): Result =>
  result({ seed, verdict: "convicted", charges: [{ charge: "damage", text: "seen" }] });

it("goes on where it was interrupted: what is done is not done again, and a line that was cut is", () => {
  const before = new Results(file());
  expect(nextSeed(before.of(result({})), 1)).toBe(1);
  before.add(convicted(1));
  before.add(convicted(2));
  appendFileSync(file(), JSON.stringify(convicted(3)).slice(0, 40));
  const after = new Results(file());
  expect(nextSeed(after.of(result({})), 1)).toBe(3);
  after.add(convicted(3));
  expect(nextSeed(new Results(file()).of(result({})), 1)).toBeNull();
});

it("a cell that was convicted with later seeds first is not kept by a run with an earlier one", () => {
  const results = new Results(file());
  results.add(convicted(5));
  results.add(convicted(6));
  results.add(result({ seed: 1 }));
  expect(verdictOf(results.of(result({})))).toBe("open");
});

it("what was seen of another version, by another trial or of other code says nothing of this one", () => {
  const results = new Results(file());
  results.add(result({}));
  expect(nextSeed(results.of(result({ version: "6" })), 1)).toBe(1);
  expect(nextSeed(results.of(result({ trial: "b2" })), 1)).toBe(1);
  expect(nextSeed(results.of(result({ code: "c3" })), 1)).toBe(1);
  results.add(result({ version: "6" }));
  expect(results.versionOf("redlock")).toBe("6");
});

it("what is shown until a cell is run again is of the code that it was run with last", () => {
  const results = new Results(file());
  results.add(result({}));
  results.add(result({ code: "c1", seed: 2 }));
  results.add(result({ code: "c1", seed: 3 }));
  results.add(result({ code: "c2", seed: 4, fault: "pause" }));
  expect(results.ofLastCode(result({ code: "c3" })).map(({ seed }) => seed)).toEqual([2, 3]);
  expect(results.ofLastCode(result({ code: "c3", fault: "late" }))).toEqual([]);
});

it("writes a line for each run", () => {
  const results = new Results(file());
  results.add(result({}));
  results.add(result({ seed: 2 }));
  expect(readFileSync(file(), "utf8").trimEnd().split("\n")).toHaveLength(2);
});
