import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { checklist } from "./checklist.js";

const folder = new URL("../scripts/", import.meta.url);

/** For each line number: how many tests have it in their own title or in the title of their group. */
async function tested(): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>();
  const files = (await readdir(folder)).filter((name) => /^checklist.*\.server\.test\.ts$/.test(name));
  for (const file of files) {
    let group: string | undefined;
    for (const line of (await readFile(new URL(file, folder), "utf8")).split("\n")) {
      const begun = /^describe\("(?:layout (\d+): )?/.exec(line);
      if (begun !== null) group = begun[1];
      if (/^\}\);/.test(line)) group = undefined;
      const [is, own] = /^\s*test(?:\.each)?\((?:"layout (\d+): )?/.exec(line) ?? [];
      const number = own ?? group;
      if (is === undefined || number === undefined) continue;
      found.set(Number(number), (found.get(Number(number)) ?? 0) + 1);
    }
  }
  return found;
}

test("every line of the checklist has a test under its number, and no number is made up", async () => {
  const counts = await tested();
  const told = Object.entries(checklist).map(
    ([number, what]) => `${number} ${what}: ${counts.get(Number(number)) ?? 0}`,
  );
  console.log(`layout checklist, tests of each line:\n${told.join("\n")}`);
  expect(told.filter((line) => line.endsWith(": 0"))).toEqual([]);
  expect([...counts.keys()].filter((number) => checklist[number] === undefined)).toEqual([]);
});
