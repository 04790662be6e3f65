import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { catalogue, run, type Scenario } from "@holdfast/chaos";
import { expect, it, onTestFinished } from "vitest";

/** A run takes five seconds; a machine under load gets more. */
const timeout = 120_000;

const fenced = catalogue.find(({ id }) => id === "Z02") as Scenario;

it("two ends of sessions that mean the same worker in the same moment end two sessions of it, one after the other", {
  timeout,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "chaos-session-kill-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  const twice = [1, 2].map((number) => ({
    number,
    fault: "zk.session-kill",
    target: "worker(w0)",
    after: "granted(k1, 2)",
    atMs: 300,
  }));
  const { outcomes } = await run({
    scenarios: [{ ...fenced, runMs: 2_000, expect: { ...fenced.expect, figures: {} } }],
    seed: 1,
    folder,
    capabilities: ["zookeeper", "java"],
    plans: { [fenced.id]: twice },
    keep: "always",
  });
  expect(outcomes).toMatchObject([{ outcome: "as-expected", missing: [] }]);
  const history = readFileSync(join(folder, fenced.id, "history.jsonl"), "utf8")
    .trim()
    .split("\n");
  const ended = history
    .map((line) => JSON.parse(line))
    .filter(({ type, f, phase }) => type === "fault" && f === "zk.session-kill" && phase === "end");
  expect(new Set(ended.map(({ evidence }) => evidence.session)).size).toBe(2);
});
