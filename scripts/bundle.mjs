// Makes of a built package, which has a file for each module, what users install: a file for each entry, and what several entries
// share in a file beside them. Our packages and the client libraries stay outside, so that a process has each of them once.
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, posix, relative } from "node:path";
import { rolldown } from "rolldown";

/** What is started as a process or a thread of its own without being a command: by package, without `.js`. */
const programs = {
  "@holdfast/chaos": ["workload/worker-main", "service/load-main"],
  "@holdfast/dashboard": ["history/worker"],
};

/** What is served or read from `dist`, and is no module of it. */
const assets = { "@holdfast/dashboard": ["page"] };

/** Without these the runtime and the compiler say nothing of positions in files that were never shipped. */
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
    // Stack traces show this code, and the mutants of the chaos runner are written for it.
    optimization: { inlineConst: false },
    // A dependency that a manifest does not name would be taken in here: that is an error, since a process would have it twice.
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
    // A `require` of ours asks whether there is one, and may not be given another.
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
 * A module that names files relative to its own goes on finding them from the bundle: `import.meta.url` stays what it was, although
 * there is no such file any more.
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

/** Takes in the package's own modules and nothing else. */
function inside(dist) {
  return {
    name: "inside",
    load(id) {
      if (relative(dist, id).startsWith("..")) throw new Error(`${id} is not a module of ${dist}`);
      return null;
    },
  };
}

/** The declarations that the entries reach, one file for each module as the compiler wrote them. */
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
