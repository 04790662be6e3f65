import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const source = fileURLToPath(new URL("../../page/src", import.meta.url));

describe("the page's own files", () => {
  it("set no markup from text anywhere: what a backend says goes through text nodes", async () => {
    const names = (await readdir(source, { recursive: true })).filter((name) => /\.tsx?$/.test(name));
    expect(names.length).toBeGreaterThan(40);
    for (const name of names) {
      const text = await readFile(join(source, name), "utf8");
      const found = text.match(
        /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|DOMParser|document\.write/,
      );
      expect(`${name}: ${found?.[0] ?? ""}`).toBe(`${name}: `);
    }
  });
});
