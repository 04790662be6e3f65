import { readFileSync } from "node:fs";
import { join } from "node:path";
import { catalogue, type RunOutcome, readHistory } from "@holdfast/chaos";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ChaosRun } from "./run-cli.js";

const smoke = catalogue.filter(({ tags }) => tags.includes("smoke")).map(({ id }) => id);

/** The run should take 70 s beside the other files of its stage; a machine under load gets 900 s. */
const limitMs = 900_000;

let run: ChaosRun;
let exit: { code: number | null; signal: NodeJS.Signals | null };
let results: { readonly outcomes: RunOutcome["outcomes"] };

beforeAll(async () => {
  run = new ChaosRun((out) => [
    "run",
    "--tag",
    "smoke",
    "--keep",
    "always",
    "--require",
    "java,zookeeper,redis,sentinel",
    "--out",
    out,
  ]);
  exit = await run.exited;
  // The output contains the seed.
  console.log(run.output);
  results = JSON.parse(readFileSync(join(run.out, "results.json"), "utf8")) as RunOutcome;
}, limitMs);

afterAll(async () => {
  await run[Symbol.asyncDispose]();
});

describe("the smoke run of the built CLI", () => {
  it("ends with 0 and has nothing running or lying about", () => {
    expect({ ...exit, output: run.output }).toMatchObject({ code: 0, signal: null });
    expect(run.left()).toEqual([]);
  });

  it("has run everything of the tag, and each came out as expected", () => {
    const outcomes = results.outcomes.map(({ scenario, outcome }) => `${scenario.id} ${outcome}`);
    expect(outcomes).toEqual(smoke.map((id) => `${id} as-expected`));
    expect(smoke.length).toBeGreaterThanOrEqual(10);
  });

  it("has convicted those that must be, and no other", () => {
    for (const { scenario, results: verdicts } of results.outcomes) {
      const convicted = verdicts
        .filter(({ verdict }) => verdict === "violation")
        .map(({ checker }) => checker);
      const { violation = [], report = [] } = scenario.expect;
      expect(convicted, scenario.id).toEqual(expect.arrayContaining([...violation]));
      const allowed: readonly string[] = [...violation, ...report];
      expect(
        convicted.filter((checker) => !allowed.includes(checker)),
        scenario.id,
      ).toEqual([]);
    }
  });

  it("shows of every planned fault in the history that it happened", async () => {
    let shown = 0;
    for (const { scenario, plan } of results.outcomes) {
      if (scenario.topology.kind === "none") continue;
      const history = await readHistory(join(run.out, scenario.id, "history.jsonl"));
      for (const { fault } of plan) {
        const happened = history.faults.filter(({ name }) => name === fault);
        expect(happened.length, `${scenario.id} ${fault}`).toBeGreaterThan(0);
        for (const { evident, from, to } of happened) {
          expect(evident, `${scenario.id} ${fault}`).toBe(true);
          expect(to).toBeGreaterThanOrEqual(from);
          shown += 1;
        }
      }
    }
    expect(shown).toBeGreaterThanOrEqual(10);
  });

  it("writes a JUnit file with a case for each, none of them failed or skipped", () => {
    const xml = readFileSync(join(run.out, "junit.xml"), "utf8");
    const cases = [...xml.matchAll(/<testcase [^>]*name="([^" ]+)/g)].map(([, id]) => id);
    expect(cases.toSorted()).toEqual(smoke.toSorted());
    expect(xml).not.toMatch(/<(failure|error|skipped)/);
  });

  it("writes a timeline for each history that was kept", () => {
    for (const { scenario } of results.outcomes) {
      if (scenario.topology.kind === "none") continue;
      expect(readFileSync(join(run.out, scenario.id, "timeline.html"), "utf8")).toContain("<!doctype html>");
    }
  });
});
