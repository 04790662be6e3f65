import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { buildPackages } from "../support/process/emit.js";
import { compilerErrors, examplesIn, examplesInPage, publishedExamples } from "./support/doc-examples.js";
import { allPages } from "./support/pages.js";

const inPages = allPages.flatMap(({ path, url }) => examplesInPage(path, readFileSync(url, "utf8")));

beforeAll(() => buildPackages("@holdfast/*"), 180_000);

describe("examples in the comments of published packages and in pages", () => {
  // One compiler run for all examples: most of its time goes into the declarations that they share.
  it("each compiles in strict mode or says why it is a fragment, and one that calls what is not there is named by its file and line", async () => {
    const examples = await publishedExamples();
    expect(examples.map(({ file }) => file)).toContain("packages/core/src/api/acquiring.ts");
    const withoutCode = examples.filter(({ code }) => code === null);
    expect(withoutCode.map(({ file, line }) => `${file}:${line}`)).toEqual([]);
    expect(inPages.map(({ file }) => file)).toEqual(
      expect.arrayContaining(["README.md", "README.zh-CN.md", "docs/cookbook.md"]),
    );
    const whole = inPages.filter(({ fragment }) => fragment === null);
    expect(whole.length).toBeGreaterThan(30);
    const wrong = { file: "packages/core/src/wrong.ts", line: 4, code: 'await locks.mutex("a").aquire();\n' };
    expect(await compilerErrors([...examples, ...whole, wrong])).toEqual([
      expect.stringMatching(/^packages\.core\.src\.wrong\.line-4\.mts\(2,24\): error TS2551: .*'aquire'/),
    ]);
  });

  it("each of several in one comment is found, and one without a block of TypeScript too", () => {
    const text = [
      "/**",
      " * Calls two functions.",
      " *",
      " * @example",
      " * Call it twice.",
      " * @example",
      " * ```ts",
      " * a();",
      " *",
      " * b();",
      " * ```",
      " */",
      "export function a(): void {}",
      "",
    ].join("\n");
    expect(examplesIn("a.ts", text)).toEqual([
      { file: "a.ts", line: 4, code: null },
      { file: "a.ts", line: 6, code: "a();\n\nb();\n" },
    ]);
  });
});

describe("blocks of code in a page", () => {
  it("are found with their line, without the indent of a list, and with the reason of a fragment", () => {
    const text =
      "1. So:\n\n   ```js\n   a();\n     b();\n   ```\n\n```ts fragment: c is yours\nc();\n```\n```sh\nd\n```\n";
    expect(examplesInPage("a.md", text)).toEqual([
      { file: "a.md", line: 3, code: "a();\n  b();\n", fragment: null },
      { file: "a.md", line: 8, code: "c();\n", fragment: "c is yours" },
    ]);
  });
});
