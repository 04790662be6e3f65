import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { madeOnce } from "../support/process/made-once.js";

const withinMs = 60_000;
let scratch: string;
let finished: string;
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), "holdfast-made-once-"));
  finished = join(scratch, "cache", "finished");
});
afterEach(() => rm(scratch, { recursive: true, force: true }));

const fill = (folder: string): Promise<void> => writeFile(join(folder, "file"), "whole");

async function expectWhole(): Promise<void> {
  expect(await readFile(join(finished, "file"), "utf8")).toBe("whole");
}

/** Call this only after the maker is done: it deletes its mark after it has made the folder. */
async function expectNothingElse(): Promise<void> {
  expect(await readdir(join(scratch, "cache"))).toEqual(["finished"]);
}

it("a folder that several want at the same time is made by one of them, and is there for all", async () => {
  let made = 0;
  const want = async (): Promise<void> => {
    await madeOnce(finished, withinMs, async (folder) => {
      made += 1;
      expect(existsSync(finished)).toBe(false);
      await new Promise((resolve) => setTimeout(resolve, 100));
      await fill(folder);
    });
    await expectWhole();
  };
  await Promise.all([want(), want(), want()]);
  await want();
  await expectNothingElse();
  expect(made).toBe(1);
});

it("a folder that could not be made leaves nothing behind, rejects with the reason, and is made by the next that wants it", async () => {
  const failing = madeOnce(finished, withinMs, async (folder) => {
    await fill(folder);
    throw new Error("no compiler");
  });
  await expect(failing).rejects.toThrow("no compiler");
  expect(await readdir(join(scratch, "cache"))).toEqual([]);
  await madeOnce(finished, withinMs, fill);
  await expectWhole();
  await expectNothingElse();
});

it("the mark of a process that was killed while it made a folder holds no other up once it is old", async () => {
  const killed = madeOnce(finished, withinMs, () => new Promise(() => {}));
  killed.catch(() => {}); // It never settles.
  const mark = `${finished}.making`;
  await expect.poll(() => existsSync(mark)).toBe(true);
  const longAgo = new Date(Date.now() - 2 * withinMs);
  await utimes(mark, longAgo, longAgo);
  await madeOnce(finished, withinMs, fill);
  await expectWhole();
});
