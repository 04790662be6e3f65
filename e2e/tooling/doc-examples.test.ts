import { describe, expect, it } from "vitest";
import { compilerErrors, examplesIn, publishedExamples } from "./support/doc-examples.js";

describe("examples in the comments of published packages", () => {
  it("each compiles in strict mode, and one that calls what is not there is named by its file and line", async () => {
    const examples = await publishedExamples();
    expect(examples.map(({ file }) => file)).toContain("packages/core/src/api/acquiring.ts");
    const withoutCode = examples.filter(({ code }) => code === null);
    expect(withoutCode.map(({ file, line }) => `${file}:${line}`)).toEqual([]);
    const wrong = { file: "packages/core/src/wrong.ts", line: 4, code: 'await locks.mutex("a").aquire();\n' };
    expect(await compilerErrors([...examples, wrong])).toEqual([
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
