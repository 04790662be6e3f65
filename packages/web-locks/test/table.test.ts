import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

it("each test that the table of the standard names is there", () => {
  const titles = [...read("../docs/standard.md").matchAll(/^\| .* \| (.*?) +\|$/gm)]
    .map(([, title = ""]) => title)
    .filter((title) => !/^(test|-+|does not apply.*)$/.test(title));
  expect(titles.length).toBeGreaterThan(15);
  const tests = read("./standard.ts");
  for (const title of titles) for (const part of title.split(" … ")) expect(tests, title).toContain(part);
});
