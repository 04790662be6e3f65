import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { mutants } from "../../src/mutants/catalogue.js";
import { mutantsCommand } from "../../src/mutants/mutants-command.js";
import { Progress, progressFile } from "../../src/mutants/progress.js";
import { mutantsMarkdown } from "../../src/mutants/table.js";
import { catalogue } from "../../src/scenarios/catalogue.js";
import { unaligned } from "../unaligned.js";

const convicted = mutants.filter(({ survives }) => survives === undefined);

it("there are at least 36 mutants, each with a name of its own, and of ten at least eight are convicted", () => {
  expect(mutants.length).toBeGreaterThanOrEqual(36);
  expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length);
  expect(convicted.length / mutants.length).toBeGreaterThanOrEqual(0.8);
  for (const { id, find, replace } of mutants) expect(replace, id).not.toBe(find);
});

it("what must convict a mutant must pass without it, in scenarios of the catalogue", () => {
  for (const { id, convicts, scenarios } of mutants) {
    for (const scenario of scenarios) {
      const { pass, figures = {} } = catalogue.find((each) => each.id === scenario)?.expect ?? { pass: [] };
      const judged = [...pass, ...Object.keys(figures).map((figure) => figure.split(".")[0])];
      expect(judged, `${id} in ${scenario}`).toEqual(expect.arrayContaining([...convicts]));
    }
  }
});

it("a mutant is convicted by a checker, or it is said why not", () => {
  for (const { id, convicts, survives } of mutants)
    expect(convicts.length > 0, id).toBe(survives === undefined);
});

it("docs/mutants.md lists the mutants of today (HOLDFAST_WRITE_DOCS=1 writes it)", () => {
  const at = new URL("../../docs/mutants.md", import.meta.url);
  const shouldBe = mutantsMarkdown(mutants);
  if (process.env.HOLDFAST_WRITE_DOCS === "1") writeFileSync(at, shouldBe);
  expect(unaligned(readFileSync(at, "utf8"))).toBe(unaligned(shouldBe));
});

it("lists what there is, and refuses what there is not", async () => {
  const lines: string[] = [];
  const out = (line: string): number => lines.push(line);
  expect(await mutantsCommand(["--list"], out)).toBe(0);
  expect(lines.length).toBe(mutants.length);
  await expect(mutantsCommand(["no-such"], out)).rejects.toThrow('there is no mutant "no-such"');
  await expect(mutantsCommand(["--seed", "x", "zk-wrong-neighbour"], out)).rejects.toThrow("--seed");
});

it("goes on where an interrupted run was: what is known is not run again, by seed and by what was built", () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-progress-"));
  try {
    const outcome = { outcome: "violation", convictedBy: ["mutex"], why: "two holders" } as const;
    const first = new Progress(folder, 7);
    expect(first.verdict("a", "text")).toBeNull();
    first.add("a", "text", outcome);
    // The last line of a run that was killed while it wrote this line.
    appendFileSync(progressFile(folder), '{"of":"b","seed":7,"te');
    const again = new Progress(folder, 7);
    expect(again.verdict("a", "text")).toMatchObject({ convictedBy: ["mutex"], why: "two holders" });
    expect(again.verdict("a", "another text")).toBeNull();
    expect(again.verdict("b", "text")).toBeNull();
    again.add("b", "text", outcome);
    expect(new Progress(folder, 7).verdict("b", "text")?.outcome).toBe("violation");
    expect(new Progress(folder, 8).verdict("a", "text")).toBeNull();
    for (const outcome of ["broken", "unknown"] as const) {
      const verdict = { outcome, convictedBy: [], why: "no server" };
      expect(again.add("c", "text", verdict)).toBe(verdict);
      expect(again.verdict("c", "text")).toBeNull();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
