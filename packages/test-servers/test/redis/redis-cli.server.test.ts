import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, findRedis, freePort, RedisConnection } from "../../src/index.js";
import { emitSources } from "../support/emitted.js";
import { isGone } from "../support/processes.js";

let emitted: string;

beforeAll(async () => {
  emitted = await emitSources();
});

afterAll(() => rmSync(emitted, { recursive: true }));

/** Runs the command until it has printed `lines` lines, then sends it `signal`. */
async function printed(args: string[], lines: number, signal: NodeJS.Signals, env = {}): Promise<Run> {
  const child = spawn(process.execPath, [join(emitted, "cli.js"), ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    err += text;
  });
  const all = () => out.split("\n").slice(0, -1);
  await eventually(() => all().length >= lines || child.exitCode !== null, {
    what: `${lines} lines`,
    withinMs: 30_000,
  });
  const told = all();
  child.kill(signal);
  const [code] = await ended;
  return { told, err, code, pids: told.flatMap((line) => /pid (\d+)/.exec(line)?.[1] ?? []).map(Number) };
}

interface Run {
  told: string[];
  err: string;
  code: number | null;
  pids: number[];
}

test("redis runs one server on the given port until it is interrupted", async () => {
  const port = await freePort();
  const { told, code } = await printed(["redis", "--port", String(port)], 1, "SIGINT");
  expect(told).toEqual([`redis://127.0.0.1:${port}`]);
  expect(code).toBe(0);
  await expect(RedisConnection.connect({ port })).rejects.toMatchObject({ reason: "refused" });
});

test("redis --kind sentinel prints servers and sentinels, and all die with it when it is killed", async () => {
  const { told, pids } = await printed(["redis", "--kind", "sentinel"], 7, "SIGKILL");
  expect(told[0]).toMatch(/^sentinels (127\.0\.0\.1:\d{5},){2}127\.0\.0\.1:\d{5} name holdfast$/);
  expect(told.slice(1).map((line) => line.split(" ").at(-1))).toEqual(
    "master replica replica sentinel sentinel sentinel".split(" "),
  );
  expect(pids).toHaveLength(6);
  for (const pid of pids) await isGone(pid);
});

test("redis --kind cluster prints six servers, which end with it", async () => {
  const { told, pids, code } = await printed(["redis", "--kind", "cluster"], 7, "SIGTERM");
  expect(told.slice(1).map((line) => line.split(" ").at(-1))).toEqual(
    "master master master replica replica replica".split(" "),
  );
  expect(code).toBe(0);
  expect(pids).toHaveLength(6);
  for (const pid of pids) await isGone(pid);
});

test("REDIS_SERVER names the server to run, and one that names none is an error that says so", async () => {
  const { server } = findRedis() ?? { server: "" };
  const port = String(await freePort());
  const named = await printed(["redis", "--port", port], 1, "SIGINT", { REDIS_SERVER: server });
  expect(named).toMatchObject({ code: 0, err: "" });
  const wrong = await printed(["redis"], 1, "SIGINT", { REDIS_SERVER: "/no/such/program" });
  expect(wrong).toMatchObject({ code: 1, told: [] });
  expect(wrong.err).toContain(
    "no Redis server on this machine; run: npx holdfast-servers ensure --only redis",
  );
  const ensure = await printed(["ensure", "--only", "redis"], 1, "SIGINT", {
    REDIS_SERVER: "/no/such/program",
  });
  expect(ensure.code).toBe(1);
  expect(ensure.err).toContain("REDIS_SERVER is /no/such/program, which is not a program");
});
