import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { notFound } from "../core/problems.js";

const baseTag = /<base href="[^"]*"\s*\/?>/;
/** The paths that the page's own router knows. */
const pages = [
  "/",
  "/locks",
  "/locks/*",
  "/sessions",
  "/sessions/*",
  "/backends",
  "/findings",
  "/waits",
  "/schedules",
  "/ranking",
  "/audit",
  "/about",
];
const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
};
const unbuilt = `<!doctype html>
<html lang="en"><head><base href="./"><title>holdfast</title></head>
<body><h1>holdfast</h1><p>The page is not built: run the package's build script. The API is at <a href="api/v1/overview">api/v1</a>.</p></body></html>`;

interface Asset {
  readonly type: string;
  readonly bytes: Buffer;
  readonly zipped: Buffer;
}

/** The built page, in memory. It is some hundred KB, and no path of a request ever reaches the file system. */
export class BuiltPage {
  readonly #html: string;
  readonly #assets: ReadonlyMap<string, Asset>;

  private constructor(html: string, assets: ReadonlyMap<string, Asset>) {
    this.#html = html;
    this.#assets = assets;
  }

  static async load(directory: string | undefined): Promise<BuiltPage> {
    for (const candidate of directory === undefined ? builtDirectories() : [directory]) {
      const html = await readFile(join(candidate, "index.html"), "utf8").catch(absent);
      if (html === null) continue;
      return new BuiltPage(html, await loadAssets(join(candidate, "assets")));
    }
    return new BuiltPage(unbuilt, new Map());
  }

  asset(name: string): Asset | undefined {
    return this.#assets.get(name);
  }

  /** `wayUp` leads from the page's URL to the base of the dashboard. */
  shell(wayUp: string, config: Readonly<Record<string, unknown>>): string {
    // The data block contains no `<`, so that nothing in it can end the block.
    const data = JSON.stringify(config).replaceAll("<", "\\u003c");
    const head = `<base href="${wayUp}"><script type="application/json" id="holdfast-config">${data}</script>`;
    return this.#html.replace(baseTag, () => head);
  }
}

export function servePage(scope: FastifyInstance, page: BuiltPage, version: string): void {
  const root = scope.prefix;
  const options = { schema: { hide: true }, config: { access: "viewer" as const } };
  const shell = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const path = (request.url.split("?")[0] ?? "").slice(root.length);
    // After `/a/b` without a slash at the end, the browser would look for everything relative in `/a`.
    if (path === "" && root !== "") return reply.redirect(`${root.split("/").at(-1)}/`, 302);
    return reply
      .type("text/html; charset=utf-8")
      .header("cache-control", "no-store")
      .send(page.shell(wayUp(path), { version }));
  };
  for (const url of pages) scope.get(url, options, shell);
  scope.get<{ Params: { "*": string } }>("/assets/*", options, (request, reply) => {
    const asset = page.asset(request.params["*"]);
    if (asset === undefined) throw notFound("no such file");
    const zip = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
    if (zip) reply.header("content-encoding", "gzip");
    return reply
      .type(asset.type)
      .header("vary", "accept-encoding")
      .header("cache-control", "private, max-age=31536000, immutable")
      .send(zip ? asset.zipped : asset.bytes);
  });
}

/** The relative path from a path below the base of the dashboard to that base. */
export function wayUp(path: string): string {
  const depth = path.split("/").length - 2;
  return depth <= 0 ? "./" : "../".repeat(depth);
}

async function loadAssets(directory: string): Promise<Map<string, Asset>> {
  const names = (await readdir(directory, { recursive: true, withFileTypes: true }).catch(absent)) ?? [];
  const assets = new Map<string, Asset>();
  for (const entry of names) {
    const type = types[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path);
    assets.set(path.slice(directory.length + 1).replaceAll("\\", "/"), {
      type,
      bytes,
      zipped: gzipSync(bytes),
    });
  }
  return assets;
}

/** Where the built page is: beside the built server. From the sources, it is in the place of the built one. */
function builtDirectories(): string[] {
  return ["../page/", "../../dist/page/"].map((path) => fileURLToPath(new URL(path, import.meta.url)));
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}
