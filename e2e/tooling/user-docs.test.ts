import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import * as core from "@holdfast/core";
import * as redis from "@holdfast/redis-recipes";
import { expect, it } from "vitest";
import { allPages, linksIn, root, withoutBlocks } from "./support/pages.js";

const read = (path: string): string => readFileSync(new URL(path, root), "utf8");

/** Blocks of code without what a translation may change: comments. */
const blocksOf = (text: string): string[] =>
  [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(([, language, code = ""]) =>
    code.replace(language === "sh" ? / +#.*$/gm : /^\/\/.*$| +\/\/.*$/gm, ""),
  );

it("the Chinese README has the headings, blocks of code, links and rows of the English one", () => {
  const [english, chinese] = [read("README.md"), read("README.zh-CN.md")];
  const shape = (text: string) => ({
    headings: [...withoutBlocks(text).matchAll(/^(#+) /gm)].map(([, level]) => level),
    blocks: blocksOf(text),
    links: linksIn(text),
    lines: [...text.matchAll(/^(- |\| |!)/gm)].map(([, start]) => start),
  });
  expect(shape(english).blocks).toHaveLength(4);
  expect(shape(chinese)).toEqual(shape(english));
});

it("README.md is one screen and a half, and its picture is light to load", () => {
  expect(read("README.md").split("\n").length).toBeLessThan(100);
  const [, picture = ""] = /!\[[^\]]+\]\(([^)]+)\)/.exec(read("README.md")) ?? [];
  expect(statSync(new URL(picture, root)).size).toBeLessThan(150_000);
});

/** Each code of an error or a process warning in the sources of the packages. */
function codesInSources(): string[] {
  const codes = readdirSync(new URL("packages", root)).flatMap((name) =>
    readdirSync(new URL(`packages/${name}/src`, root), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .flatMap((file) => read(`packages/${name}/src/${file}`).match(/(?<=")HF_[A-Z_]+(?=")/g) ?? []),
  );
  return [...new Set(codes)].sort();
}

it("docs/troubleshooting.md explains every error class and every code, and no other", () => {
  const text = read("docs/troubleshooting.md");
  const classes = [...Object.keys(core), ...Object.keys(redis)].filter((name) => name.endsWith("Error"));
  expect(new Set(classes).size).toBeGreaterThan(15);
  expect(classes.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  expect([...new Set(text.match(/HF_[A-Z_]+/g))].sort()).toEqual(codesInSources());
});

it("docs/six-conditions.md has six, and names tests that exist for each", () => {
  const rows = [...read("docs/six-conditions.md").matchAll(/^\| (\d)\. .*\|(.*)\|$/gm)];
  expect(rows.map(([, number]) => number)).toEqual(["1", "2", "3", "4", "5", "6"]);
  const missing = rows.flatMap(([, number, shown = ""]) => {
    const files = [...shown.matchAll(/`([^`]+\.ts)`: ((?:"[^"]+"(?:, )?)+)/g)];
    if (files.length === 0) return [`condition ${number} names no test`];
    return files.flatMap(([, file = "", titles = ""]) =>
      [...titles.matchAll(/"([^"]+)"/g)]
        .map(([, title = ""]) => title)
        .filter((title) => !existsSync(new URL(file, root)) || !read(file).includes(title))
        .map((title) => `${file}: ${title}`),
    );
  });
  expect(missing).toEqual([]);
});

it("each example is shown in docs", () => {
  const linked = allPages
    .filter(({ path }) => path.startsWith("docs/"))
    .flatMap(({ url }) => linksIn(readFileSync(url, "utf8")).map(({ file }) => file));
  const examples = readdirSync(new URL("examples", root)).filter(
    (file) => file.endsWith(".mjs") && !["stock.mjs", "vitest.config.mjs"].includes(file),
  );
  expect(examples.filter((file) => !linked.some((link) => link.endsWith(`examples/${file}`)))).toEqual([]);
});
