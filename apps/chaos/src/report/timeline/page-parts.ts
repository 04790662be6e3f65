import { readFile } from "node:fs/promises";

/** The scripts in the order in which they are joined: a file comes after the files that it imports. */
const scripts = [
  "time-view.js",
  "items.js",
  "token-lane.js",
  "worker-lanes.js",
  "lanes.js",
  "visible.js",
  "svg.js",
  "draw-lane.js",
  "walk.js",
  "chart.js",
  "overview.js",
  "records.js",
  "findings.js",
  "main.js",
] as const;

/** The folder of the page. The path is the same from `src` and from `dist`. */
const folder = new URL("../../../timeline/", import.meta.url);

/** The script and the style of the page, each as one text. */
export async function pageParts(): Promise<{ script: string; style: string }> {
  const modules = await Promise.all(scripts.map((name) => readFile(new URL(name, folder), "utf8")));
  const style = await readFile(new URL("timeline.css", folder), "utf8");
  return { script: joinModules(modules), style };
}

/**
 * Joins modules that import only from each other into one script. Inline modules cannot import one another, so the
 * imports and the word `export` are removed. Therefore no two modules may use the same name outside of functions.
 */
export function joinModules(modules: readonly string[]): string {
  const bodies = modules.map((text) =>
    text.replace(/^import\s[^;]*;\n/gm, "").replace(/^export (?=const|let|function|class|async)/gm, ""),
  );
  return `"use strict";\n(() => {\n${bodies.join("\n")}\n})();\n`;
}
