import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the tests. */
export const e2eFolder: string = fileURLToPath(new URL("..", import.meta.url));

/** A title that begins with a number, and the file it is in. */
export interface NumberedTitle {
  readonly number: number;
  readonly title: string;
  readonly file: string;
}

/**
 * Where a title can stand: as the first argument of `it` or `test`, also behind `.each(...)` or `.concurrent`, or as the
 * `title` or the first entry of a row in a table of tests. A test that is skipped, or only planned, shows nothing.
 */
const places = [
  /\b(?:it|test)((?:\.\w+)*)\(\s*(["'`])(\d{1,2}): ((?:(?!\2)[^\\]|\\.)*)\2/g,
  /\b(?:it|test)((?:\.\w+)*\.(?:each|for))\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)\(\s*(["'`])(\d{1,2}): ((?:(?!\2)[^\\]|\\.)*)\2/g,
  /(?:\btitle: |\[)()\s*(["'`])(\d{1,2}): ((?:(?!\2)[^\\]|\\.)*)\2\s*[,}]/g,
];

const off = /\.(?:skip|todo|skipIf|runIf|fails)\b/;
const suiteOff = /\b(?:describe|suite)(?:\.\w+)*\.(?:skip|todo|skipIf|runIf)\b/;

export function titlesIn(source: string): { number: number; title: string }[] {
  const text = withoutComments(source);
  // The code does not check which titles the switched-off suite covers, so none of the file counts until it is on again.
  if (suiteOff.test(text)) return [];
  return places
    .flatMap((place) => [...text.matchAll(place)])
    .filter(([, modifiers = ""]) => !off.test(modifiers))
    .sort((a, b) => a.index - b.index)
    .map(([, , , number, title = ""]) => ({ number: Number(number), title }));
}

/**
 * The numbered titles of all test files in the wanted folders, and of the files in `e2e` that they import. A file that no test
 * imports does not count.
 */
export function numberedTitles(wanted: (folder: string) => boolean): NumberedTitle[] {
  const files = new Set<string>();
  for (const name of readdirSync(e2eFolder, { recursive: true, encoding: "utf8" })) {
    const [folder = "", ...below] = name.split(sep);
    if (wanted(folder) && name.endsWith(".test.ts") && !below.includes("node_modules")) {
      collect(join(e2eFolder, name), files);
    }
  }
  const here = fileURLToPath(new URL("complete.test.ts", import.meta.url));
  files.delete(here);
  return [...files]
    .sort()
    .flatMap((file) =>
      titlesIn(readFileSync(file, "utf8")).map((found) => ({ ...found, file: relative(e2eFolder, file) })),
    );
}

function collect(file: string, files: Set<string>): void {
  if (files.has(file)) return;
  files.add(file);
  for (const [, specifier = ""] of readFileSync(file, "utf8").matchAll(/\bfrom "(\.[^"]+)\.js"/g)) {
    const imported = join(dirname(file), `${specifier}.ts`);
    if (imported.startsWith(e2eFolder) && existsSync(imported)) collect(imported, files);
  }
}

/** Removes line comments and block comments that begin a line. A title could be commented out only with these. */
function withoutComments(source: string): string {
  return source.replace(/^[ \t]*\/\/.*$/gm, "").replace(/^[ \t]*\/\*[\s\S]*?\*\//gm, "");
}
