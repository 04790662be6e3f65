import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const unclear = /\b(?:some|no|any)body\b|\bwhoever\b|\bwhomever\b|\btold\b/i;
/** Matches texts in quotes and between tags. Comments are removed before. */
const texts = /"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|>[^<>{}`"]*</g;

async function unclearIn(folder: string): Promise<string[]> {
  const root = fileURLToPath(new URL(folder, import.meta.url));
  const names = (await readdir(root, { recursive: true })).filter((name) => /\.tsx?$/.test(name));
  expect(names.length).toBeGreaterThan(20);
  const found = await Promise.all(
    names.map(async (name) => {
      const code = (await readFile(join(root, name), "utf8"))
        .replace(/\/\*[\s\S]*?\*\//g, "")
        .replace(/(^|\s)\/\/.*$/gm, "");
      const shown = code.replace(/\$\{[^{}`]*\}/g, "").match(texts) ?? [];
      return shown.filter((text) => / /.test(text) && unclear.test(text)).map((text) => `${name}: ${text}`);
    }),
  );
  return found.flat();
}

it.each(["../../page/src", "../../src", "../../../../packages/collectors/src"])(
  "texts that users read name roles and things, never an unknown body, in %s",
  async (folder) => {
    expect(await unclearIn(folder)).toEqual([]);
  },
);
