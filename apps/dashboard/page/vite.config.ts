import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { stubPlugin } from "./dev/stub-plugin.js";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here("."),
  // Relative, so that the page works under any path; the <base> of index.html says where that is.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [stubPlugin()],
  build: {
    outDir: here("../dist/page"),
    emptyOutDir: true,
    target: "es2022",
    // An inlined font or image would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
