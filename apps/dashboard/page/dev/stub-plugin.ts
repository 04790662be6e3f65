import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const base = process.env.STUB_BASE ?? "/";
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'";
const pages = /^(|locks(\/[^/]+)?|sessions(\/[^/]+)?|backends|findings|waits|schedules|audit|about)\/?$/;

/** index.html for the path of a page, with the way up to the base in it, as the server writes it. */
export function withBase(html: string, path: string): string {
  const up = "../".repeat(path.split("/").length - 1) || "./";
  return html.replace('<base href="./" />', `<base href="${up}" />`);
}

type Html = (url: string) => Promise<string>;

function handler(html: Html) {
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    const url = new URL(request.url ?? "/", "http://stub");
    if (!url.pathname.startsWith(base)) {
      response.writeHead(404).end();
      return;
    }
    const path = url.pathname.slice(base.length);
    request.url = `/${path}${url.search}`;
    if (path.startsWith("api/v1/")) {
      // Loaded on the first request: its clock runs from then on, and a build needs none.
      void import("./stub-api.js").then(({ answer }) =>
        answer(path.slice(7), url.searchParams, request, response),
      );
    } else if (pages.test(path)) {
      void html(path).then((text) => {
        response.writeHead(200, { "content-type": "text/html", "content-security-policy": policy });
        response.end(withBase(text, path));
      });
    } else next();
  };
}

/**
 * Replaces the dashboard's server during work on the page: `npx vite page` or, for the built page,
 * `npx vite preview page`.
 */
export function stubPlugin(): Plugin {
  return {
    name: "holdfast-stub",
    configureServer(server) {
      server.middlewares.use(
        handler(async (path) => {
          const text = await readFile(fileURLToPath(new URL("../index.html", import.meta.url)), "utf8");
          return await server.transformIndexHtml(`/${path}`, text);
        }),
      );
    },
    configurePreviewServer(server) {
      server.middlewares.use(
        handler(async () => await readFile(`${server.config.build.outDir}/index.html`, "utf8")),
      );
    },
  };
}
