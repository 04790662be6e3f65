import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const here = fileURLToPath(new URL("..", import.meta.url));

/** The package as users get it: compiled, and loaded by plain Node in a process of its own. */
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

  it("stays alive while somebody waits with a limit", async () => {
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

  it("has no unhandled rejection when everything is refused, aborted, lost and closed and nobody looks", async () => {
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
    const output = await untilExit(child, "ready\n", () => child.kill("SIGTERM"));
    expect(child.signalCode).toBe("SIGTERM");
    expect(output).toBe("ready\nstate closed\ntold provider-closed\n");
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
    const output = await untilExit(child, "\n", () => child.kill("SIGTERM"));
    expect(child.signalCode).toBe("SIGTERM");
    expect(output).toBe("0 0\n");
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

/** Calls `then` once the output contains `marker`, and gives all output when the child has ended. */
function untilExit(child: ChildProcess, marker: string, then: () => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`the child did not end; it said: ${output}`));
    }, 45_000);
    let output = "";
    let marked = false;
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      if (marked || !output.includes(marker)) return;
      marked = true;
      then();
    });
    child.on("error", reject);
    child.on("close", () => {
      clearTimeout(limit);
      resolve(output);
    });
  });
}
