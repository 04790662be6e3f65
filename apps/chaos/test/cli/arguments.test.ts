import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { main } from "../../src/cli/main.js";
import { exitOf } from "../../src/cli/run-command.js";
import { readRunArguments } from "../../src/cli/run-options.js";
import { drawPlan, planFile, writePlan } from "../../src/engine/plan.js";
import type { Scenario } from "../../src/engine/scenario.js";
import { catalogue } from "../../src/scenarios/catalogue.js";
import { importScenarios } from "../../src/scenarios/define-scenarios.js";

const read = (...args: string[]) => readRunArguments(args, () => 99);

async function ran(...argv: string[]): Promise<{ code: number; text: string }> {
  const lines: string[] = [];
  const code = await main(argv, (line) => lines.push(line));
  return { code, text: lines.join("\n") };
}

describe("the command itself", () => {
  it.each(["--help", "-h", "help"])("tells its commands for %s", async (option) => {
    const { code, text } = await ran(option);
    expect(code).toBe(0);
    expect(text).toContain("Usage: holdfast-chaos <command>");
  });

  it.each(["list", "doctor", "run", "check", "report", "mutants", "attack"])(
    "tells about %s for -h",
    async (name) => {
      expect(await ran(name, "-h")).toEqual(await ran(name, "--help"));
      expect((await ran(name, "-h")).code).toBe(0);
    },
  );

  it("tells its version, and nothing else", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(await ran("--version")).toEqual({ code: 0, text: version });
  });
});

describe("arguments of run", () => {
  it("without any choose the full set with a fresh seed, and keep what failed", () => {
    expect(read()).toMatchObject({
      seed: 99,
      keep: "failed",
      jobs: 1,
      network: "auto",
      shrink: "drawn",
      shrinkBudgetMs: 600_000,
      plan: null,
    });
    expect(read()?.scenarios).toEqual(catalogue.filter(({ tags }) => tags.includes("full")));
    expect(read()?.out).toMatch(/chaos-results\/\d{8}-\d{6}-99$/);
  });

  it("are read each", () => {
    const wanted = read(
      "Z06",
      "Z01",
      "--seed",
      "7",
      "--time-budget",
      "2m",
      "--jobs",
      "2",
      "--keep",
      "always",
      "--network",
      "proxy",
      "--require",
      "java,redis",
      "--require",
      "sentinel",
      "--out",
      "/tmp/x",
      "--shrink",
    );
    expect(wanted?.scenarios.map(({ id }) => id)).toEqual(["Z01", "Z06"]);
    expect(wanted).toMatchObject({
      seed: 7,
      timeBudgetMs: 120_000,
      jobs: 2,
      keep: "always",
      network: "proxy",
      require: ["java", "redis", "sentinel"],
      out: "/tmp/x",
      shrink: "all",
    });
  });

  it("--seconds draws a longer plan, whose beginning is the same", () => {
    const wanted = read("S02-zk", "--seed", "7", "--seconds", "300");
    const [scenario] = wanted?.scenarios ?? [];
    expect(scenario?.runMs).toBe(300_000);
    expect(wanted?.which).toBe("--seed 7 --seconds 300");
    expect(() => read("S02-zk", "Z01", "--seconds", "60")).toThrow("whose faults are drawn; not Z01");
    expect(drawPlan(scenario as Scenario, 7).length).toBeGreaterThan(60);
  });

  it("say which run it was, with the client that was judged and what was expected of it", () => {
    const args = ["--client", "./my lock.mjs", "--expect", "belief,no-damage", "--expect", "handover"];
    expect(read("R03", "--seed", "7", ...args)?.which).toBe(
      "--seed 7 --client './my lock.mjs' --expect belief,no-damage --expect handover",
    );
  });

  it("--faults runs only these, with their numbers, and no longer than they take", () => {
    const [whole] = read("S02-zk", "--seed", "7")?.scenarios ?? [];
    const drawn = drawPlan(whole as Scenario, 7);
    const wanted = read("S02-zk", "--seed", "7", "--faults", "9,3");
    expect(wanted?.plan?.plan.map(({ number, fault }) => [number, fault])).toEqual([
      [3, drawn[2]?.fault],
      [9, drawn[8]?.fault],
    ]);
    expect(wanted?.scenarios[0]?.runMs).toBeLessThan(60_000);
    expect(wanted?.faults).toEqual([9, 3]);
  });

  it("--plan brings seed, time and crew of the run that wrote it, and --faults chooses from it", () => {
    const folder = mkdtempSync(join(tmpdir(), "arguments-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "plan.json");
    const scenario = catalogue.find(({ id }) => id === "S02-zk") as Scenario;
    const longer = {
      ...scenario,
      runMs: 90_000,
      groups: scenario.groups.map((group) => ({ ...group, count: 2 })),
    };
    const plan = drawPlan(longer, 5);
    writePlan(path, planFile(longer, 5, plan));
    const wanted = read("--plan", path);
    expect(wanted).toMatchObject({ seed: 5, which: `--plan ${path}`, plan: { plan } });
    expect(wanted?.scenarios[0]).toMatchObject({ runMs: 90_000, groups: [{ count: 2 }] });
    expect(read("--plan", path, "--faults", "2")?.plan?.plan).toMatchObject([{ number: 2 }]);
    expect(() => read("--plan", path, "--seconds", "90")).toThrow("--plan says");
    writePlan(path, { ...planFile(longer, 5, plan), workers: { nobody: 2 } });
    expect(() => read("--plan", path)).toThrow("has no workers nobody");
    writePlan(path, { ...planFile(longer, 5, plan), workers: { w: 0 } });
    expect(() => read("--plan", path)).toThrow("not a number of workers");
  });

  it("--shrink is for all, --no-shrink for none, and without either it is for drawn faults", () => {
    expect(read("--shrink")?.shrink).toBe("all");
    expect(read("--no-shrink")?.shrink).toBe("none");
    expect(read("--shrink-budget", "90s")?.shrinkBudgetMs).toBe(90_000);
  });

  it.each([
    ["an unknown option", ["--sed", "1"]],
    ["an unknown scenario", ["Z99"]],
    ["an unknown tag", ["--tag", "some"]],
    ["ids and a tag", ["Z01", "--tag", "smoke"]],
    ["a seed that is no number", ["--seed", "x"]],
    ["no jobs", ["--jobs", "0"]],
    ["a budget without a unit", ["--time-budget", "10"]],
    ["a network that is none", ["--network", "wifi"]],
    ["a capability that is none", ["--require", "magic"]],
    ["what to keep that is nothing", ["--keep", "some"]],
    ["a plan that is not there", ["--plan", "/nowhere/plan.json"]],
    ["seconds for a scenario that takes what it takes", ["Z01", "--seconds", "60"]],
    ["too few seconds", ["S02-zk", "--seconds", "59"]],
    ["too many seconds", ["S02-zk", "--seconds", "601"]],
    ["faults of several scenarios", ["S02-zk", "S02-redis", "--faults", "1"]],
    ["a fault that the plan does not have", ["S02-zk", "--seed", "1", "--faults", "1,999"]],
    ["a fault that is no number", ["S02-zk", "--faults", "1,x"]],
    ["a budget for shrinking without a unit", ["--shrink-budget", "10"]],
  ])("with %s end with 254 before anything runs", async (_, args) => {
    const { code, text } = await ran("run", ...args);
    expect(code).toBe(254);
    expect(text).toContain("holdfast-chaos run --help");
  });
});

describe("a worker that is to be judged", () => {
  it("is refused where no scenario can say what is expected of it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "arguments-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const about = JSON.stringify({ say: "about", provides: { kinds: ["mutex"], servers: ["zookeeper"] } });
    const file = join(folder, "worker.cjs");
    writeFileSync(file, `console.log(${JSON.stringify(about)}); setInterval(() => {}, 1_000);`);
    const worker = `${process.execPath} ${file}`;
    const { code, text } = await ran("run", "Z01", "--worker", worker, "--expect", "leaks", "--out", folder);
    expect(text).toContain("--expect leaks cannot be judged");
    expect(code).toBe(254);
  });
});

describe("the command line", () => {
  it("tells what there is, for itself and each command", async () => {
    expect((await ran()).code).toBe(254);
    expect((await ran("--help")).code).toBe(0);
    for (const command of ["list", "doctor", "run", "check", "report"]) {
      const { code, text } = await ran(command, "--help");
      expect([command, code]).toEqual([command, 0]);
      expect(text).toContain(`holdfast-chaos ${command}`);
    }
    expect((await ran("break")).code).toBe(254);
    expect((await ran("list", "--all")).code).toBe(254);
  });

  it("lists scenarios for people and for programs", async () => {
    const { text } = await ran("list", "--tag", "smoke", "--json");
    const listed = JSON.parse(text) as { id: string; needs: string[] }[];
    expect(listed.map(({ id }) => id)).toEqual(
      catalogue.filter(({ tags }) => tags.includes("smoke")).map(({ id }) => id),
    );
    expect(listed.find(({ id }) => id === "Z01")?.needs).toEqual(["java", "zookeeper"]);
    expect((await ran("list", "Z03")).text).toMatch(/^Z03 .*must convict: lost-update/);
  });
});

describe("what was asked for by name", () => {
  const service = ["--service", "node s.js", "--key", "k", "--lease-ms", "5000"];

  it("is a service or a client too: a run that skips all of it is no success", () => {
    expect(read(...service)?.named).toBe(true);
    expect(read("--worker", "python3 w.py", "--tag", "smoke")?.named).toBe(true);
    expect(read("--tag", "smoke")?.named).toBe(false);
  });

  it("is at least one scenario", () => {
    expect(() => read(...service, "--tag", "smoke")).toThrow("no scenario has the tag smoke");
  });
});

describe("the exit code", () => {
  it("is that of the worst outcome, and skipping is no failure", () => {
    expect(exitOf(["as-expected", "skipped"])).toBe(0);
    expect(exitOf(["as-expected", "unknown"])).toBe(2);
    expect(exitOf(["unknown", "not-demonstrated"])).toBe(1);
    expect(exitOf(["unknown", "violation"])).toBe(1);
    expect(exitOf(["violation", "broken"])).toBe(255);
  });
});

it("a scenario file is refused whose servers run cannot start", async () => {
  const folder = mkdtempSync(join(tmpdir(), "scenarios-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "mine.mjs");
  const topology = { kind: "other", name: "x" };
  const about = {
    id: "A",
    title: "",
    tags: [],
    topology,
    keys: {},
    groups: [],
    runMs: 0,
    faults: [],
    mode: "",
  };
  writeFileSync(
    file,
    `export default [{ ...${JSON.stringify(about)}, expect: { pass: [] }, plan: () => [] }];`,
  );
  await expect(importScenarios(file)).rejects.toThrow(
    "scenario A needs servers of kind other; run starts none,",
  );
});
