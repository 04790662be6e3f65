import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { eventually, freePort, startProxy, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { emitPackages } from "./emitted.js";
import { createRequest, open, outcomeOf, statesOf } from "./support.js";

let server: ZooKeeperNode;

beforeAll(async () => {
  server = await startZooKeeper();
});

afterAll(() => server.stop());

async function tookMs(promise: Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await promise;
  return performance.now() - startMs;
}

describe("close", () => {
  test("answers what was sent before it, ends the session, and says so once", async () => {
    const session = open(server.connectString);
    await session.whenConnected();
    const states = statesOf(session);
    const before = outcomeOf(session, "create2", createRequest("/closing", 1));
    const first = session.close();
    expect(session.close()).toBe(first);
    const after = outcomeOf(session, "exists", { path: "/", watch: false });
    expect(await tookMs(first)).toBeLessThan(3_000);
    expect((await before).ok).toBe(true);
    const late = await after;
    expect(late.ok ? null : late.error.name).toBe("SessionLostError");
    expect(states).toEqual(["closed"]);
    expect(session.leaseUntilMs()).toBe(-Infinity);
    const other = open(server.connectString);
    await other.whenConnected();
    expect((await outcomeOf(other, "exists", { path: "/closing", watch: false })).ok).toBe(false);
  });

  test("is done at once where no connection ever was", async () => {
    const refused = open(`127.0.0.1:${await freePort()}`);
    expect(await tookMs(refused.close())).toBeLessThan(1_500);
    const atOnce = open(server.connectString);
    const waiting = expect(atOnce.whenConnected()).rejects.toThrow(/session is over/);
    expect(await tookMs(atOnce.close())).toBeLessThan(1_500);
    await waiting;
    expect(atOnce.state).toBe("closed");
  });

  test("is bounded with a silent peer, and with none", async () => {
    const proxy = await startProxy({ target: server.connectString });
    onTestFinished(() => proxy.close());
    const silent = open(proxy.connectString);
    const down = open(proxy.connectString);
    await Promise.all([silent.whenConnected(), down.whenConnected()]);
    await proxy.setMode("hole");
    expect(await tookMs(silent.close({ waitMs: 400 }))).toBeLessThan(3_000);
    await proxy.setMode("refuse");
    proxy.resetAll();
    await eventually(() => down.state === "suspended", { what: "the cut" });
    const lost = outcomeOf(down, "exists", { path: "/", watch: false });
    expect(await tookMs(down.close({ waitMs: 400 }))).toBeLessThan(3_000);
    expect((await lost).ok).toBe(false);
    await eventually(() => proxy.open === 0, { what: "the sockets to go" });
  });

  test("ends the session at the server although the link is down when it is called", async () => {
    const proxy = await startProxy({ target: server.connectString });
    onTestFinished(() => proxy.close());
    const session = open(proxy.connectString);
    await session.whenConnected();
    await session.request("create2", createRequest("/down-when-closed", 1));
    await proxy.setMode("refuse");
    proxy.resetAll();
    await eventually(() => session.state === "suspended", { what: "the cut" });
    const closed = session.close({ waitMs: 10_000 });
    await proxy.setMode("ok");
    expect(await tookMs(closed)).toBeLessThan(3_500);
    const other = open(server.connectString);
    await other.whenConnected();
    expect((await outcomeOf(other, "exists", { path: "/down-when-closed", watch: false })).ok).toBe(false);
  });

  test("while the handshake hangs lets go of the socket", async () => {
    const mute = createServer((socket) => socket.on("error", () => {}).resume());
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void mute.close());
    const accepted = new Promise<void>((resolve) => mute.once("connection", () => resolve()));
    const session = open(`127.0.0.1:${(mute.address() as { port: number }).port}`);
    await accepted;
    expect(await tookMs(session.close())).toBeLessThan(1_500);
    const left = (): Promise<number> =>
      new Promise((resolve, reject) =>
        mute.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      );
    await eventually(async () => (await left()) === 0, { what: "the socket to go" });
  });
});

describe("a process", () => {
  let emitted: Awaited<ReturnType<typeof emitPackages>>;

  beforeAll(async () => {
    emitted = await emitPackages();
  });

  afterAll(() => rmSync(emitted.folder, { recursive: true }));

  /** Runs the fixture in its own process. */
  function run(scenario: string, connect: string) {
    const fixture = fileURLToPath(new URL("./fixtures/lone-process.mjs", import.meta.url));
    const child = spawn(process.execPath, [fixture, emitted.sources, scenario, connect], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const running = { output: "", ended: undefined as unknown as Promise<number | null>, over: false };
    const read = (data: Buffer): void => {
      running.output += String(data);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    running.ended = new Promise((resolve) =>
      child.once("close", (code) => {
        running.over = true;
        resolve(code);
      }),
    );
    return running;
  }

  test.each(["closed", "idle", "refused"])("exits by itself with a session that is %s", async (scenario) => {
    const child = run(
      scenario,
      scenario === "refused" ? `127.0.0.1:${await freePort()}` : server.connectString,
    );
    expect({ code: await child.ended, output: child.output }).toEqual({ code: 0, output: `${scenario}\n` });
  });

  test("stays as long as it waits for a watch, through a cut link", async () => {
    const proxy = await startProxy({ target: server.connectString });
    onTestFinished(() => proxy.close());
    const child = run("watching", proxy.connectString);
    await eventually(() => child.output === "armed\n", { what: "the watch" });
    await proxy.setMode("refuse");
    proxy.resetAll();
    // An idle process would have exited by then.
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(child.over).toBe(false);
    await proxy.setMode("ok");
    await eventually(() => proxy.open === 1, { what: "the reconnect" });
    const other = open(server.connectString);
    await other.whenConnected();
    await other.request("create2", createRequest("/awaited"));
    expect({ code: await child.ended, output: child.output }).toEqual({ code: 0, output: "armed\nfired\n" });
  });
});
