import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import config from "../../vitest.config.js";
import { scratchInside } from "../support/process/emit.js";
import { run } from "../support/process/run.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs vitest with this repository's own configuration over one test. */
async function testRun(body: string): Promise<{ failed: boolean; output: string }> {
  await using scratch = await scratchInside();
  const folder = join(scratch.dir, "packages/victim/test");
  await mkdir(folder, { recursive: true });
  const text = `import { expect, it } from "vitest";\nit("passes", async () => {\n${body}\nexpect(1).toBe(1);\n});\n`;
  await writeFile(join(folder, "victim.test.ts"), text);
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = [
    vitest,
    "run",
    "--root",
    scratch.dir,
    "--config",
    join(root, "vitest.config.ts"),
    "--project",
    "unit",
  ];
  try {
    return { failed: false, output: await run(process.execPath, args, { cwd: root, withinMs: 60_000 }) };
  } catch (error) {
    return { failed: true, output: (error as Error).message };
  }
}

describe("a test run", () => {
  it("is not configured to overlook unhandled errors", () => {
    expect(config.test?.dangerouslyIgnoreUnhandledErrors).toBe(false);
  });

  it("passes when all is well, or the next test would show nothing", async () => {
    const { failed, output } = await testRun("");
    expect(failed, output).toBe(false);
    expect(output).toContain("1 passed");
  });

  it.each([
    [
      "rejection",
      'Promise.reject(new Error("forgotten"));\nawait new Promise((resolve) => setTimeout(resolve, 20));',
    ],
    [
      "exception",
      'setTimeout(() => { throw new Error("forgotten"); });\nawait new Promise((resolve) => setTimeout(resolve, 20));',
    ],
  ])("fails for one unhandled %s, though every test in it passes", async (_what, body) => {
    const { failed, output } = await testRun(body);
    expect(failed, output).toBe(true);
    expect(output).toContain("forgotten");
    expect(output).toContain("1 passed");
  });
});
