import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";

const root = new URL("../../../../", import.meta.url);

it("the readme says of each of D1 to D19 how it is met, and the tests that it names exist", async () => {
  const readme = await readFile(new URL("packages/multi-lock/README.md", root), "utf8");
  const rows = [...readme.matchAll(/^\| (D\d+) +\|.*\|(.*)\|$/gm)].map(([, id, shown]) => ({ id, shown }));
  expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 19 }, (_, index) => `D${index + 1}`));
  const missing: string[] = [];
  let found = 0;
  for (const { id, shown = "" } of rows) {
    const parts = [...shown.matchAll(/`([^`]+\.test\.ts)`: ((?:"[^"]+"(?:, )?)+)/g)];
    if (parts.length === 0) missing.push(`${id} names no test`);
    for (const [, file = "", titles = ""] of parts) {
      const source = await readFile(new URL(file, root), "utf8");
      for (const [, title = ""] of titles.matchAll(/"([^"]+)"/g)) {
        if (source.includes(title)) found++;
        else missing.push(`${id}: ${file} has no "${title}"`);
      }
    }
  }
  expect(missing).toEqual([]);
  expect(found).toBeGreaterThan(20);
});
