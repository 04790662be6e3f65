import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { published } from "../../scripts/pack.mjs";
import { apiReports } from "./support/api-report.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

it("api/ shows what each package exports today (HOLDFAST_WRITE_DOCS=1 writes it)", async () => {
  const packages = (await published()).map(({ name, folder, manifest }) => ({
    name,
    dist: join(root, folder, "dist"),
    files: new Map(
      Object.entries(manifest.exports)
        .filter(([entry]) => entry !== "./internal")
        .map(([entry, { types = "" }]) => [entry, types.replace("./dist/", "")]),
    ),
  }));
  const reports = apiReports(root, packages);
  expect(reports.get("@holdfast/core")).toContain("export interface LockHandle");
  for (const [name, text] of reports) {
    const file = join(root, "api", `${name.replace("@holdfast/", "")}.txt`);
    if (process.env.HOLDFAST_WRITE_DOCS === "1") {
      await mkdir(join(root, "api"), { recursive: true });
      await writeFile(file, text);
    }
    expect(text, `${name}: its exports have changed; HOLDFAST_WRITE_DOCS=1 writes api/`).toBe(
      await readFile(file, "utf8"),
    );
  }
});
