import { describe, expect, it } from "vitest";
import { main } from "../../src/cli/main.js";
import { exitOf } from "../../src/cli/run-command.js";
import { readRunArguments } from "../../src/cli/run-options.js";
import { catalogue } from "../../src/scenarios/catalogue.js";

const read = (...args: string[]) => readRunArguments(args, () => 99);

async function ran(...argv: string[]): Promise<{ code: number; text: string }> {
  const lines: string[] = [];
  const code = await main(argv, (line) => lines.push(line));
  return { code, text: lines.join("\n") };
}

describe("arguments of run", () => {
  it("without any choose the full set with a fresh seed, and keep what failed", () => {
    expect(read()).toMatchObject({
      seed: 99,
      keep: "failed",
      jobs: 1,
      network: "auto",
      shrink: false,
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
      shrink: true,
    });
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
  ])("with %s end with 254 before anything runs", async (_, args) => {
    const { code, text } = await ran("run", ...args);
    expect(code).toBe(254);
    expect(text).toContain("holdfast-chaos run --help");
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

describe("the exit code", () => {
  it("is that of the worst outcome, and skipping is no failure", () => {
    expect(exitOf(["as-expected", "skipped"])).toBe(0);
    expect(exitOf(["as-expected", "unknown"])).toBe(2);
    expect(exitOf(["unknown", "not-demonstrated"])).toBe(1);
    expect(exitOf(["unknown", "violation"])).toBe(1);
    expect(exitOf(["violation", "broken"])).toBe(255);
  });
});
