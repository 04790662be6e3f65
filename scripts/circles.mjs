import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const relativeImport = /(?:from|import)\s*\(?\s*"(\.[^"]+)"/g;

/**
 * Groups of source files that import each other in a circle, imports of types counted. Paths are relative to the repository, sorted.
 *
 * @returns {string[][]}
 */
export function importCircles() {
  const files = sourceFolders().flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => join(folder, file)),
  );
  const known = new Set(files);
  const imports = new Map(files.map((file) => [file, importsOf(file, known)]));
  return strongComponents(imports)
    .filter((group) => group.length > 1)
    .map((group) => group.map((file) => relative(root, file)).sort())
    .sort((one, other) => (one[0] < other[0] ? -1 : 1));
}

function sourceFolders() {
  return ["packages", "apps"]
    .flatMap((group) => readdirSync(join(root, group)).map((name) => join(root, group, name)))
    .flatMap((place) => [join(place, "src"), join(place, "page", "src")])
    .filter((folder) => existsSync(folder));
}

function importsOf(file, known) {
  const named = [...readFileSync(file, "utf8").matchAll(relativeImport)].map(([, path]) =>
    resolve(dirname(file), path),
  );
  return named.flatMap((path) => {
    const source = [path.replace(/\.js$/, ".ts"), path.replace(/\.js$/, ".tsx")].find((each) =>
      known.has(each),
    );
    return source === undefined ? [] : [source];
  });
}

/** Tarjan's algorithm. A component is a file with all files that it reaches and that reach it. */
function strongComponents(imports) {
  const order = new Map();
  const lowest = new Map();
  const path = [];
  const components = [];
  const visit = (file) => {
    order.set(file, order.size);
    lowest.set(file, order.get(file));
    path.push(file);
    for (const next of imports.get(file)) {
      if (!order.has(next)) {
        visit(next);
        lowest.set(file, Math.min(lowest.get(file), lowest.get(next)));
      } else if (path.includes(next)) {
        lowest.set(file, Math.min(lowest.get(file), order.get(next)));
      }
    }
    if (lowest.get(file) === order.get(file)) components.push(path.splice(path.indexOf(file)));
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return components;
}
