import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { checkerNames } from "../../src/checkers/judge.js";
import { mutants } from "../../src/mutants/catalogue.js";
import { mutantsCommand } from "../../src/mutants/mutants-command.js";
import { mutantsMarkdown } from "../../src/mutants/table.js";
import { unaligned } from "../unaligned.js";

it("there are at least ten mutants, each with a name of its own and checkers that exist", () => {
  expect(mutants.length).toBeGreaterThanOrEqual(10);
  expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length);
  for (const { id, convicts, find, replace } of mutants) {
    expect(checkerNames, id).toEqual(expect.arrayContaining([...convicts]));
    expect(replace, id).not.toBe(find);
  }
});

it("what must convict a mutant must pass without it", () => {
  for (const { id, convicts, scenario } of mutants)
    expect(scenario.expect.pass, id).toEqual(expect.arrayContaining([...convicts]));
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
