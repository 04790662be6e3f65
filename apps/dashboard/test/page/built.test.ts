import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

const kib = 1024;
let directory = "";
let html = "";
let assets: readonly { name: string; bytes: Buffer }[] = [];

// Built in the same way as in the package's build, but into its own directory: the `dist` of the package is left alone.
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-page-"));
  // For Vite, NODE_ENV counts more than the mode. With "test" it would build for tests.
  vi.stubEnv("NODE_ENV", "production");
  await build({
    configFile: fileURLToPath(new URL("../../page/vite.config.ts", import.meta.url)),
    logLevel: "error",
    build: { outDir: directory },
  });
  vi.unstubAllEnvs();
  html = await readFile(join(directory, "index.html"), "utf8");
  const names = await readdir(join(directory, "assets"));
  assets = await Promise.all(
    names.map(async (name) => ({ name, bytes: await readFile(join(directory, "assets", name)) })),
  );
}, 300_000);
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

const entries = (): string[] =>
  [...html.matchAll(/<script[^>]*\ssrc="\.\/assets\/([^"]+)"/g)].map((found) => found[1] ?? "");

describe("the built page", () => {
  it("has an entry script of at most 40 KiB, a chart of at most 25 KiB, and pages opened later of at most 8 KiB each, gzipped", () => {
    const scripts = assets.filter(({ name }) => name.endsWith(".js"));
    const [entry, ...others] = entries();
    expect(others).toEqual([]);
    const sizes = Object.fromEntries(
      scripts.map(({ name, bytes }) => [
        name === entry ? "entry" : name.replace(/-[\w-]{8}\.js$/, ""),
        gzipSync(bytes).length,
      ]),
    );
    expect(sizes.entry).toBeLessThanOrEqual(40 * kib);
    expect(sizes["draw-chart"]).toBeLessThanOrEqual(25 * kib);
    for (const [name, size] of Object.entries(sizes)) {
      if (name === "entry" || name === "draw-chart") continue;
      expect(size, name).toBeLessThanOrEqual(8 * kib);
    }
  });
  it("runs under a policy that allows no inline script and no inline style", () => {
    expect(html.match(/<script(?![^>]*\ssrc=)/g)).toBeNull();
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:/);
  });
  it("asks for everything relative to the base that the server writes", () => {
    expect(html.match(/<base href="\.\/" \/>/g)).toHaveLength(1);
    const urls = [...html.matchAll(/\s(?:src|href)="([^"]+)"/g)].map((found) => found[1]);
    expect(urls.length).toBeGreaterThan(3);
    for (const url of urls) expect(url).toMatch(/^\.\//);
    for (const { name, bytes } of assets.filter(({ name }) => /\.(js|css)$/.test(name))) {
      expect(`${name}: ${bytes.toString().match(/["'(]\/assets\//)?.[0] ?? ""}`).toBe(`${name}: `);
    }
  });
  it("never makes markup of text", () => {
    const entry = assets.find(({ name }) => name === entries()[0])?.bytes.toString() ?? "";
    // The entry also contains the router and the renderer. Preact's own way to set innerHTML needs a prop that no file of ours
    // names, so it is not searched for.
    expect(entry).not.toMatch(/insertAdjacentHTML|outerHTML|document\.write|\beval\(|new Function/);
  });
  it("carries nothing of the stand-in server", () => {
    for (const { name, bytes } of assets) expect(`${name} ${bytes.includes("__stub")}`).toBe(`${name} false`);
  });
});
