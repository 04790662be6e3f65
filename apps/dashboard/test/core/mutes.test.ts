import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Mutes } from "../../src/core/mutes.js";

let directory: string;
let file: string;
let nowMs = 1_000;
const now = () => nowMs;
const mute = (untilMs: number) => ({ reason: "known\nof", by: "ada", untilMs });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-mutes-"));
  file = join(directory, "audit.jsonl.mutes");
  nowMs = 1_000;
});
afterEach(async () => await rm(directory, { recursive: true }));

describe("mutes", () => {
  it("are known to the next process, until they expire", async () => {
    const before = await Mutes.open({ file, now });
    await Promise.all([before.set("a", mute(5_000)), before.set("b", mute(2_000))]);
    const after = await Mutes.open({ file, now });
    expect(after.of("a")).toEqual(mute(5_000));
    expect(after.of("b")).toEqual(mute(2_000));
    nowMs = 2_000;
    expect(after.of("b")).toBeNull();
    expect(after.of("a")).not.toBeNull();
  });

  it("that have expired are written no more", async () => {
    const mutes = await Mutes.open({ file, now });
    await mutes.set("old", mute(1_500));
    nowMs = 1_500;
    await mutes.set("new", mute(9_000));
    expect(await readFile(file, "utf8")).not.toContain("old");
    nowMs = 9_000;
    await Mutes.open({ file, now });
    expect(await readFile(file, "utf8")).toBe("");
    expect(await readdir(directory)).toEqual(["audit.jsonl.mutes"]);
  });

  it("are the last thousand, and the last word on each", async () => {
    const lines = Array.from({ length: 1_000 }, (_, n) => JSON.stringify({ id: `${n}`, ...mute(5_000) }));
    await writeFile(file, `${lines.join("\n")}\n`);
    const mutes = await Mutes.open({ file, now });
    await mutes.set("1000", mute(5_000));
    await mutes.set("1", mute(7_000));
    const after = await Mutes.open({ file, now });
    expect([after.of("0"), after.of("1")?.untilMs, after.of("1000")?.untilMs]).toEqual([null, 7_000, 5_000]);
  });

  it("that cannot be written down are none, and the next one can be", async () => {
    const mutes = await Mutes.open({ file, now });
    await mutes.set("kept", mute(5_000));
    await mkdir(`${file}.new`);
    await expect(mutes.set("lost", mute(5_000))).rejects.toThrow("EISDIR");
    expect(mutes.of("lost")).toBeNull();
    await rm(`${file}.new`, { recursive: true });
    await mutes.set("next", mute(5_000));
    const after = await Mutes.open({ file, now });
    expect([after.of("kept"), after.of("lost"), after.of("next")].map((each) => each !== null)).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("pass over lines that are none", async () => {
    const good = JSON.stringify({ id: "a", ...mute(5_000) });
    await writeFile(file, `half of o\n{"id":"b","untilMs":"soon"}\n${good}\n`);
    const mutes = await Mutes.open({ file, now });
    expect([mutes.of("a")?.by, mutes.of("b")]).toEqual(["ada", null]);
  });
});
