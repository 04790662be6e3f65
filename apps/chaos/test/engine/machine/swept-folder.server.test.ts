import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SweptFolder } from "../../../src/engine/machine/swept-folder.js";

/** The processes that have the folder in their arguments. */
function sweepers(folder: string): string[] {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(folder);
    } catch {
      return false; // gone meanwhile
    }
  });
}

test("a folder that is removed leaves no process behind that watches it", async () => {
  const folder = new SweptFolder("test");
  writeFileSync(join(folder.path, "file"), "text");
  expect(sweepers(folder.path)).toHaveLength(1);
  await folder.remove();
  expect(existsSync(folder.path)).toBe(false);
  expect(sweepers(folder.path)).toEqual([]);
  await folder.remove();
});
