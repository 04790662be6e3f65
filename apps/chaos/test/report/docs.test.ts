import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { main } from "../../src/cli/main.js";
import { catalogueMarkdown, guaranteesMarkdown } from "../../src/report/summary.js";
import { catalogue } from "../../src/scenarios/catalogue.js";
import { unaligned } from "../unaligned.js";

const at = (path: string): URL => new URL(`../../${path}`, import.meta.url);

/** The text of a document, and what it should be. `HOLDFAST_WRITE_DOCS=1` writes the second text to the file. */
function document(path: string, made: (text: string) => string): { is: string; shouldBe: string } {
  const read = (): string => {
    try {
      return readFileSync(at(path), "utf8");
    } catch {
      return "";
    }
  };
  const shouldBe = made(read());
  if (process.env.HOLDFAST_WRITE_DOCS === "1") writeFileSync(at(path), shouldBe);
  return { is: read(), shouldBe };
}

it("README.md has the catalogue of today (HOLDFAST_WRITE_DOCS=1 writes it)", () => {
  const [begin, end] = ["<!-- scenarios:", "<!-- end of scenarios -->"];
  const { is, shouldBe } = document("README.md", (text) => {
    const [head = "", rest = ""] = text.split(begin);
    const comment = rest.slice(0, rest.indexOf("\n"));
    const tail = text.slice(text.indexOf(end));
    return `${head}${begin}${comment}\n\n${catalogueMarkdown(catalogue)}\n${tail}`;
  });
  expect(unaligned(is)).toBe(unaligned(shouldBe));
});

it("docs/guarantees.md says what the catalogue of today expects (HOLDFAST_WRITE_DOCS=1 writes it)", () => {
  const { is, shouldBe } = document("docs/guarantees.md", () => guaranteesMarkdown(catalogue));
  expect(unaligned(is)).toBe(unaligned(shouldBe));
});

it("README.md names every command and option of run that there is", async () => {
  const readme = readFileSync(at("README.md"), "utf8");
  const lines: string[] = [];
  for (const args of [["--help"], ["run", "--help"]])
    expect(await main(args, (line) => lines.push(line))).toBe(0);
  const help = lines.join("\n");
  const commands = [...help.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name = ""]) => name);
  const options = [...help.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name = ""]) => name);
  expect(commands.length).toBeGreaterThan(4);
  expect(options.length).toBeGreaterThan(5);
  for (const name of [...commands, ...options]) expect(readme, name).toContain(`\`${name}`);
});

interface Step {
  readonly name?: string;
  readonly run?: string;
  readonly uses?: string;
  readonly if?: string;
}

it("the workflow to copy runs options that there are, pins what it uses, and keeps the reports of a red run", async () => {
  const text = readFileSync(at("workflows/chaos.yml"), "utf8");
  const { jobs, permissions } = parse(text) as {
    jobs: Record<string, { steps: Step[] }>;
    permissions: Record<string, string>;
  };
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  expect(permissions).toEqual({ contents: "read" });
  for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
  const lines: string[] = [];
  await main(["run", "--help"], (line) => lines.push(line));
  const runs = steps.flatMap(({ run }) => (run?.includes("holdfast-chaos run") ? [run] : []));
  expect(runs).toHaveLength(3);
  // Faults are drawn whatever the result of the full set was, with a fresh seed unless a seed is given.
  const drawn = steps.find(({ run }) => run?.includes("--tag nightly"));
  expect(drawn?.if).toContain("success() || failure()");
  expect(drawn?.if).toContain("schedule");
  expect(drawn?.run).toMatch(/\$\{SEED:\+--seed "\$SEED"\}/);
  for (const run of runs) {
    expect(run).toContain("--require");
    for (const [option] of run.matchAll(/(?<=\s)--(?!no-install)[a-z-]+/g))
      expect(lines.join("\n")).toContain(option);
    // Text that comes with an event must never be put into a script.
    expect(run).not.toContain("${{");
  }
  expect(steps.find(({ uses }) => uses?.startsWith("actions/upload-artifact"))?.if).toBe("always()");
});

it.each(["action.yml", "workflows/gitlab-ci.yml"])(
  "%s ends with the exit code of the run, hands its words on as a shell would, and wants quotes to be closed",
  (file) => {
    const { runs, chaos } = parse(readFileSync(at(file), "utf8")) as {
      runs?: { steps: Step[] };
      chaos?: { script: string[] };
    };
    const text = runs?.steps.find(({ name }) => name === "Run")?.run ?? chaos?.script.join("\n") ?? "";
    // The bash 3.2 and the xargs of macOS do not have these.
    expect(text).not.toMatch(/mapfile|wait|xargs -/);
    const folder = mkdtempSync(join(tmpdir(), "action-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "npx"), '#!/bin/sh\nprintf "%s|" "$@"\nexit 2\n', { mode: 0o755 });
    const ended = (words: string): { status: number | null; stdout: string } => {
      const env = {
        PATH: `${folder}:${process.env.PATH}`,
        RUN: words,
        CHAOS_RUN: words,
        OUT: "chaos-results",
      };
      const args = ["-e", "-o", "pipefail", "-c", text];
      const { status, stdout } = spawnSync("bash", args, { env, encoding: "utf8" });
      return { status, stdout };
    };
    const run = "--no-install|holdfast-chaos|run|--out|chaos-results|";
    expect(ended("R02 --worker 'python3 w.py'")).toEqual({
      status: 2,
      stdout: `${run}R02|--worker|python3 w.py|`,
    });
    expect(ended("")).toEqual({ status: 2, stdout: run });
    expect(ended("R02 --worker 'python3 w.py")).toEqual({
      status: 254,
      stdout: expect.stringContaining("a quote that is not closed"),
    });
  },
);

it("the page of guarantees names only scenarios that a full run has", () => {
  const text = guaranteesMarkdown(catalogue);
  const untagged = catalogue.filter(({ tags }) => tags.length === 0).map(({ id }) => id);
  expect(untagged.length).toBeGreaterThan(0);
  for (const id of untagged) expect(text).not.toMatch(new RegExp(`\\b${id}\\b`));
});

it("the action and the form for GitLab run options that there are, and keep the reports of a red run", async () => {
  const lines: string[] = [];
  await main(["run", "--help"], (line) => lines.push(line));
  const options = (text: string): string[] =>
    [...text.matchAll(/(?<=\s)--(?!no-install|only)[a-z-]+/g)].map(([each]) => each);
  const action = readFileSync(at("action.yml"), "utf8");
  const { inputs, runs } = parse(action) as { inputs: Record<string, object>; runs: { steps: Step[] } };
  expect(Object.keys(inputs)).toEqual(["run", "servers", "out", "artifact"]);
  for (const step of runs.steps) {
    // Text from a user of the action must never be put into a script.
    expect(step.run ?? "").not.toContain("${{");
    if (step.uses !== undefined) expect(step.uses).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
  }
  expect(runs.steps.filter((step) => step.if === "always()")).toHaveLength(2);
  const { chaos } = parse(readFileSync(at("workflows/gitlab-ci.yml"), "utf8")) as {
    chaos: { script: string[]; variables: Record<string, string>; artifacts: Record<string, unknown> };
  };
  expect(chaos.artifacts).toMatchObject({ when: "always", reports: { junit: "chaos-results/junit.xml" } });
  const text = [action, ...chaos.script, ...Object.values(chaos.variables)].join("\n");
  expect(options(text).length).toBeGreaterThan(3);
  for (const option of options(text)) expect(lines.join("\n")).toContain(option);
});
