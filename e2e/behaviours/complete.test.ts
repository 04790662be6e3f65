import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { register } from "./register.js";
import { e2eFolder, numberedTitles, titlesIn } from "./titles.js";

const numbers = Object.keys(register).map(Number);
// Redis has its own list of behaviours.
const titles = numberedTitles((folder) => !["node_modules", "redis", "redlock"].includes(folder));
const shown = new Set(titles.map(({ number }) => number));

/** The folder that will hold what the behaviour is about, while that folder does not exist yet. */
function awaited(number: number): string | undefined {
  const folder = register[number]?.awaits;
  return folder === undefined || existsSync(join(e2eFolder, "..", folder)) ? undefined : folder;
}

const line = (number: number) => `${number}: ${register[number]?.what}`;

describe("the register of behaviours", () => {
  it("has the numbers 1 to 66, each once", () => {
    expect(numbers).toEqual(Array.from({ length: 66 }, (_, i) => i + 1));
  });

  it("has a test for every number that is not excused", () => {
    for (const number of numbers) {
      const { javaOnly } = register[number] ?? {};
      if (javaOnly !== undefined) console.log(`only in Java, of ${line(number)}: ${javaOnly}`);
      const folder = awaited(number);
      if (folder !== undefined) console.log(`waits for ${folder}: ${line(number)}`);
    }
    console.log(`${titles.length} tests show ${shown.size} behaviours`);
    const missing = numbers.filter((number) => !shown.has(number) && awaited(number) === undefined);
    expect(missing.map(line)).toEqual([]);
  });

  it("excuses nothing that has a test", () => {
    const excused = numbers.filter((number) => awaited(number) !== undefined);
    expect(excused.filter((number) => shown.has(number)).map(line)).toEqual([]);
  });

  it("has an entry for every number that a test claims to show", () => {
    expect(titles.filter(({ number }) => register[number] === undefined)).toEqual([]);
  });
});

describe("the search for titles", () => {
  it.each([
    ['it("7: does so", async () => {', [7]],
    ['it(\n  "7: does so",\n', [7]],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    ["test.concurrent(`7: does so with ${x}`, f)", [7]],
    ['it.each([{}, { n: f(1) }])(\n  "7: does so with %j",', [7]],
    ['it.each(rows.map(({ a }) => [a]))("7: does", f); it("8: too", g)', [7, 8]],
    ['["7: does so", f],', [7]],
    ['{ title: "7: does so" }', [7]],
    ['it("7: says \\"so\\"", f)', [7]],
    ['// it("7: does so", f)', []],
    ['/* it("7: does so", f) */', []],
    ['it.skip("7: does so", f)', []],
    ['it.todo("7: does so")', []],
    ['describe.skip("all", () => { it("7: does so", f) })', []],
    ['it.skipIf(slow)("7: does so", f)', []],
    ['console.log("7: does so")', []],
    ['it("takes 7: does so", f)', []],
    ['it("7 does so", f)', []],
  ])("finds in %j: %j", (source, found) => {
    expect(titlesIn(source).map(({ number }) => number)).toEqual(found);
  });
});
