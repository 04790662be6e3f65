import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { as, changing, serving } from "./serving.js";

let pageDirectory: string;
beforeAll(async () => {
  pageDirectory = await mkdtemp(join(tmpdir(), "holdfast-page-"));
  await mkdir(join(pageDirectory, "assets"));
  await writeFile(
    join(pageDirectory, "index.html"),
    '<!doctype html><html><head><base href="./" /><script type="module" src="./assets/index-1.js"></script></head></html>',
  );
  await writeFile(join(pageDirectory, "assets", "index-1.js"), "console.log(1)");
});
afterAll(async () => await rm(pageDirectory, { recursive: true }));

describe("the page", () => {
  it.each(["", "/a", "/a/b"])(
    "under base path %j/ each of its URLs leads to the same assets and API",
    async (prefix) => {
      await using dashboard = await serving({ pageDirectory, ...(prefix === "" ? {} : { prefix }) });
      for (const path of ["/", "/locks", "/locks/abc", "/sessions/0x1", "/waits", "/about"]) {
        const answer = await dashboard.app.inject({ url: prefix + path, headers: as("viewer") });
        expect([answer.statusCode, answer.headers["content-type"]], path).toEqual([
          200,
          "text/html; charset=utf-8",
        ]);
        const wayUp = /<base href="([^"]+)">/.exec(answer.body)?.[1] ?? "none";
        const base = new URL(wayUp, `http://host${prefix}${path}`);
        expect(base.pathname, path).toBe(`${prefix}/`);
        const asset = await dashboard.app.inject({
          url: new URL("./assets/index-1.js", base).pathname,
          headers: as("viewer"),
        });
        expect([asset.statusCode, asset.body]).toEqual([200, "console.log(1)"]);
        const api = await dashboard.app.inject({
          url: new URL("api/v1/me", base).pathname,
          headers: as("viewer"),
        });
        expect(api.statusCode).toBe(200);
      }
      expect(await changing(dashboard.app, "viewer", prefix)).toHaveProperty("x-csrf-token");
    },
  );

  it("without the slash at the end leads to where relative URLs are right", async () => {
    await using dashboard = await serving({ pageDirectory, prefix: "/a/b" });
    const { statusCode, headers } = await dashboard.app.inject({ url: "/a/b?x=1", headers: as("viewer") });
    expect(statusCode).toBe(302);
    expect(new URL(String(headers.location), "http://host/a/b").pathname).toBe("/a/b/");
  });

  it("is the shell with its version, and nothing else, when it is not built", async () => {
    await using dashboard = await serving({ pageDirectory: join(pageDirectory, "none") });
    const { body } = await dashboard.app.inject({ url: "/locks", headers: as("viewer") });
    expect(body).toContain("not built");
    expect(body).toMatch(/id="holdfast-config">\{"version":"\d+\.\d+\.\d+"\}</);
  });

  it("has assets that may be kept for ever, zipped for clients that take that, and no way to other files", async () => {
    await using dashboard = await serving({ pageDirectory });
    const { headers, rawPayload } = await dashboard.app.inject({
      url: "/assets/index-1.js",
      headers: { ...as("viewer"), "accept-encoding": "gzip, br" },
    });
    expect(headers).toMatchObject({
      "content-encoding": "gzip",
      "content-type": "text/javascript; charset=utf-8",
    });
    expect(headers["cache-control"]).toContain("immutable");
    expect(gunzipSync(rawPayload).toString()).toBe("console.log(1)");
    for (const path of ["../index.html", "..%2findex.html", "%2e%2e/index.html", "index-2.js", ""]) {
      const answer = await dashboard.app.inject({ url: `/assets/${path}`, headers: as("viewer") });
      expect(
        [404, 401].includes(answer.statusCode) ||
          answer.headers["content-type"]?.toString().startsWith("application/json"),
        path,
      ).toBe(true);
    }
  });

  it.each(["", "/a/b"])(
    "under base path %j/ an error is a page with a way back for a person, and JSON for a program",
    async (prefix) => {
      await using dashboard = await serving({ pageDirectory, ...(prefix === "" ? {} : { prefix }) });
      const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
      const ask = (path: string, headers: Record<string, string>) =>
        dashboard.app.inject({ url: prefix + path, headers });
      for (const [path, headers, status] of [
        ["/no/such/page", as("viewer"), 404],
        ["/", {}, 401],
        ["/metrics", {}, 401],
      ] as const) {
        const page = await ask(path, { ...headers, ...browser });
        expect([page.statusCode, page.headers["content-type"]], path).toEqual([
          status,
          "text/html; charset=utf-8",
        ]);
        const way = /<a href="([^"]+)">/.exec(page.body)?.[1] ?? "none";
        expect(new URL(way, `http://host${prefix}${path}`).pathname).toBe(`${prefix}/`);
        const program = await ask(path, headers);
        expect([program.statusCode, Object.keys(program.json())]).toEqual([status, ["error", "message"]]);
      }
      const api = await ask("/api/v1/nothing", { ...as("viewer"), ...browser });
      expect(api.json()).toMatchObject({ error: "not-found" });
    },
  );
});
