import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { ChaosRun } from "./run-cli.js";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const python = `python3 ${at("../../apps/chaos/docs/workers/redis_worker.py")}`;
const goSource = at("../../apps/chaos/docs/workers/redis_worker.go");
const client = at("support/naive-client.mjs");

async function ran(args: (out: string) => readonly string[]) {
  await using run = new ChaosRun(args);
  const { code } = await run.exited;
  const read = (name: string): string => readFileSync(join(run.out, name), "utf8");
  return {
    code,
    output: run.output,
    summary: code === 254 ? "" : args("").includes("--out") ? read("summary.md") : "",
  };
}

const lacks = (command: string, argument: string): boolean =>
  spawnSync(command, [argument]).error !== undefined;

it("a worker in Python, written from the page of the protocol, keeps to it and is convicted where it breaks", async (context) => {
  if (lacks("python3", "--version")) context.skip("this machine has no python3");
  const test = await ran(() => ["worker-test", python, "--seconds", "1"]);
  expect(test).toMatchObject({ code: 0, output: expect.stringContaining("it keeps to the protocol") });
  const judged = await ran((out) => [
    "run",
    "R03",
    "--seed",
    "1",
    "--worker",
    python,
    "--expect",
    "no-damage",
    "--out",
    out,
  ]);
  expect(judged.code, judged.output).toBe(1);
  expect(judged.output).toMatch(/convicted: .*lost-update/);
  expect(judged.output).toContain("not judged: lost-notice (it does not tell a holder of its loss)");
  expect(judged.summary).toContain("## What was judged of `python3");
});

it("a worker in Go, written from the page of the protocol, keeps to it", async (context) => {
  if (lacks("go", "version")) context.skip("this machine has no go");
  const folder = mkdtempSync(join(tmpdir(), "go-worker-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const worker = join(folder, "redis_worker");
  execFileSync("go", ["build", "-o", worker, goSource], { stdio: "pipe" });
  const test = await ran(() => ["worker-test", worker, "--seconds", "1"]);
  expect(test).toMatchObject({ code: 0, output: expect.stringContaining("it keeps to the protocol") });
});

it("a worker that stamps by the wall clock is told so, with the line and the reason", async (context) => {
  if (lacks("python3", "--version")) context.skip("this machine has no python3");
  const folder = mkdtempSync(join(tmpdir(), "wrong-worker-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const wrong = readFileSync(at("../../apps/chaos/docs/workers/redis_worker.py"), "utf8").replace(
    "time.monotonic_ns() - self.base",
    "time.time_ns()",
  );
  writeFileSync(join(folder, "wrong.py"), wrong);
  const { code, output } = await ran(() => [
    "worker-test",
    `python3 ${join(folder, "wrong.py")}`,
    "--seconds",
    "1",
  ]);
  expect(code).toBe(1);
  expect(output).toMatch(/w0#0, line 2: t is \d+, and the run is at \d+: t is CLOCK_MONOTONIC/);
});

it("a command that is no worker is a sentence and exit 254, and no crash", async () => {
  const { code, output } = await ran(() => ["worker-test", "echo hello"]);
  expect(code, output).toBe(254);
  expect(output).toContain("echo hello: not a line of JSON: hello");
});

it("a client that can do nothing of what was named is exit 3, and each scenario says why it is not judged", async () => {
  const args = ["run", "Z01", "R21", "--client", client];
  const { code, output } = await ran((out) => [...args, "--out", out]);
  expect(code, output).toBe(3);
  expect(output).toMatch(/skipped {4}Z01 .*not judged: the client does not know the servers zookeeper/);
  expect(output).toMatch(/skipped {4}R21 .*not judged: it is about two clients at the same locks/);
});
