import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { eventually, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildPackages } from "../../../e2e/support/process/emit.js";
import { inFullRuns } from "../../../e2e/support/share.js";
import { fencedAct } from "../src/acts/fenced.js";
import { lockedAct } from "../src/acts/locked.js";
import { lockName, Stage } from "../src/acts/stage.js";
import { unlockedAct } from "../src/acts/unlocked.js";
import type { Verdict } from "../src/acts/verdict.js";
import { Screen } from "../src/console/screen.js";
import { childrenOf, isGone, isStopped, Paper, programs } from "./support.js";

/** The test of the whole command plays each act once, and one of its ends is an interruption. So these run only in full runs. */
const besides = inFullRuns("acts and ends of order-stock beside those of the whole command", 6, test);
let server: ZooKeeperNode;

beforeAll(async () => {
  await buildPackages("@holdfast/order-stock");
  server = await startZooKeeper();
}, 180_000);

afterAll(() => server?.stop());

const broken = (verdict: Verdict) =>
  verdict.checks.filter((check) => !check.kept).map((check) => check.promise);

describe("the acts", () => {
  let paper: Paper;
  let stage: Stage;

  beforeEach(async () => {
    paper = new Paper();
    stage = await Stage.open({
      screen: new Screen({ out: paper, env: {} }),
      programs,
      connect: server.connectString,
      signal: new AbortController().signal,
    });
  });

  afterEach(() => stage[Symbol.asyncDispose]());

  besides("without a lock every worker sees the full stock, and more is sold than there is", async () => {
    const verdict = await unlockedAct(stage, { workers: 5, items: 3 });
    expect(broken(verdict)).toEqual([]);
    expect(paper.text.match(/saw 3 in stock and sold one/g)).toHaveLength(5);
    expect(await stage.shop.report()).toMatchObject({ stock: -2, lowestStock: -2 });
  });

  besides(
    "with the lock each worker sees what the one before it left, and the last ones are turned away",
    async () => {
      const verdict = await lockedAct(stage, { workers: 5, items: 3, thinkMs: 50 });
      expect(broken(verdict)).toEqual([]);
      expect(verdict.asPromised).toBe(true);
      // A worker may be told of its release later than the next one is granted, so the lines are in no fixed order.
      const seen = [...paper.text.matchAll(/saw (\d+) in stock/g)].map((match) => match[1]);
      expect(seen.sort()).toEqual(["1", "2", "3"]);
      expect(paper.text.match(/was told that it is sold out/g)).toHaveLength(2);
    },
  );

  besides("holder, token, queue and stock are shown while the workers queue", async () => {
    await lockedAct(stage, { workers: 3, items: 2, thinkMs: 2_500 });
    expect(paper.text).toMatch(/holder: worker-\d, token \d+ \| queue: worker-\d, worker-\d \| stock: 2\n/);
    expect(paper.text).toMatch(/holder: worker-\d, token \d+ \| queue: worker-\d \| stock: 1\n/);
  });

  besides("act 2 does not end as promised when no worker is kept out", async () => {
    const verdict = await lockedAct(stage, {
      workers: 5,
      items: 3,
      thinkMs: 5_000,
      locker: { kind: "none" },
    });
    expect(verdict.asPromised).toBe(false);
    expect(broken(verdict)).toEqual([
      "with the lock the stock never goes below zero",
      "exactly 3 orders are accepted",
      "all others are told that it is sold out",
    ]);
  });

  test("the late sale of a holder that was stopped past its session is refused", async () => {
    const verdict = await fencedAct(stage);
    expect(broken(verdict)).toEqual([]);
    expect(verdict.asPromised).toBe(true);
    expect(await stage.shop.report()).toEqual({
      stock: 0,
      lowestStock: 0,
      buyers: ["worker-2"],
      refused: 1,
    });
    expect(paper.text).toMatch(/withLock\(\) rejected with LockLostError \(HF_LOCK_LOST, lease-expired\)/);
    expect(paper.text).toContain("holder: worker-1 (stopped)");
  });

  besides(
    "act 3 does not end as promised when the sale carries no token: the last item is sold twice",
    async () => {
      const verdict = await fencedAct(stage, { fenced: false });
      expect(broken(verdict)).toEqual([
        "the late sale of the stopped holder is refused",
        "the last item is sold once",
      ]);
      expect(await stage.shop.report()).toMatchObject({ stock: -1, buyers: ["worker-2", "worker-1"] });
    },
  );
});

describe("the command", () => {
  const running: ChildProcess[] = [];
  const strays = new Set<number>();

  afterEach(async () => {
    for (const pid of strays) if (!isGone(pid)) process.kill(pid, "SIGKILL");
    strays.clear();
    for (const child of running.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  });

  function orderStock(...args: string[]) {
    const main = fileURLToPath(new URL("main.js", programs));
    const child = spawn(process.execPath, [main, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      detached: true, // a process group of its own, as a command in a terminal has
    });
    running.push(child);
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (data: Buffer) => {
      output.stdout += data.toString();
    });
    child.stderr.on("data", (data: Buffer) => {
      output.stderr += data.toString();
    });
    const closed = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
    const told = async (text: string) => {
      await eventually(() => output.stdout.includes(text) || child.exitCode !== null, {
        what: `the command to tell "${text}"`,
        withinMs: 40_000,
        detail: () => `${output.stdout}\n${output.stderr}`,
      });
      expect(output.stdout, output.stderr).toContain(text);
    };
    return { child, pid: child.pid as number, output, closed, told };
  }

  /** Notes the children that must be gone later, so that a failing test leaves none of them behind either. */
  const childrenNow = (pid: number) => {
    const children = childrenOf(pid);
    for (const child of children) strays.add(child.pid);
    return children;
  };

  const allGone = (processes: { pid: number; command: string }[]) =>
    eventually(() => processes.every(({ pid }) => isGone(pid)), {
      what: "every process of the command to be gone",
      withinMs: 20_000,
      detail: () =>
        processes
          .filter(({ pid }) => !isGone(pid))
          .map(({ pid, command }) => `${pid} ${command}`)
          .join("\n"),
    });

  test("without Java all acts end with exit code 0, plain text and an empty stderr", async () => {
    const { pid, closed, output, told } = orderStock("--workers", "4", "--items", "2");
    await told("Act 3: ");
    await told(", inside this process");
    expect(childrenNow(pid).filter(({ command }) => command.includes("java"))).toEqual([]);
    expect(await closed).toEqual([0, null]);
    for (const act of ["Act 1: ", "Act 2: ", "Act 3: ", "Everything ended as promised."]) {
      expect(output.stdout).toContain(act);
    }
    expect(output.stdout).not.toContain("\u001b");
    expect(output.stderr).toBe("");
  });

  test("wrong options end with exit code 2 and a hint", async () => {
    for (const [args, named] of [
      [["--items", "12"], "more workers than items"],
      [["--act", "2", "--connect", "127.0.0.1:notaport"], "notaport"],
    ] as const) {
      const { closed, output } = orderStock(...args);
      expect(await closed).toEqual([2, null]);
      expect(output.stderr).toContain(named);
      expect(output.stderr).toContain("--help");
    }
  });

  test("a ZooKeeper that is not there ends with exit code 1 and its address, without a stack", async () => {
    const { closed, output } = orderStock("--act", "2", "--connect", "127.0.0.1:1");
    expect(await closed).toEqual([1, null]);
    expect(output.stderr).toContain("127.0.0.1:1");
    expect(output.stderr).not.toMatch(/^\s+at /m);
  });

  test("a path that is not there ends with exit code 1 and its name at once, without waiting for the others", async () => {
    const { closed, output } = orderStock(
      "--act=2",
      "--workers=3",
      "--items=1",
      `--connect=${server.connectString}/none`,
    );
    expect(await closed).toEqual([1, null]);
    expect(output.stderr).toContain("/none");
    expect(output.stderr).not.toMatch(/^\s+at /m);
  }, 300_000);

  test("interrupted while workers queue, it gives the lock back and leaves no process behind", async () => {
    await using locks = zookeeperLocks({ connect: server.connectString });
    const lock = locks.mutex(lockName);
    const before = await lock.acquire();
    const act = orderStock("--act=2", "--workers=7", "--items=6", "--connect", server.connectString);
    const queued = async (): Promise<number | null> => (await lock.inspect()).pendingTotal;
    await eventually(async () => (await queued()) === 7, { what: "workers in the queue", withinMs: 40_000 });
    // A worker that has the lock sells only when the command tells it to. The command stands still, so the others stay in the queue.
    act.child.kill("SIGSTOP");
    await eventually(() => isStopped(act.pid), { what: "the command to stand still" });
    expect(await before.release()).toBe("released");
    expect(await queued()).toBe(6);
    expect(await server.fourLetter("dump")).toContain("/order-stock/");
    const children = childrenNow(act.pid);
    expect(children.filter(({ command }) => command.includes("worker.js"))).toHaveLength(7);
    act.child.kill("SIGINT");
    act.child.kill("SIGCONT");
    expect(await act.closed).toEqual([130, null]);
    expect(act.output.stderr).toContain("everything is stopped");
    await allGone(children);
    // So the next run need not wait until a session runs out.
    expect(await server.fourLetter("dump")).not.toContain("/order-stock/");
  });

  test("ctrl-C, which also reaches its server and a stopped worker, leaves no process behind", async () => {
    const act = orderStock("--act", "3", "--real");
    await act.told("is stopped (SIGSTOP)");
    const children = childrenNow(act.pid);
    expect(children.some(({ command }) => command.includes("QuorumPeerMain"))).toBe(true);
    process.kill(-act.pid, "SIGINT");
    expect(await act.closed).toEqual([130, null]);
    await allGone(children);
  });

  besides("killed while a worker is stopped, it leaves no process behind either", async () => {
    const act = orderStock("--act", "3");
    await act.told("is stopped (SIGSTOP)");
    const children = childrenNow(act.pid);
    await eventually(() => children.some(({ pid }) => isStopped(pid)), { what: "a stopped worker" });
    act.child.kill("SIGKILL");
    expect(await act.closed).toEqual([null, "SIGKILL"]);
    await allGone(children);
  });
});
