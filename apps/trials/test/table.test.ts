import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { codeOf } from "../src/code.js";
import { digestOf, type Fault, faults, type Trial } from "../src/faults.js";
import { page } from "../src/page.js";
import { type Result, Results } from "../src/results.js";
import { type Subject, subjects } from "../src/subjects.js";
import { table } from "../src/table.js";

let folder = "";
let results: Results;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-trials-"));
  results = new Results(join(folder, "results.jsonl"));
  const subject = subjects.find(({ id }) => id === "set-nx") as Subject;
  const common = {
    subject: "set-nx",
    version: "6.0.0",
    code: codeOf(subject),
    servers: { redis1: "7.0.15" },
    charges: [],
    why: "",
    figures: {},
    tookMs: 1,
  };
  const add = (more: Partial<Result> & Pick<Result, "fault" | "seed" | "verdict">): void => {
    const fault = faults.find(({ id }) => id === more.fault) as Fault;
    results.add({ ...common, trial: digestOf(fault, fault.of(subject) as Trial, subject), ...more });
  };
  add({ fault: "none", seed: 1, verdict: "kept", figures: { handOffP99Ms: 12.4, waitP99Ms: 900 } });
  for (const seed of [1, 2]) add({ fault: "late", seed, verdict: "unknown", why: "k1 has 2 of 8 grants" });
  const both = { charge: "two holders", text: "mutex: w0 & w1 | both" } as const;
  const worse = { charge: "damage", text: "effect: w0 over w1" } as const;
  for (const seed of [1, 2, 3])
    add({ fault: "empty", seed, verdict: "convicted", charges: seed === 1 ? [worse, both] : [both] });
  add({ fault: "cut", seed: 1, verdict: "convicted", charges: [{ charge: "stuck", text: "free" }] });
  // This result comes from an earlier version of this fault's trial.
  add({ fault: "pause", seed: 1, verdict: "kept", trial: "a1" });
});
afterEach(() => rmSync(folder, { recursive: true }));

const lineOf = (text: string, start: string): string =>
  text.split("\n").find((line) => line.startsWith(start)) ?? "";

it("the text has a word for each cell, and a star where the library says itself that it does not promise that", () => {
  const text = table(results, new Map());
  const words = (start: string) => lineOf(text, start).split(" | ");
  const at = (id: string): number => words("|  | `none`").indexOf(`\`${id}\``);
  const of = (id: string): string | undefined => words("| SET NX")[at(id)];
  expect(of("none")).toBe("kept");
  expect(of("late")).toBe("unknown");
  expect(of("empty")).toBe("two holders \\*");
  expect(of("pause")).toBe("not run");
  // The charge was seen once, which does not count yet.
  expect(of("cut")).toBe("not run");
  expect(of("session")).toBe("–");
});

it("a verdict of earlier code stays, with a mark, until the cell is run again", () => {
  const subject = subjects.find(({ id }) => id === "holdfast-redis") as Subject;
  const fault = faults.find(({ id }) => id === "none") as Fault;
  const run: Result = {
    subject: subject.id,
    version: "0.1.0",
    fault: fault.id,
    trial: digestOf(fault, fault.of(subject) as Trial, subject),
    code: "earlier",
    seed: 1,
    verdict: "kept",
    charges: [],
    why: "",
    servers: {},
    figures: {},
    tookMs: 1,
  };
  const word = (): string => lineOf(table(results, new Map()), "| holdfast on Redis").split(" | ")[1] ?? "";
  results.add(run);
  expect(word()).toBe("kept †");
  expect(page(results, new Map())).toContain("kept †");
  results.add({ ...run, code: codeOf(subject) });
  expect(word()).toBe("kept");
});

it("each conviction stands with what shows it, its seeds, its source and the line that shows it again", () => {
  const text = table(results, new Map());
  const shown = text.slice(text.indexOf("### SET NX PX"));
  expect(shown).toContain(
    "damage in 1 of 3 seeds, two holders in 3 of 3 seeds. Seed 1: mutex: w0 & w1 | both.",
  );
  expect(shown).toContain("Documented as out of scope:");
  expect(shown).toContain("--subjects set-nx --faults empty --seed 1");
});

it("a library that this machine lacks is named with how to get it", () => {
  expect(table(results, new Map([["kazoo", "npx holdfast-servers ensure"]]))).toContain(
    "- kazoo `Lock`: npx holdfast-servers ensure",
  );
});

it("hand-off and wait under 64 waiters stand beside the verdicts", () => {
  expect(table(results, new Map())).toContain(
    "| SET NX PX with ioredis | 12 ms | 900 ms | never reported | none |",
  );
});

it("the page leads from a conviction to its timeline, and shows text as text", () => {
  const text = page(results, new Map());
  expect(text).toContain('href="runs/set-nx-empty-1/timeline.html"');
  expect(text).toContain("mutex: w0 &amp; w1 | both");
});
