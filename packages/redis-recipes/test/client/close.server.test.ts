import { spawn } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ProviderClosedError } from "@holdfast/core";
import {
  eventually,
  freePort,
  type RedisNode,
  startRedis,
  startRedisCluster,
  startRedisProxy,
  startRedisReplicaSet,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { RedisLocksOptions } from "../../src/provider/options.js";
import { emitPackages } from "./emitted.js";
import { freshName, increment, openLine, settled } from "./support.js";

let server: RedisNode;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

describe("close", () => {
  test("sends what was given before it, refuses what comes after it, and leaves no connection", async () => {
    const proxy = await startRedisProxy({ target: server.address });
    onTestFinished(() => proxy.close());
    const { line, states } = openLine({ url: `redis://${proxy.connectString}` });
    await line.subscribe(freshName("closing"), "plain", () => {}).ready;
    await line.whenConnected();
    const key = freshName("closing");
    const before = line.run(increment, [key], []);
    await line.close(1_000);
    await settled(before);
    expect(await server.command("GET", key)).toBe("1");
    await expect(line.run(increment, [key], [])).rejects.toBeInstanceOf(ProviderClosedError);
    expect(await Promise.all(line.runAll(increment, [{ keys: [key], args: [] }]))).toMatchObject([
      { code: "HF_PROVIDER_CLOSED" },
    ]);
    await expect(line.whenConnected()).rejects.toBeInstanceOf(ProviderClosedError);
    expect(states).toEqual(["connected", "suspended"]);
    await eventually(() => proxy.open === 0, { what: "the sockets to go" });
  });

  test("ends waits for a connection", async () => {
    const { line } = openLine({ url: `redis://127.0.0.1:${await freePort()}` });
    const waiting = settled(line.whenConnected());
    await line.close(1_000);
    expect((await waiting).error).toBeInstanceOf(ProviderClosedError);
  });

  test("is bounded with a server that is silent", async () => {
    const proxy = await startRedisProxy({ target: server.address });
    onTestFinished(() => proxy.close());
    const { line } = openLine({ url: `redis://${proxy.connectString}` });
    await line.whenConnected();
    await proxy.setMode("hole");
    const { tookMs } = await settled(line.close(300));
    expect(tookMs).toBeLessThan(5_000);
    // The silent proxy has also swallowed the end of the connections.
    await proxy.setMode("ok");
    await eventually(() => proxy.open === 0, { what: "the sockets to go", withinMs: 20_000 });
  });
});

describe("a process", () => {
  let emitted: Awaited<ReturnType<typeof emitPackages>>;
  let fixture: string;

  beforeAll(async () => {
    emitted = await emitPackages();
    // The fixture is put beside the packages, so that it finds them.
    fixture = join(emitted.folder, "lone-process.mjs");
    copyFileSync(fileURLToPath(new URL("./fixtures/lone-process.mjs", import.meta.url)), fixture);
  });
  afterAll(() => rmSync(emitted.folder, { recursive: true }));

  function run(scenario: string, options: RedisLocksOptions) {
    const child = spawn(process.execPath, [fixture, emitted.sources, scenario, JSON.stringify(options)], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const running = { child, output: "", ended: undefined as unknown as Promise<number | null> };
    const read = (data: Buffer): void => {
      running.output += String(data);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    running.ended = new Promise((resolve) => child.once("close", resolve));
    return running;
  }

  async function exits(running: ReturnType<typeof run>, output: string): Promise<void> {
    // If the process does not exit by itself, this waits until the test's own limit.
    expect({ code: await running.ended, output: running.output }).toEqual({ code: 0, output });
  }

  test.each(["connected", "at-once"])(
    "exits by itself after a line that was closed when %s",
    async (scenario) => {
      await exits(run(scenario, { url: server.url }), `${scenario}\n`);
    },
  );

  test("exits by itself where no server listened", async () => {
    await exits(run("refused", { url: `redis://127.0.0.1:${await freePort()}` }), "refused\n");
  });

  test("exits by itself when the server has gone silent", async () => {
    const proxy = await startRedisProxy({ target: server.address });
    onTestFinished(() => proxy.close());
    const running = run("silent", { url: `redis://${proxy.connectString}` });
    await eventually(() => running.output === "connected\n", { what: "the connection" });
    await proxy.setMode("hole");
    running.child.stdin.end("go\n");
    await exits(running, "connected\nsilent\n");
  });

  test("exits by itself after sentinels, even one that was just asked", async () => {
    const set = await startRedisReplicaSet({ replicas: 1 });
    onTestFinished(() => set.stop());
    const options = { sentinels: { sentinels: set.sentinelAddresses, name: "holdfast" } };
    await Promise.all(
      ["connected", "at-once"].map((scenario) => exits(run(scenario, options), `${scenario}\n`)),
    );
  });

  test("exits by itself after a cluster", async () => {
    const cluster = await startRedisCluster();
    onTestFinished(() => cluster.stop());
    const options = { cluster: { nodes: cluster.addresses } };
    await Promise.all(
      ["connected", "at-once"].map((scenario) => exits(run(scenario, options), `${scenario}\n`)),
    );
  });
});
