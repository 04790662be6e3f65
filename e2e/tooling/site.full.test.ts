import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import { run } from "../support/process/run.js";

const site = fileURLToPath(new URL("../../site", import.meta.url));
const dist = join(site, "dist");
const withinMs = 600_000;

// The site has its own packages and lock file. Among the packages is the TypeScript that makes its reference.
beforeAll(async () => {
  await run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: site, withinMs });
  await run("npm", ["run", "build"], { cwd: site, withinMs });
}, 2 * withinMs);

const htmlFiles = (): string[] =>
  readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".html"));

it("has the pages of docs, the examples and the reference of the API", () => {
  const files = htmlFiles();
  const expected = [
    "index.html",
    "zh-cn.html",
    "docs/guide/queue.html",
    "examples/leader.html",
    "api/index.html",
  ];
  expect(files).toEqual(expect.arrayContaining(expected));
  expect(files.filter((file) => file.includes("LockHandle"))).not.toEqual([]);
  // The pictures of a guide are drawn in the browser from text in the page.
  expect(readFileSync(join(dist, "docs/guide/queue.html"), "utf8")).toContain('class="mermaid"');
});

it("has no link that leads nowhere", () => {
  const dead: string[] = [];
  for (const file of htmlFiles()) {
    const text = readFileSync(join(dist, file), "utf8");
    for (const [, link = ""] of text.matchAll(/<a [^>]*href="([^"#?]+)[^"]*"/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const path = decodeURIComponent(link);
      const target = path.startsWith("/") ? join(dist, path) : join(dist, dirname(file), path);
      const there = [target, `${target}.html`, join(target, "index.html")];
      if (!there.some((each) => existsSync(each) && statSync(each).isFile())) dead.push(`${file}: ${link}`);
    }
  }
  expect(dead).toEqual([]);
});
