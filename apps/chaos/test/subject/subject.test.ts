import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { commandProgram, describe } from "../../src/subject/subject.js";

it("a client that is asked what it provides is killed when the run is interrupted, however long it would go on", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-subject-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const interrupt = new AbortController();
  const asked = describe(commandProgram("sleep 600"), join(folder, "about.log"), interrupt.signal);
  interrupt.abort(new Error("interrupted"));
  await expect(asked).rejects.toThrow("interrupted");
  await expect(
    describe(commandProgram("sleep 600"), join(folder, "about.log"), interrupt.signal),
  ).rejects.toThrow("interrupted");
});
