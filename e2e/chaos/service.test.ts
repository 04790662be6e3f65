import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, it } from "vitest";
import { commandLines, convicted } from "./command-lines.js";
import { ChaosRun } from "./run-cli.js";

const ran = commandLines();

const at = (name: string): string => fileURLToPath(new URL(`support/service/${name}`, import.meta.url));

/** A word that only the instances of one run have in their command lines. */
const marked = (word: string): string => `${word}-${process.pid}`;

/**
 * The command line of a run that pauses the holding instance for longer than its lease. A pause is two of the leases that the
 * command line names. They are longer than those of the service, so that the other instance can write meanwhile on a busy
 * machine, too.
 */
const paused =
  (word: string, servers: "redis" | "zookeeper", env: readonly string[]) =>
  (out: string): string[] => [
    ...["run", "pause", "--service", `${process.execPath} ${at("stock-service.mjs")} ${marked(word)}`],
    ...["--key", "stock", "--servers", servers, "--lease-ms", servers === "redis" ? "2400" : "3000"],
    ...["--instances", "2", "--times", "1", "--load", at("stock-load.mjs")],
    ...["PORT={port}", ...env].flatMap((each) => ["--env", each]),
    ...["--ready", "http://127.0.0.1:{port}/healthz", "--seed", "1", "--out", out],
  ];
const onRedis = "REDIS_URL=redis://{redis}";

/** The processes that are instances of a run. */
const instances = (word: string): string[] =>
  readdirSync("/proc").filter((name) => {
    try {
      if (!/^\d+$/.test(name)) return false;
      // The whole argument must be equal: the run and a shell have the word only inside a longer argument.
      return readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").includes(marked(word));
    } catch {
      return false; // it has ended meanwhile
    }
  });

describe.concurrent("a service", () => {
  it("that ignores that its lock is lost is convicted by what it wrote, when the instance that holds stands still", async ({
    expect,
  }) => {
    using end = await ran(paused("ignores", "redis", [onRedis]));
    expect(end.code, end.output).toBe(1);
    expect(end.outcomes).toMatchObject([{ outcome: "violation", scenario: { id: "pause" } }]);
    expect(convicted(end)).toEqual(expect.arrayContaining(["effect", "lost-update"]));
  });

  it("at ZooKeeper that hands its token on is not convicted: its late write is refused", async ({
    expect,
  }) => {
    using end = await ran(paused("hands-on", "zookeeper", ["ZOOKEEPER={zookeeper}", "TOKENS=1"]));
    expect(end.code, end.output).toBe(0);
    const effect = end.outcomes[0]?.results.find(({ checker }) => checker === "effect");
    expect(effect).toMatchObject({ verdict: "pass", metrics: { rejected: expect.toSatisfy((n) => n > 0) } });
  });

  it("whose run is killed does not go on", async ({ expect }) => {
    await using run = new ChaosRun(paused("killed", "redis", [onRedis]));
    const working = (): boolean => instances("killed").length >= 2 && run.output.includes("pause begins");
    await expect.poll(working, { timeout: 60_000, message: "the service is there" }).toBe(true);
    process.kill(run.pid, "SIGKILL");
    expect(await run.exited).toMatchObject({ signal: "SIGKILL" });
    await expect.poll(() => instances("killed")).toEqual([]);
  });

  it("that is started by another program is a sentence, because faults would hit the wrong process, and none of it is left", async ({
    expect,
  }) => {
    using end = await ran((out) =>
      paused("within", "redis", [onRedis])(out).map((each) =>
        each.includes("stock-service") ? `sh -c '${each}; true'` : each,
      ),
    );
    expect(end.code, end.output).toBe(255);
    expect(end.outcomes[0]?.why).toContain(
      "give the command that is the service itself (node server.js, and not npm start)",
    );
    await expect.poll(() => instances("within")).toEqual([]);
  });

  it("is called by a load whose console does not end up among the messages to the runner", async ({
    expect,
  }) => {
    const entry = fileURLToPath(new URL("../../apps/chaos/dist/service/load-main.js", import.meta.url));
    const module = 'data:text/javascript,export default async () => console.log("GET / 200");';
    const env = { ...process.env, CHAOS_LOAD: JSON.stringify({ module, urls: [] }) };
    const load = spawn(process.execPath, [entry], { env, stdio: "pipe" });
    for (const word of ["setup", "start", "stop"]) load.stdin.write(`${JSON.stringify({ do: word })}\n`);
    const [said, logged, [code]] = await Promise.all([
      text(load.stdout),
      text(load.stderr),
      once(load, "exit"),
    ]);
    expect(said.trimEnd().split("\n")).toEqual(['{"say":"ready"}', '{"say":"done"}']);
    expect(logged).toContain("GET / 200");
    expect(code).toBe(0);
  });

  it("that is done ends by itself after its last write, although the runner's resource stays open to it", async ({
    expect,
  }) => {
    await using resource = createServer((socket) => {
      socket.on("error", () => {});
      createInterface({ input: socket }).on("line", (line) => {
        const { id } = JSON.parse(line) as { id: number };
        socket.write(`${JSON.stringify({ id, accepted: true, value: 0 })}\n`);
      });
    });
    await once(resource.listen(0, "127.0.0.1"), "listening");
    const { port } = resource.address() as AddressInfo;
    const about = { fd: 1, p: "s0#0", clockBase: "0", resource: `127.0.0.1:${port}`, keys: ["stock"] };
    const code = `const { probe } = await import(process.argv[1]);
      await probe.acquiring("stock").granted().write();`;
    const entry = new URL("../../apps/chaos/dist/probe/index.js", import.meta.url).href;
    const service = spawn(process.execPath, ["--input-type=module", "-e", code, entry], {
      env: { ...process.env, CHAOS_PROBE: JSON.stringify(about) },
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const [said, [exitCode]] = await Promise.all([
        text(service.stdout),
        once(service, "exit", { signal: AbortSignal.timeout(20_000) }),
      ]);
      expect(said).toContain('"type":"ok","p":"s0#0","f":"write"');
      expect(exitCode).toBe(0);
    } finally {
      service.kill("SIGKILL");
    }
  });
});
