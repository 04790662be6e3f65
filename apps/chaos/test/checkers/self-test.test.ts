import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { checkerNames } from "../../src/checkers/judge.js";
import { handMadeHistories } from "../../src/checkers/self-test/hand-made.js";
import { mislabelled, selfTest, unseenVerdicts } from "../../src/checkers/self-test/self-test.js";

const histories = await handMadeHistories();

it.each(histories)("$name gets every verdict that it is labelled with", async (history) => {
  expect(await mislabelled(history)).toEqual([]);
});

it("has seen every checker convict, pass and not know", () => {
  expect(unseenVerdicts(histories)).toEqual([]);
});

it("names the checker that no history convicts", () => {
  const without = histories.filter(({ verdicts }) => verdicts.fifo !== "violation");
  expect(unseenVerdicts(without)).toEqual(["no hand-made history is labelled violation for fifo"]);
});

it("names a verdict that is not the labelled one, and a conviction for another reason", async () => {
  const [history] = histories.filter(({ name }) => name === "two-holders");
  if (history === undefined) throw new Error("no history named two-holders");
  const relabelled = {
    ...history,
    verdicts: { ...history.verdicts, mutex: "pass" as const },
    shows: { belief: "both for 6.000 ms" },
  };
  expect(await mislabelled(relabelled)).toEqual([
    expect.stringContaining("two-holders: belief does not show"),
    expect.stringContaining("two-holders: mutex says violation and is labelled pass"),
  ]);
});

it("refuses labels that leave a checker out, and convictions without what they show", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-labels-"));
  try {
    await writeFile(join(folder, "a.jsonl"), "");
    const verdicts = Object.fromEntries(checkerNames.map((name) => [name, "unknown"]));
    const label = (value: unknown) => writeFile(join(folder, "a.verdicts.json"), JSON.stringify(value));
    await label({ about: "x", verdicts: { ...verdicts, rw: undefined } });
    await expect(handMadeHistories(folder)).rejects.toThrow("says nothing of rw");
    await label({ about: "x", verdicts: { ...verdicts, rw: "violation" } });
    await expect(handMadeHistories(folder)).rejects.toThrow("not what is to be shown");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it("passes as a whole, the mutants of the simulated recipe among it", async () => {
  const result = await selfTest();
  expect(result.examples).toEqual([]);
  expect(result.verdict).toBe("pass");
  expect(result.metrics.mutants).toBeGreaterThanOrEqual(10);
});
