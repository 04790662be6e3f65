// Collects the examples in comments of published packages and in pages, as files that a compiler can check. Names that an example
// uses without declaring them are declared in scripts/consumers/surroundings.d.ts, as for the examples of the readmes.
import { spawnSync } from "node:child_process";
import { copyFile, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { published } from "../../../scripts/pack.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));

export interface DocExample {
  /** Relative to the root of the repository. */
  readonly file: string;
  /** The line of the tag `@example`, from 1. */
  readonly line: number;
  /** `null` if no block of TypeScript follows the tag. */
  readonly code: string | null;
}

/** Each `@example` in the text of a source file. */
export function examplesIn(file: string, text: string): DocExample[] {
  return [...text.matchAll(/^ *\* @example\b.*\n((?: *\*(?!\/| @).*\n)*)/gm)].map((match) => {
    const comment = (match[1] ?? "").replace(/^ *\* ?/gm, "");
    return {
      file,
      line: text.slice(0, match.index).split("\n").length,
      code: /^```ts\n([\s\S]*?)^```$/m.exec(comment)?.[1] ?? null,
    };
  });
}

/** A block of JavaScript or TypeScript in a page. */
export interface PageExample extends DocExample {
  readonly code: string;
  /** The reason why it is not compiled, from its fence: "ts fragment: the program has the rest". `null` if it is compiled. */
  readonly fragment: string | null;
}

/** Each block of JavaScript or TypeScript in the text of a page. */
export function examplesInPage(file: string, text: string): PageExample[] {
  const blocks = /^( *)```(?:ts|js|mts|mjs|typescript|javascript)\b(?: fragment: (.+))?\n([\s\S]*?)^ *```$/gm;
  return [...text.matchAll(blocks)].map(({ index, 1: indent = "", 2: fragment, 3: code = "" }) => ({
    file,
    line: text.slice(0, index).split("\n").length,
    code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    fragment: fragment ?? null,
  }));
}

/** Each `@example` in the sources of all published packages. */
export async function publishedExamples(): Promise<DocExample[]> {
  const found: DocExample[] = [];
  for (const { folder } of await published()) {
    const source = join(folder, "src");
    const files = await readdir(join(root, source), { recursive: true });
    for (const file of files.filter((each) => each.endsWith(".ts")).sort()) {
      const path = join(source, file);
      found.push(...examplesIn(path, await readFile(join(root, path), "utf8")));
    }
  }
  return found;
}

/** Declarations of names that examples without imports use. */
const withoutImports = `
declare const memoryLocks: typeof import("@holdfast/core").memoryLocks;
declare class Shop {
  constructor(locks: import("@holdfast/core").LockProvider);
  sell(what: string): Promise<void>;
}
`;

/**
 * The errors of a strict compiler in the examples, each with the example's file and line. Imports resolve to the built packages.
 */
export async function compilerErrors(examples: readonly DocExample[]): Promise<string[]> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "holdfast-examples-"));
  try {
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    await copyFile(join(root, "scripts/consumers/surroundings.d.ts"), join(folder, "surroundings.d.ts"));
    await writeFile(join(folder, "without-imports.d.ts"), withoutImports);
    const files = ["surroundings.d.ts", "without-imports.d.ts"];
    for (const { file, line, code } of examples) {
      const name = `${file.replace(/\.(ts|md)$/, "").replaceAll("/", ".")}.line-${line}.mts`;
      await writeFile(join(folder, name), `export {};\n${code}`);
      files.push(name);
    }
    const config = {
      extends: join(root, "tsconfig.base.json"),
      compilerOptions: {
        noEmit: true,
        // As for the readmes: an example uses the first element of a list without checking that it exists.
        noUncheckedIndexedAccess: false,
        noUnusedLocals: false,
        noUnusedParameters: false,
      },
      files,
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(root, "node_modules/.bin/tsc");
    const { status, stdout } = spawnSync(tsc, ["-p", folder, "--checkers", "1", "--pretty", "false"], {
      cwd: folder,
      encoding: "utf8",
      timeout: 60_000,
      killSignal: "SIGKILL",
    });
    if (status === null) throw new Error("the compiler did not start, or took more than a minute");
    return stdout.split("\n").filter((line) => line !== "");
  } finally {
    await rm(folder, { recursive: true });
  }
}
