import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { closeOnSignals, InvalidArgumentError, memoryLocks } from "@holdfast/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const here = fileURLToPath(new URL("..", import.meta.url));

/** The package as users get it: compiled, and loaded by plain Node in its own process. */
describe("a process of its own", () => {
  let folder = "";
  let entry = "";

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "holdfast-core-"));
    const tsc = join(createRequire(import.meta.url).resolve("typescript/package.json"), "..", "bin", "tsc");
    await run(process.execPath, [
      tsc,
      "-p",
      join(here, "tsconfig.build.json"),
      "--outDir",
      join(folder, "dist"),
    ]);
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    await symlink(join(here, "../../node_modules"), join(folder, "node_modules"));
    entry = pathToFileURL(join(folder, "dist/index.js")).href;
  }, 300_000);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function script(name: string, source: string): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, source);
    return path;
  }

  it("exits by itself once everything is released, without close()", async () => {
    const path = await script(
      "exits.js",
      `import { memoryLocks } from ${JSON.stringify(entry)};
       const locks = memoryLocks();
       const handle = await locks.mutex("a").acquire({ waitMs: 60_000 });
       const refused = await locks.mutex("a").tryAcquire({ waitMs: 20 });
       await handle.release();
       await locks.reentrantMutex("a").withLock({ waitMs: 60_000 }, () => {});
       console.log(refused, "done");`,
    );
    const { stdout, stderr } = await run(process.execPath, [path], { timeout: 45_000 });
    expect({ stdout, stderr }).toEqual({ stdout: "null done\n", stderr: "" });
  });

  it("says with NODE_DEBUG=holdfast who acquires, waits for whom, and loses which lock, and nothing without it", async () => {
    const path = await script(
      "says.js",
      `import { memoryLocks, MemorySpace } from ${JSON.stringify(entry)};
       import { memoryControls } from ${JSON.stringify(entry.replace("index.js", "testing.js"))};
       const space = new MemorySpace();
       const [locks, others] = [memoryLocks({ space }), memoryLocks({ space, identity: true })];
       const holder = await others.mutex("orders/42").acquire({ label: "host-1" });
       const waiter = locks.mutex("orders/42").acquire({ waitMs: 60_000, label: "host-2" });
       await locks.mutex("orders/42").acquire({ waitMs: 20, label: "host-3" }).catch(() => {});
       await holder.release();
       await waiter;
       memoryControls(locks).steal("orders/42");
       console.log("done");`,
    );
    const loud = await run(process.execPath, [path], {
      env: { ...process.env, NODE_DEBUG: "holdfast" },
      timeout: 45_000,
    });
    const lines = loud.stderr
      .trim()
      .split("\n")
      .map((line) =>
        line
          .replace(/^HOLDFAST \d+: /, "")
          .replace(/ \([\w-]+:\d+\)/, "")
          .replace(/\d+ ms/, "9 ms"),
      );
    expect(lines).toEqual([
      'acquire: mutex "orders/42", owner host-1',
      'granted: mutex "orders/42", owner host-1 after 9 ms, token 1',
      'acquire: mutex "orders/42", owner host-2',
      'waits: mutex "orders/42", owner host-2',
      'acquire: mutex "orders/42", owner host-3',
      'waits: mutex "orders/42", owner host-3',
      'waits: mutex "orders/42", owner host-2: held by host-1',
      'waits: mutex "orders/42", owner host-3: held by host-1',
      'timeout: mutex "orders/42", owner host-3 after 9 ms',
      'granted: mutex "orders/42", owner host-2 after 9 ms, token 2',
      'released: mutex "orders/42", owner host-1 after 9 ms',
      'lost: mutex "orders/42", owner host-2 after 9 ms: stolen',
    ]);
    const quiet = await run(process.execPath, [path], { timeout: 45_000 });
    expect(quiet).toEqual({ stdout: "done\n", stderr: "" });
  });

  it("stays alive while an acquire waits with a limit", async () => {
    const path = await script(
      "waits.js",
      `import { memoryLocks } from ${JSON.stringify(entry)};
       const lock = memoryLocks().mutex("a");
       await lock.acquire();
       await lock.acquire({ waitMs: 150 }).catch((error) => console.log(error.code));`,
    );
    const { stdout } = await run(process.execPath, [path], { timeout: 45_000 });
    expect(stdout).toBe("HF_ACQUIRE_TIMEOUT\n");
  });

  it("has no unhandled rejection of its own when everything is refused, aborted, lost and closed", async () => {
    const testing = pathToFileURL(join(folder, "dist/testing/memory-controls.js")).href;
    const path = await script(
      "unhandled.js",
      `import { memoryLocks } from ${JSON.stringify(entry)};
       import { memoryControls } from ${JSON.stringify(testing)};
       process.on("unhandledRejection", (error) => { console.log("unhandled", error); process.exitCode = 1; });
       const locks = memoryLocks({ releaseTimeoutMs: 30, connectTimeoutMs: 30 });
       const controls = memoryControls(locks);
       const a = await locks.mutex("a").acquire();
       const b = await locks.mutex("b").acquire();
       void a.lost; void b.lost;
       const waits = [locks.mutex("a").acquire({ waitMs: 5 }), locks.mutex("a").acquire(), locks.mutex("a").acquire()];
       const settled = Promise.allSettled(waits);
       controls.steal("a");
       controls.suspend();
       await b.release();
       await locks.mutex("c").acquire().catch((error) => console.log(error.code));
       controls.expire();
       controls.reconnect();
       await locks.close();
       await settled;
       await new Promise((resolve) => setTimeout(resolve, 100));
       console.log("end");`,
    );
    const { stdout } = await run(process.execPath, [path], { timeout: 45_000 });
    expect(stdout).toBe("HF_BACKEND\nend\n");
  });

  it("closes its provider on the first signal and then dies of it", async () => {
    const path = await script(
      "signal.js",
      `import { closeOnSignals, memoryLocks } from ${JSON.stringify(entry)};
       const locks = memoryLocks();
       closeOnSignals(locks);
       const handle = await locks.mutex("a").acquire();
       locks.events.on("lost", (event) => console.log("told", event.reason));
       handle.lost.addEventListener("abort", () => console.log("state", locks.state));
       setInterval(() => {}, 1000);
       console.log("ready");`,
    );
    const child = spawn(process.execPath, [path], { stdio: ["ignore", "pipe", "inherit"] });
    const output = await untilExit(child, [["ready\n", "SIGTERM"]]);
    expect(child.signalCode).toBe("SIGTERM");
    expect(output).toBe("ready\nstate closed\ntold provider-closed\n");
  });

  const signalCases: readonly SignalCase[] = [
    {
      title: "a leader ends by the signal, and lead() resolves before",
      source: `closeOnSignals(locks);
        locks.leaderElection("e").lead({ signal: never }, async (term, { signal }) => {
          say("leads");
          await aborted(signal);
          throw signal.reason;
        }).then(() => say("led"));`,
      steps: [["leads", "SIGTERM"]],
      expected: ["leads", "led"],
    },
    {
      title: "a leader ends without an error where the process has a handler of its own and goes on",
      source: `closeOnSignals(locks);
        process.on("SIGTERM", () => {});
        locks.leaderElection("e").lead({ signal: never }, async (term, { signal }) => {
          say("leads");
          await aborted(signal);
          throw signal.reason;
        }).then(() => { say("led"); clearInterval(alive); });`,
      steps: [["leads", "SIGTERM"]],
      signal: null,
      expected: ["leads", "led"],
    },
    {
      title:
        "a candidate ends by the signal, as does its leader, whose body asks for another lock on the way out",
      source: `closeOnSignals(locks, { graceMs: 60_000 });
        const election = locks.leaderElection("e");
        election.lead({ signal: never }, async (term, { signal }) => {
          say("leads");
          await aborted(signal);
          say(term.state);
          await locks.mutex("a").acquire();
        }).then(() => say("led"));
        election.lead({ signal: never }, () => say("never")).then(() => say("stood"));`,
      steps: [["leads", "SIGINT"]],
      signal: "SIGINT",
      expected: ["leads", "held", "stood", "led"],
    },
    {
      title: "a lead() that begins while the provider closes does nothing",
      source: `closeOnSignals(locks, { graceMs: 60_000 });
        const lock = await locks.mutex("a").acquire();
        process.once("SIGTERM", async () => {
          await locks.leaderElection("e").lead({ signal: never }, () => say("never"));
          say("not led");
          await lock.release();
        });
        say("ready");`,
      steps: [["ready", "SIGTERM"]],
      expected: ["ready", "not led"],
    },
    {
      title: "requests in flight finish within the grace, and new ones are refused",
      source: `closeOnSignals(locks, { graceMs: 60_000 });
        const request = (name, done) => locks.mutex(name).withLock(() => done).then(
          () => name + " 200", (error) => name + " " + error.code);
        const working = gate();
        const inFlight = request("first", working.opened);
        const queued = request("first", working.opened);
        process.once("SIGTERM", async () => {
          for (const refused of [queued, request("second")]) say(await refused);
          say(locks.state);
          working.open();
          say(await inFlight);
        });
        say("ready");`,
      steps: [["ready", "SIGTERM"]],
      expected: ["ready", "first HF_PROVIDER_CLOSED", "second HF_PROVIDER_CLOSED", "connected", "first 200"],
    },
    {
      title: "a request that takes longer than the grace loses its lock, and the process ends",
      source: `closeOnSignals(locks, { graceMs: 50 });
        locks.mutex("a").withLock(async (lock, { signal }) => {
          say("works");
          await aborted(signal);
          say(signal.reason.reason);
        }).catch((error) => say(error.code));`,
      steps: [["works", "SIGTERM"]],
      expected: ["works", "provider-closed", "HF_LOCK_LOST"],
    },
    {
      title: "a second signal within the grace ends the process at once",
      source: `closeOnSignals(locks, { graceMs: 3_600_000 });
        await locks.mutex("a").acquire();
        locks.mutex("a").acquire().catch((error) => say(error.code));
        say("ready");`,
      steps: [
        ["ready", "SIGTERM"],
        ["HF_PROVIDER_CLOSED", "SIGINT"],
      ],
      signal: "SIGINT",
      expected: ["ready", "HF_PROVIDER_CLOSED"],
    },
    {
      title: "of two providers both have closed before the process ends",
      source: `closeOnSignals(locks);
        const others = memoryLocks();
        closeOnSignals(others, { graceMs: 60_000 });
        const lock = await others.mutex("a").acquire();
        locks.leaderElection("e").lead({ signal: never }, (term, { signal }) => aborted(signal)).then(async () => {
          say("led");
          setTimeout(async () => say(await lock.release()), 50);
        });
        say("ready");`,
      steps: [["ready", "SIGTERM"]],
      expected: ["ready", "led", "released"],
    },
  ];

  it.each(signalCases)("on a signal: $title", async ({ source, steps, signal = "SIGTERM", expected }) => {
    const path = await script(
      "signals.js",
      `import { closeOnSignals, memoryLocks } from ${JSON.stringify(entry)};
       const say = (line) => console.log(line);
       const aborted = (signal) => new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
       const gate = () => { let open; const opened = new Promise((resolve) => { open = resolve; }); return { open, opened }; };
       const never = new AbortController().signal;
       const locks = memoryLocks();
       const alive = setInterval(() => {}, 1000);
       ${source}`,
    );
    const child = spawn(process.execPath, [path], { stdio: ["ignore", "pipe", "pipe"] });
    let complaints = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      complaints += chunk;
    });
    const output = await untilExit(child, steps);
    expect({ complaints, output: output.trim().split("\n") }).toEqual({ complaints: "", output: expected });
    expect([child.exitCode, child.signalCode]).toEqual([signal === null ? 0 : null, signal]);
  });

  it("keeps its own behaviour on signals once closeOnSignals is disposed of", async () => {
    const path = await script(
      "disposed.js",
      `import { closeOnSignals, memoryLocks } from ${JSON.stringify(entry)};
       const locks = memoryLocks();
       closeOnSignals(locks, ["SIGHUP", "SIGTERM"])[Symbol.dispose]();
       process.on("exit", () => console.log("not reached by a signal"));
       setInterval(() => {}, 1000);
       console.log(process.listenerCount("SIGHUP"), process.listenerCount("SIGTERM"));`,
    );
    const child = spawn(process.execPath, [path], { stdio: ["ignore", "pipe", "inherit"] });
    const output = await untilExit(child, [["\n", "SIGTERM"]]);
    expect(child.signalCode).toBe("SIGTERM");
    expect(output).toBe("0 0\n");
  });

  it("closeOnSignals refuses what is no provider and what are no signals at once", async () => {
    const locks = memoryLocks();
    const wrong: [unknown[], RegExp][] = [
      [[], /provider must be given/],
      [[[locks, locks]], /provider must be one provider; got an array: call it for each of them/],
      [[{}], /provider must be an object with the method close\(\); got an object/],
      [[locks, "SIGTERM"], /options must be an object; got "SIGTERM"/],
      [[locks, []], /signals must be an array of one signal or more; got an array/],
      [[locks, ["SIGKILL"]], /a signal must be one of SIGTERM, SIGINT, SIGHUP; got "SIGKILL"/],
      [[locks, { signals: "SIGINT" }], /signals must be an array of one signal or more; got "SIGINT"/],
      [[locks, { graceMs: -1 }], /graceMs must be a number of milliseconds, 0 or more and finite; got -1/],
      [[locks, { grace: 1 }], /does not know the option "grace"\. Known: graceMs, signals/],
    ];
    const before = process.listenerCount("SIGTERM");
    for (const [given, message] of wrong) {
      const call = () => closeOnSignals(...(given as Parameters<typeof closeOnSignals>));
      expect(call).toThrow(InvalidArgumentError);
      expect(call).toThrow(message);
    }
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });

  it("may be CommonJS: require() loads the package", async () => {
    const path = await script(
      "required.cjs",
      `const { memoryLocks, LockLostError } = require(${JSON.stringify(join(folder, "dist/index.js"))});
       memoryLocks().mutex("a").withLock((lock) => console.log(lock.state, LockLostError.name));`,
    );
    const { stdout } = await run(process.execPath, [path], { timeout: 45_000 });
    expect(stdout).toBe("held LockLostError\n");
  });
});

/** Each signal is sent once: as soon as the output contains the text beside it. */
type Steps = readonly (readonly [text: string, signal: NodeJS.Signals])[];

interface SignalCase {
  readonly title: string;
  readonly source: string;
  readonly steps: Steps;
  /** The signal that ends the process, default SIGTERM. `null`: the process ends by itself, with exit code 0. */
  readonly signal?: NodeJS.Signals | null;
  /** All lines of its output. */
  readonly expected: readonly string[];
}

/** Sends the signals. Resolves to all output when the child has ended. */
function untilExit(child: ChildProcess, steps: Steps): Promise<string> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`the child did not end; it said: ${output}`));
    }, 45_000);
    let output = "";
    let sent = 0;
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      const [text, signal] = steps[sent] ?? [];
      if (text === undefined || !output.includes(text)) return;
      sent++;
      child.kill(signal);
    });
    child.on("error", reject);
    child.on("close", () => {
      clearTimeout(limit);
      resolve(output);
    });
  });
}
