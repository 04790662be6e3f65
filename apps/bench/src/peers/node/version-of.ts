import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The version in the `package.json` of an installed package. Its `exports` may hide that file, so it is searched upward
 * from the entry.
 */
export function versionOf(packageName: string): string {
  let folder = dirname(fileURLToPath(import.meta.resolve(packageName)));
  for (;;) {
    const { name, version } = packageFile(join(folder, "package.json"));
    if (name === packageName && version !== undefined) return version;
    const above = dirname(folder);
    if (above === folder) throw new Error(`${packageName} has no package.json`);
    folder = above;
  }
}

function packageFile(file: string): { readonly name?: string; readonly version?: string } {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
}
