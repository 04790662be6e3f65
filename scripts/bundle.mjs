// Turns a built package into what users install. The build has a file for each module; the result has a file for each entry,
// and beside them files for code that several entries share. Our packages and the client libraries stay outside, so that a
// process has each of them once.
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, posix, relative } from "node:path";
import { rolldown } from "rolldown";

/** Modules that are started as a process or a thread of their own without being a command: by package, without `.js`. */
const programs = {
  "@holdfast/chaos": ["workload/worker-main", "service/load-main"],
  "@holdfast/dashboard": ["history/worker"],
};

/** Folders of `dist` that are served or read as files; they are no modules. */
const assets = { "@holdfast/dashboard": ["page"] };

/** Only `debug` gets this comment: with it, the runtime and the compiler name positions in sources, which are not shipped. */
const mapComment = (file) => `//# sourceMappingURL=${posix.basename(file)}.map\n`;

/**
 * Reads `from/dist` and writes `to/dist`. `debug` gets the same files with their source maps: unpacked over an installed package
 * they show the lines of our sources under `node --enable-source-maps`.
 */
export async function bundlePackage({ manifest, from, to, debug }) {
  const entries = entriesOf(manifest);
  const dist = join(from, "dist");
  const { dependencies, optionalDependencies, peerDependencies } = manifest;
  const external = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, join(dist, `${entry}.js`)])),
    cwd: from,
    platform: "node",
    // `inlineConst` would change this code, which stack traces show and for which the mutants of the chaos runner are written.
    optimization: { inlineConst: false },
    // A dependency that the manifest does not name would be bundled here, and a process would have it twice. So it is an error.
    external: (id) =>
      id.startsWith("node:") || external.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [addresses(dist), inside(dist)],
    onLog(level, log) {
      throw new Error(`bundling ${manifest.name}: ${level}: ${log.message}`);
    },
  });
  const { output } = await bundle.generate({
    format: "esm",
    minify: false,
    sourcemap: "hidden",
    // Our code uses `require` to test whether it exists. With the polyfill that test would always succeed.
    polyfillRequire: false,
    chunkFileNames: "shared-[name].js",
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  await bundle.close();
  for (const each of output) {
    const text = each.type === "chunk" ? each.code : each.source;
    if (each.type === "chunk") await write(join(to, "dist", each.fileName), text);
    const comment = each.type === "chunk" ? mapComment(each.fileName) : "";
    await write(join(debug, "dist", each.fileName), text + comment);
  }
  await copyDeclarations(entries, dist, join(to, "dist"));
  for (const name of assets[manifest.name] ?? [])
    await cp(join(dist, name), join(to, "dist", name), { recursive: true });
}

/** The modules that `exports`, `bin` and the list above name: below `dist`, without `.js`. */
function entriesOf({ name, exports, bin = {} }) {
  const files = [...Object.values(exports).map((conditions) => conditions.default), ...Object.values(bin)];
  const named = files.map((file) => file.replace(/^\.\/dist\//, "").replace(/\.js$/, ""));
  return [...new Set([...named, ...(programs[name] ?? [])])];
}

/**
 * A module that names files relative to its own place still finds them from the bundle. Its `import.meta.url` keeps its value,
 * although no file has that address any more.
 */
function addresses(dist) {
  const mark = (path) => `import.meta.holdfast_${Buffer.from(path).toString("hex")}`;
  return {
    name: "addresses",
    transform(code, id) {
      if (id.startsWith("\0") || !code.includes("import.meta.url")) return null;
      return { code: code.replaceAll("import.meta.url", mark(relative(dist, id))), map: null };
    },
    renderChunk(code, { fileName }) {
      if (!code.includes("import.meta.holdfast_")) return null;
      const restored = code.replace(/import\.meta\.holdfast_([0-9a-f]+)/g, (_, hex) => {
        const path = posix.relative(posix.dirname(fileName), Buffer.from(hex, "hex").toString());
        return path === posix.basename(fileName)
          ? "import.meta.url"
          : `new URL(${JSON.stringify(path)}, import.meta.url).href`;
      });
      return { code: restored, map: null };
    },
  };
}

/** Bundles the package's own modules only; any other module is an error. */
function inside(dist) {
  return {
    name: "inside",
    load(id) {
      if (relative(dist, id).startsWith("..")) throw new Error(`${id} is not a module of ${dist}`);
      return null;
    },
  };
}

/** Copies the declarations that the entries reach, one file for each module as the compiler wrote them. */
async function copyDeclarations(entries, from, to) {
  const open = entries.map((entry) => `${entry}.d.ts`);
  const done = new Set();
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (done.has(file)) continue;
    done.add(file);
    const text = await readFile(join(from, file), "utf8");
    await write(join(to, file), text.replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, "\n"));
    for (const [, path] of text.matchAll(/(?:from|import\()\s*"(\.[^"]+)\.js"/g))
      open.push(posix.join(posix.dirname(file), `${path}.d.ts`));
  }
}

async function write(file, text) {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
