import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { allPages, anchorOf, deadLinks, root, withoutBlocks } from "./support/pages.js";

const read = (path: string): string => readFileSync(new URL(path, root), "utf8");

/** The sources of all packages. A page that describes a path through them names a file by the end of its path only. */
const sources = ["packages", "apps"].flatMap((folder) =>
  readdirSync(new URL(folder, root)).flatMap((name) =>
    readdirSync(new URL(`${folder}/${name}/src`, root), { recursive: true, encoding: "utf8" }).map(
      (file) => `${folder}/${name}/src/${file}`,
    ),
  ),
);

const isThere = (path: string): boolean =>
  existsSync(new URL(path, root)) || sources.some((source) => source.endsWith(`/${path}`));

/**
 * What a page names as a file or folder of the repository: each word that begins with one of its folders, and each source file.
 * Of a pattern such as `e2e/redis*` only the folder in front of the pattern counts.
 */
function pathsIn(text: string): string[] {
  const words = [...withoutBlocks(text).matchAll(/`([^`\s]+)`/g)].map(([, word = ""]) => word);
  return words
    .filter((word) => /^(packages|apps|e2e|scripts|docs)\//.test(word) || /^\w[^@]*\.(tsx?|mjs)\b/.test(word))
    .map((word) => word.replace(/[#:].*$/, "").replace(/[^/]*[*{<].*$/, ""));
}

it("paths are found in backticks, without line numbers, and as far as they are no pattern", () => {
  const text =
    "See `packages/core/src/api/link.ts:7`, `e2e/redis*`, `apps/{chaos,bench}/src`, `link.ts`, and not `@holdfast/core/internal`, `orders/42` or packages/none.\n" +
    "```sh\nnode `apps/none.mjs`\n```\n";
  expect(pathsIn(text)).toEqual(["packages/core/src/api/link.ts", "e2e/", "apps/", "link.ts"]);
});

it("an anchor is the heading in small letters, without marks, links and code", () => {
  expect(anchorOf("What it guarantees, and what it cannot")).toBe("what-it-guarantees-and-what-it-cannot");
  expect(anchorOf("`HF_QUORUM`: [`QuorumError`](errors.md)")).toBe("hf_quorum-quorumerror");
});

/** Pages about the whole repository name its paths. A readme of a package also names files of its users, so it is not checked. */
const ofRepository = allPages.filter(({ path }) => path.startsWith("docs/"));

it.each(ofRepository)("$path names only files and folders that exist", ({ path }) => {
  expect(pathsIn(read(path)).filter((each) => !isThere(each))).toEqual([]);
});

it.each(allPages)("$path links only to files and headings that exist", (page) => {
  expect(deadLinks(page)).toEqual([]);
});

/** For each package: all packages that can be reached from it. */
function reachable(arrows: readonly (readonly [from: string, to: string])[]): Map<string, string[]> {
  const next = new Map<string, Set<string>>();
  for (const [from, to] of arrows) next.set(from, (next.get(from) ?? new Set()).add(to));
  const reached = (from: string): string[] => {
    const seen = new Set<string>(next.get(from));
    for (const each of seen) for (const further of next.get(each) ?? []) seen.add(further);
    return [...seen].sort();
  };
  return new Map([...next.keys()].sort().map((from) => [from, reached(from)]));
}

/** Our packages that each `package.json` depends on, by the names of folders. */
const imports = ["packages", "apps"].flatMap((folder) =>
  readdirSync(new URL(folder, root)).flatMap((name) => {
    const { dependencies = {} } = JSON.parse(read(`${folder}/${name}/package.json`)) as {
      dependencies?: Record<string, string>;
    };
    return Object.keys(dependencies)
      .filter((each) => each.startsWith("@holdfast/"))
      .map((each) => [name, each.slice("@holdfast/".length)] as const);
  }),
);

it("docs/architecture.md draws the packages with the dependencies that their package.json has, and no circle", () => {
  const drawn = [...read("docs/architecture.md").matchAll(/^ *([\w-]+) --> ([\w-]+)$/gm)].map(
    ([, from = "", to = ""]) => [from, to] as const,
  );
  expect(reachable(drawn)).toEqual(reachable(imports));
  expect([...reachable(drawn)].filter(([from, to]) => to.includes(from))).toEqual([]);
});

it("the image of the dashboard installs the dashboard and every package that it depends on", () => {
  const installed = [...read("apps/dashboard/ops/Dockerfile").matchAll(/--workspace @holdfast\/([\w-]+)/g)];
  expect(installed.map(([, name]) => name).sort()).toEqual(
    ["dashboard", ...(reachable(imports).get("dashboard") ?? [])].sort(),
  );
});

it("docs/glossary.md names for each word a file that has the name in it", () => {
  const places = [...read("docs/glossary.md").matchAll(/((?:`[^`]+`(?:, )?)+) in `([^`]+)`/g)].flatMap(
    ([, names = "", file = ""]) => [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => ({ name, file })),
  );
  expect(places.length).toBeGreaterThan(100);
  const wrong = places.filter(
    ({ name, file }) =>
      !new RegExp(`(?<![\\w#])${name}(?!\\w)`).test(existsSync(new URL(file, root)) ? read(file) : ""),
  );
  expect(wrong).toEqual([]);
});

it("docs/packages.md lists every workspace, with a link to its folder", () => {
  const listed = [...read("docs/packages.md").matchAll(/^\| \[`([^`]+)`\]\(\.\.\/([^)]+)\)/gm)].map(
    ([, name, folder]) => `${name} in ${folder}`,
  );
  const folders = ["packages", "apps"].flatMap((kind) =>
    readdirSync(new URL(kind, root)).map((name) => `${kind}/${name}`),
  );
  const workspaces = [...folders, "e2e", "examples"].map((folder) => {
    const { name } = JSON.parse(read(`${folder}/package.json`)) as { name: string };
    return `${name} in ${folder}`;
  });
  expect(listed.sort()).toEqual(workspaces.sort());
});
