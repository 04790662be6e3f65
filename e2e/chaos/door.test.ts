import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, it } from "vitest";
import { inFullRuns } from "../support/share.js";
import { commandLines, convicted } from "./command-lines.js";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const pythonSource = at("../../apps/chaos/docs/workers/redis_worker.py");
const goSource = at("../../apps/chaos/docs/workers/redis_worker.go");
const python = `python3 ${pythonSource}`;

const ran = commandLines();

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "door-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const tested = (command: string) => ran(() => ["worker-test", command, "--seconds", "1"]);

describe.concurrent("a worker", () => {
  it("in Python, written from the page of the protocol, keeps to it", async ({ expect }) => {
    using end = await tested(python);
    expect(end).toMatchObject({ code: 0, output: expect.stringContaining("it keeps to the protocol") });
  });

  // Only in full runs, because the Go compiler builds its whole library first.
  const besides = inFullRuns("workers in Go, from the page of the protocol", 1, it);
  besides("in Go, written from the page of the protocol, keeps to it", async ({ expect }) => {
    const worker = join(folder, "redis_worker");
    await promisify(execFile)("go", ["build", "-o", worker, goSource]);
    using end = await tested(worker);
    expect(end).toMatchObject({ code: 0, output: expect.stringContaining("it keeps to the protocol") });
  });

  it("that stamps by the wall clock fails, with the line and the reason", async ({ expect }) => {
    const wrong = join(folder, "wrong.py");
    const source = readFileSync(pythonSource, "utf8");
    writeFileSync(wrong, source.replace("time.monotonic_ns() - self.base", "time.time_ns()"));
    using end = await tested(`python3 ${wrong}`);
    expect(end.code).toBe(1);
    expect(end.output).toMatch(/w0#0, line 2: t is \d+, and the run is at \d+: t is CLOCK_MONOTONIC/);
  });

  it("that is none is a sentence and exit 254, and no crash", async ({ expect }) => {
    using end = await tested("echo hello");
    expect(end.code, end.output).toBe(254);
    expect(end.output).toContain("echo hello: not a line with one JSON object: hello");
  });

  it("in any language is convicted where its lock breaks, and not judged by what it does not provide", async ({
    expect,
  }) => {
    using end = await ran((out) =>
      ["run", "R03", "--seed", "1", "--worker", python, "--expect", "no-damage"].concat("--out", out),
    );
    expect(end.code, end.output).toBe(1);
    expect(convicted(end)).toContain("lost-update");
    const summary = readFileSync(join(end.out, "summary.md"), "utf8");
    expect(summary).toContain("## What was judged of `python3");
    expect(summary).toContain("lost-notice (it does not tell a holder of its loss)");
  });
});

describe.concurrent("a client", () => {
  it("that can do nothing of what was named is exit 3, and each scenario says why it is not judged", async ({
    expect,
  }) => {
    const client = at("support/naive-client.mjs");
    using end = await ran((out) => ["run", "Z01", "R21", "--client", client, "--out", out]);
    expect(end.code, end.output).toBe(3);
    expect(end.outcomes).toMatchObject([
      { outcome: "skipped", why: expect.stringContaining("does not know the servers zookeeper") },
      { outcome: "skipped", why: expect.stringContaining("it is about two clients at the same locks") },
    ]);
  });

  it("whose module a scenario of the user's names by its URL is run, and convicted as that scenario demands", async ({
    expect,
  }) => {
    using end = await ran((out) => ["run", at("support/own-scenarios.mjs"), "--seed", "1", "--out", out]);
    expect(end.code, `${end.output} ${end.outcomes[0]?.why}`).toBe(0);
    expect(end.outcomes).toMatchObject([{ scenario: { id: "own-pause" }, outcome: "as-expected" }]);
    expect(convicted(end)).toContain("lost-update");
  });
});
