import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, freePort, srvr } from "../src/index.js";
import { emitSources } from "./support/emitted.js";
import { isGone } from "./support/processes.js";

let emitted: string;

beforeAll(async () => {
  emitted = await emitSources();
});

afterAll(() => rmSync(emitted, { recursive: true }));

/** Runs the command until it has printed `lines` lines, then interrupts it. */
async function interrupted(
  args: string[],
  lines: number,
  look: (printed: string[]) => Promise<void>,
): Promise<number | null> {
  const child = spawn(process.execPath, [join(emitted, "cli.js"), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    out += text;
  });
  const all = () => out.split("\n").slice(0, -1);
  await eventually(() => all().length >= lines, { what: `${lines} lines`, withinMs: 40_000 });
  await look(all());
  child.kill("SIGINT");
  const [code] = await ended;
  return code;
}

test("zookeeper runs one server on the given port until it is interrupted", async () => {
  const port = await freePort();
  const code = await interrupted(["zookeeper", "--port", String(port)], 1, async (printed) => {
    expect(printed).toEqual([`127.0.0.1:${port}`]);
    expect(await srvr({ port })).toMatchObject({ mode: "standalone" });
  });
  expect(code).toBe(0);
  await expect(srvr({ port })).rejects.toMatchObject({ reason: "refused" });
});

test("zookeeper --nodes 3 prints the connect string and each server with its pid and role", async () => {
  const pids: number[] = [];
  const code = await interrupted(["zookeeper", "--nodes", "3"], 4, async ([connectString, ...servers]) => {
    expect(connectString?.split(",")).toEqual(servers.map((line) => line.trim().split(" ")[0]));
    expect(servers.map((line) => line.split(" ").at(-1)).sort()).toEqual(["follower", "follower", "leader"]);
    pids.push(...servers.map((line) => Number(/pid (\d+)/.exec(line)?.[1])));
  });
  expect(code).toBe(0);
  for (const pid of pids) await isGone(pid);
  expect(pids).toHaveLength(3);
});
