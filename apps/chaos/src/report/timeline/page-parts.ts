import { readFile } from "node:fs/promises";

/** The scripts in the order in which they are joined: what a file imports stands before it. */
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

/** The folder of the page is beside `src` and `dist` alike. */
const folder = new URL("../../../timeline/", import.meta.url);

/** The script and the style of the page, each as one text. */
export async function pageParts(): Promise<{ script: string; style: string }> {
  const modules = await Promise.all(scripts.map((name) => readFile(new URL(name, folder), "utf8")));
  const style = await readFile(new URL("timeline.css", folder), "utf8");
  return { script: joinModules(modules), style };
}

/**
 * One script of several modules that import only from each other: their imports and the word `export` are taken away, for
 * inline modules cannot import one another. So no two of them may give the same name to something outside of functions.
 */
export function joinModules(modules: readonly string[]): string {
  const bodies = modules.map((text) =>
    text.replace(/^import\s[^;]*;\n/gm, "").replace(/^export (?=const|let|function|class|async)/gm, ""),
  );
  return `"use strict";\n(() => {\n${bodies.join("\n")}\n})();\n`;
}
