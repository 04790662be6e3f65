import { execFileSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../src/index.js";
import { logTail, makeScratchFolder, removeScratchFolder } from "../src/process/scratch-folder.js";
import { TetheredProcess } from "../src/process/tethered-process.js";
import { emitSources } from "./support/emitted.js";
import { childrenOf, isGone, isRunning, runModule } from "./support/processes.js";

let folder: string;
let emitted: string;

beforeAll(async () => {
  emitted = await emitSources();
});

afterAll(() => rmSync(emitted, { recursive: true }));

beforeEach(() => {
  folder = makeScratchFolder("test");
});

afterEach(() => removeScratchFolder(folder));

function start(command: string, ...args: string[]): Promise<TetheredProcess> {
  return TetheredProcess.spawn({ command, args, cwd: folder, logFile: join(folder, "log") });
}

/** A program that holds a tethered `sleep`, prints its pid, and then runs `last`. */
async function parentThat(last: string): Promise<{ parent: number; pid: number; ended: Promise<unknown> }> {
  const url = pathToFileURL(join(emitted, "process/tethered-process.js"));
  const {
    pid: parent,
    said,
    ended,
  } = await runModule(`
    import { TetheredProcess } from ${JSON.stringify(url)};
    const tethered = await TetheredProcess.spawn({
      command: "sleep", args: ["600"], cwd: "/",
      logFile: ${JSON.stringify(join(folder, "log"))}, scratchFolder: ${JSON.stringify(join(folder, "scratch"))},
    });
    console.log(JSON.stringify({ pid: tethered.pid }));
    ${last}
  `);
  return { parent, pid: Number(said.pid), ended };
}

test("the pid is the command's own, and its output goes to the log", async () => {
  const tethered = await start("sh", "-c", "echo I am $$; exec sleep 600");
  await eventually(() => logTail(join(folder, "log")).includes(`I am ${tethered.pid}`), {
    what: "the pid in the log",
  });
  expect(await tethered.kill()).toEqual({ code: null, signal: "SIGKILL" });
  expect(tethered.running).toBe(false);
});

test("standard input is empty and the tether is not inherited", async () => {
  const tethered = await start("sh", "-c", "cat; ls -l /proc/self/fd | grep -c socket: >&2; exit 3");
  expect(await tethered.exited).toEqual({ code: 3, signal: null });
  expect(logTail(join(folder, "log"))).toBe("the end of its log:\n0");
});

/** The watchdog of a process. The shell starts it just before it becomes the command. */
function watchdogOf(tethered: TetheredProcess): Promise<number> {
  return eventually(() => childrenOf(tethered.pid)[0], { what: "the watchdog", everyMs: 1 });
}

test("a process is handed out when its watchdog stands, so that it cannot be paused before", async () => {
  for (let i = 0; i < 10; i++) {
    const tethered = await start("sleep", "600");
    expect(childrenOf(tethered.pid)).toHaveLength(1);
    await tethered.kill();
  }
});

test("the watchdog goes when the child ends by itself or is killed", async () => {
  const before = childrenOf(process.pid);
  // `cat` ends when the pipe is closed, and that is not before the watchdog was seen.
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const short = await start("cat", pipe);
  const watchdog = await watchdogOf(short);
  writeFileSync(pipe, "");
  expect(await short.exited).toEqual({ code: 0, signal: null });
  await isGone(watchdog);

  const long = await start("sleep", "600");
  const another = await watchdogOf(long);
  await long.kill();
  await isGone(another);
  // Children of earlier files may have gone meanwhile.
  expect(childrenOf(process.pid).filter((pid) => !before.includes(pid))).toEqual([]);
});

test("a paused process stands still, goes on after resume, and can be killed while paused", async () => {
  const tethered = await start("sh", "-c", "while :; do echo tick; sleep 0.01; done");
  const log = () => logTail(join(folder, "log"), 100_000).length;
  await eventually(() => log() > 40, { what: "ticks" });
  await tethered.pause();
  const length = log();
  // This lasts as long as ten ticks of a process that is not paused.
  const clock = await start("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done");
  await clock.exited;
  expect(log()).toBe(length);
  tethered.resume();
  await eventually(() => log() > length, { what: "more ticks" });
  await tethered.pause();
  await tethered.kill();
  await expect(tethered.pause()).rejects.toThrow("cannot take SIGSTOP: it has ended (SIGKILL)");
});

test("a command that does not exist ends with what the shell says in the log", async () => {
  const tethered = await start("no-such-command-here");
  expect(await tethered.exited).toEqual({ code: 127, signal: null });
  expect(logTail(join(folder, "log"))).toContain("no-such-command-here");
});

test("the child and its folder go when the parent is killed with SIGKILL", async () => {
  const scratch = join(folder, "scratch");
  writeFileSync(scratch, "");
  const { parent, pid, ended } = await parentThat("setInterval(() => {}, 1_000);");
  expect(isRunning(pid)).toBe(true);
  process.kill(parent, "SIGKILL");
  await ended;
  await isGone(pid);
  await eventually(() => !existsSync(scratch), { what: "the folder to be removed" });
});

test("a terminal's interrupt does not reach the child, and a group that is killed takes it and its folder along", async () => {
  const [scratch, ready, heard] = ["scratch", "ready", "heard"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(scratch, "");
  const { parent, pid, ended } = await parentThat(`
    const { writeFileSync } = await import("node:fs");
    process.on("SIGINT", () => writeFileSync(${JSON.stringify(heard)}, ""));
    writeFileSync(${JSON.stringify(ready)}, "");
    setInterval(() => {}, 1_000);
  `);
  // An interrupt before that would end the parent.
  await eventually(() => existsSync(ready), { what: "the parent to listen" });
  await eventually(
    () => {
      process.kill(-parent, "SIGINT");
      return existsSync(heard);
    },
    { what: "the parent to hear it" },
  );
  expect(isRunning(pid)).toBe(true);
  process.kill(-parent, "SIGKILL");
  await ended;
  await isGone(pid);
  await eventually(() => !existsSync(scratch), { what: "the folder to be removed" });
});

test("a paused child goes, too, when the parent is killed with SIGKILL", async () => {
  const { parent, pid, ended } = await parentThat("await tethered.pause(); setInterval(() => {}, 1_000);");
  await eventually(() => isRunning(pid), { what: "the child" });
  process.kill(parent, "SIGKILL");
  await ended;
  await isGone(pid);
});

test("the child goes when the parent exits, throws, rejects, or just has nothing left to do", async () => {
  for (const last of ["process.exit(0);", "throw new Error();", "Promise.reject(new Error());", ""]) {
    const { pid, ended } = await parentThat(last);
    await ended;
    await isGone(pid);
  }
});

test.each([
  ["the process is killed", "", true],
  ["the worker is terminated and the process goes on", "await worker.terminate();", false],
])("the child of a worker thread goes when %s", async (_, last, kill) => {
  const url = pathToFileURL(join(emitted, "process/tethered-process.js"));
  const { pid: parent, said } = await runModule(`
    import { once } from "node:events";
    import { Worker } from "node:worker_threads";
    const worker = new Worker(\`
      Promise.all([import("node:worker_threads"), import("${url}")]).then(async ([{ parentPort }, { TetheredProcess }]) => {
        const tethered = await TetheredProcess.spawn({ command: "sleep", args: ["600"], cwd: "/", logFile: "/dev/null" });
        parentPort.postMessage({ pid: tethered.pid });
        setInterval(() => {}, 1_000);
      });
    \`, { eval: true });
    const [message] = await once(worker, "message");
    ${last}
    console.log(JSON.stringify(message));
    setInterval(() => {}, 1_000);
  `);
  if (kill) {
    expect(isRunning(Number(said.pid))).toBe(true);
    process.kill(parent, "SIGKILL");
  }
  await isGone(Number(said.pid));
  if (kill) return;
  expect(isRunning(parent)).toBe(true);
  process.kill(parent, "SIGKILL");
});

test("a child that was stopped leaves its folder to its owner", async () => {
  const scratch = join(folder, "scratch");
  writeFileSync(scratch, "");
  const tethered = await TetheredProcess.spawn({
    command: "sleep",
    args: ["600"],
    cwd: folder,
    logFile: join(folder, "log"),
    scratchFolder: scratch,
  });
  const watchdog = await watchdogOf(tethered);
  await tethered.kill();
  await isGone(watchdog);
  expect(existsSync(scratch)).toBe(true);
});
