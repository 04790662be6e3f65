import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import * as core from "@holdfast/core";
import * as redis from "@holdfast/redis-recipes";
import { expect, it } from "vitest";
import { allPages, linksIn, root, withoutBlocks } from "./support/pages.js";

const read = (path: string): string => readFileSync(new URL(path, root), "utf8");

/** The blocks of code without their comments, which a translation may change. */
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

/** The field names of an interface of core, read from its source. */
function fieldsOf(file: string, name: string): string[] {
  const [, body = ""] =
    new RegExp(`^export interface ${name} \\{\\n([\\s\\S]*?)^\\}`, "m").exec(
      read(`packages/core/src/api/${file}`),
    ) ?? [];
  return [...body.matchAll(/^ {2}"?([\w-]+)"?\??:/gm)].map(([, field = ""]) => field);
}

it.each([
  ["Options of every provider", fieldsOf("provider.ts", "ProviderOptions")],
  ["Options of a call", fieldsOf("acquiring.ts", "AcquireOptions")],
  ["Events", fieldsOf("events.ts", "LockEventMap")],
])("docs/options-and-events.md lists under '%s' all that there is, and no more", (heading, fields) => {
  const [, section = ""] =
    new RegExp(`^## ${heading}\\n([\\s\\S]*?)(?=^## |(?![\\s\\S]))`, "m").exec(
      read("docs/options-and-events.md"),
    ) ?? [];
  const rows = [...section.matchAll(/^\| (`[^|]+`) +\|/gm)].flatMap(([, names = ""]) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
  );
  expect(fields.length).toBeGreaterThan(5);
  expect(rows.sort()).toEqual(fields.sort());
});

/**
 * Titles of tests that a text quotes after a file and that this file does not have. `called` names the text in the error if it
 * quotes no title.
 */
function missingTitles(text: string, called: string): string[] {
  const files = [...text.matchAll(/`([^`]+\.ts)`:\s+((?:"[^"]+"(?:, )?)+)/g)];
  if (files.length === 0) return [`${called} names no test`];
  return files.flatMap(([, file = "", titles = ""]) =>
    [...titles.matchAll(/"([^"]+)"/g)]
      .map(([, title = ""]) => title)
      .filter((title) => !existsSync(new URL(file, root)) || !read(file).includes(title))
      .map((title) => `${file}: ${title}`),
  );
}

it("docs/six-conditions.md has six, and names tests that exist for each", () => {
  const rows = [...read("docs/six-conditions.md").matchAll(/^\| (\d)\. .*\|(.*)\|$/gm)];
  expect(rows.map(([, number]) => number)).toEqual(["1", "2", "3", "4", "5", "6"]);
  expect(rows.flatMap(([, number, shown = ""]) => missingTitles(shown, `condition ${number}`))).toEqual([]);
});

it("each decision has a list of tests that show it, and each of these tests exists", () => {
  const decisions = allPages.filter(({ path }) => path.startsWith("docs/decisions/"));
  const items = decisions.flatMap(({ path }) => {
    const text = read(path);
    const lists = [...text.matchAll(/^\*\*Shown by\.\*\*\n\n((?:[- ] .+(?:\n|$))+)/gm)];
    expect(lists.length, path).toBe([...text.matchAll(/^\*\*Decided\.\*\*/gm)].length);
    return lists.flatMap(([, list = ""]) => list.split(/^- /m).slice(1)).map((item) => ({ path, item }));
  });
  expect(items.length).toBeGreaterThan(100);
  expect(items.flatMap(({ path, item }) => missingTitles(item, `an item of ${path}`))).toEqual([]);
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
