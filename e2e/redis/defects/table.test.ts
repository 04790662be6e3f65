import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const text = readFileSync(join(root, "packages/redis-recipes/docs/known-defects.md"), "utf8");

interface Row {
  readonly number: number;
  readonly topic: string;
  readonly verdict: string;
  readonly shown: readonly { readonly file: string; readonly title: string }[];
  readonly why: string;
}

const rows: readonly Row[] = text
  .split("\n")
  .filter((line) => /^\| \d/.test(line))
  .map((line) => {
    const [number = "", topic = "", here = "", why = ""] = line
      .slice(1, -1)
      .split(" | ")
      .map((cell) => cell.trim());
    const shown = [...line.matchAll(/`([^`]+\.test\.ts)`: "([^"]+)"/g)].map(([, file = "", title = ""]) => ({
      file,
      title,
    }));
    return {
      number: Number(number),
      topic,
      verdict: /^(ruled out|detected|documented)\b/.exec(here)?.[1] ?? here,
      shown,
      why,
    };
  });

/**
 * Whether the title belongs to a test that runs: it stands behind `it(`, `test(` or the brackets of `each`, and is not skipped.
 */
function hasTest(file: string, title: string): boolean {
  const source = readFileSync(join(root, file), "utf8").replace(/^\s*\/\/.*$/gm, "");
  const at = source.indexOf(`"${title}"`);
  if (at === -1) return false;
  const before = source.slice(0, at).trimEnd();
  return before.endsWith("(") && !/\.(skip|todo|skipIf|runIf|fails)\b[^;]*$/.test(before.slice(-200));
}

describe("the table of known defects", () => {
  it("has the numbers 1 to 44, each once", () => {
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 44 }, (_, i) => i + 1));
  });

  it("says of each what is done about it, and where that is shown or why it cannot be", () => {
    for (const { number, topic, verdict, why } of rows) {
      expect({ number, verdict: ["ruled out", "detected", "documented"].includes(verdict) }).toEqual({
        number,
        verdict: true,
      });
      expect(topic.length).toBeGreaterThan(10);
      expect(why.length).toBeGreaterThan(10);
    }
  });

  it("names a test for everything that is ruled out or detected", () => {
    const bare = rows.filter(({ verdict, shown }) => verdict !== "documented" && shown.length === 0);
    expect(bare.map(({ number }) => number)).toEqual([]);
  });

  it("names only tests that are there", () => {
    const missing = rows.flatMap(({ number, shown }) =>
      shown
        .filter(({ file, title }) => !existsSync(join(root, file)) || !hasTest(file, title))
        .map(({ file, title }) => `${number}: ${file}: ${title}`),
    );
    expect(missing).toEqual([]);
  });

  it("names tests that carry the number, where they are about the defect alone", () => {
    const wrong = rows.flatMap(({ number, shown }) =>
      shown
        .filter(({ title }) => title.startsWith("defect ") && !title.startsWith(`defect ${number}: `))
        .map(({ title }) => `${number}: ${title}`),
    );
    expect(wrong).toEqual([]);
  });
});
