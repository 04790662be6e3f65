import { readFileSync, rmSync } from "node:fs";
import { type LockProvider, tokenGate } from "@holdfast/core";
import { redisLocks } from "@holdfast/redis-recipes";
import {
  type EmbeddedZooKeeper,
  eventually,
  type RedisNode,
  startEmbeddedZooKeeper,
  startProxy,
  startRedis,
  startRedisProxy,
} from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { drawn } from "../../../../e2e/support/share.js";
import { monotonicMs } from "../../src/run/limits.js";
import { alive, Holdfast, writer } from "./support/holdfast.js";
import { meeting, Resource } from "./support/resource.js";

let zookeeper: EmbeddedZooKeeper;
let redis: RedisNode;

beforeAll(async () => {
  [zookeeper, redis] = await Promise.all([startEmbeddedZooKeeper(), startRedis()]);
});

afterAll(async () => {
  await Promise.all([zookeeper?.stop(), redis?.stop()]);
});

function started(args: readonly string[], env: Readonly<Record<string, string>>): Holdfast {
  const holdfast = new Holdfast(args, env);
  onTestFinished(() => holdfast[Symbol.dispose]());
  return holdfast;
}

function resource(): Resource {
  const made = new Resource();
  onTestFinished(() => made[Symbol.dispose]());
  return made;
}

/** Whether the process handles SIGUSR2, by its signal mask. SIGTERM would not show it: Node.js handles it from the start. */
const listens = (pid: number): boolean => {
  const mask = /SigCgt:\s*(\w+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return (BigInt(`0x${mask}`) & (1n << 11n)) !== 0n;
};

/** The children of the process, with a blank behind each. A child counts until the process has taken notice of its end. */
const children = (pid: number): string => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");

let locks = 0;

const backends = drawn("backends of holdfast run", ["zookeeper", "redis"] as const, 1, (kind) => kind);
const signals = drawn(
  "signals that holdfast run forwards",
  ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const,
  2,
  (name) => name,
);

describe.each(backends)("holdfast run on %s", (kind) => {
  const place = (): Record<string, string> =>
    kind === "zookeeper" ? { HOLDFAST_ZOOKEEPER: zookeeper.connectString } : { HOLDFAST_REDIS: redis.url };
  const client = (): LockProvider => {
    const locks =
      kind === "zookeeper"
        ? zookeeperLocks({ connect: zookeeper.connectString })
        : redisLocks({ url: redis.url });
    onTestFinished(async () => void (await locks.close()));
    return locks;
  };
  const fresh = (): string => `lock-${++locks}`;
  /** Runs `holdfast run` to its end. */
  const run = async (
    args: readonly string[],
  ): Promise<{ code: number | string; out: string; err: string }> => {
    const holdfast = started(["run", ...args], place());
    const code = await holdfast.ended();
    return { code, out: holdfast.stdout, err: holdfast.stderr };
  };
  const sh = (script: string): string[] => ["--", "sh", "-c", script];
  /** A holder of `lock` that has begun to write, and the resource into which it writes. */
  const holding = async (lock: string, flags: readonly string[] = [], options: readonly string[] = []) => {
    const into = resource();
    const holder = started(
      ["run", "--lock", lock, ...options, "--", process.execPath, writer, into.file, ...flags],
      place(),
    );
    const [begin] = await into.begun(1, holder);
    return { holder, begin, into };
  };

  it("ends with the exit code of the command, and with 128 and the number of the signal that has ended it", async () => {
    expect((await run(["--lock", fresh(), ...sh("exit 7")])).code).toBe(7);
    expect((await run(["--lock", fresh(), ...sh("kill -9 $$")])).code).toBe(137);
  });

  it("ends with 127 for a command that does not exist and with 126 for one that cannot be executed", async () => {
    const missing = await run(["--lock", fresh(), "--", "/no/such/command"]);
    expect(missing.code).toBe(127);
    expect(missing.err).toContain("/no/such/command");
    for (const command of [writer, `${writer}/x`])
      expect((await run(["--lock", fresh(), "--", command])).code).toBe(126);
  });

  it("gives the command its lock and a fencing token that rises from holder to holder", async () => {
    const lock = fresh();
    const script = 'echo "$HOLDFAST_LOCK $HOLDFAST_TOKEN"';
    const first = (await run(["--lock", lock, ...sh(script)])).out.trim().split(" ");
    const second = (await run(["--lock", lock, ...sh(script)])).out.trim().split(" ");
    expect([first[0], second[0]]).toEqual([lock, lock]);
    expect(BigInt(second[1] as string)).toBeGreaterThan(BigInt(first[1] as string));
  });

  it("takes the name of the command for the lock when none is given", async () => {
    expect((await run(sh("echo $HOLDFAST_LOCK"))).out).toBe("sh\n");
  });

  it("--try and --wait end with 1, or the code that was asked for, when the lock is taken", async () => {
    const lock = fresh();
    await holding(lock);
    expect((await run(["--lock", lock, "--try", "--", "true"])).code).toBe(1);
    // Within this time the new process connects, and the server says that the lock is taken. Without its word the code is 125.
    const waited = await run(["--lock", lock, "--wait", "3s", "-E", "99", "--", "true"]);
    expect(waited.code).toBe(99);
  });

  it("--semaphore lets as many run as it has permits, and no more", async () => {
    const lock = fresh();
    await holding(lock, [], ["--semaphore", "2"]);
    await holding(lock, [], ["--semaphore", "2"]);
    expect((await run(["--lock", lock, "--semaphore", "2", "--try", "--", "true"])).code).toBe(1);
  });

  it("--lead runs the command of one leader, and that of the next when it has ended", async () => {
    const lock = fresh();
    const { holder, into } = await holding(lock, [], ["--lead"]);
    const next = started(
      ["run", "--lock", lock, "--lead", "--", process.execPath, writer, into.file, "--for", "50"],
      place(),
    );
    const election = client().leaderElection(lock);
    await eventually(async () => (await election.participants()).length === 2, { what: "two candidates" });
    holder.process.kill("SIGTERM");
    expect(await holder.ended()).toBe(143);
    expect(await next.ended()).toBe(0);
    expect(meeting(into.lines()).overlapMs).toBe(0);
  });

  it("--at-least keeps the lock after a command that has ended early", async () => {
    const lock = fresh();
    const into = resource();
    const job = [process.execPath, writer, into.file, "--for", "1"];
    const beforeMs = monotonicMs();
    const first = started(["run", "--lock", lock, "--at-least", "4s", "--", ...job], place());
    await into.begun(1, first);
    const second = started(["run", "--lock", lock, "--", ...job], place());
    expect(await first.ended()).toBe(0);
    expect(await second.ended()).toBe(0);
    const [, other] = into.begins();
    // The four seconds count from the grant, which came after that reading of the clock. Two commands that run one right after
    // the other take less.
    expect((other?.atMs ?? 0) - beforeMs).toBeGreaterThan(4_000);
  });

  it("SIGTERM during the command ends it, and --at-least does not make it wait", async () => {
    const lock = fresh();
    const held = started(
      ["run", "--lock", lock, "--at-least", "5m", ...sh("echo ready; exec sleep 100")],
      place(),
    );
    await eventually(() => held.stdout === "ready\n", { what: "the command to begin" });
    held.process.kill("SIGTERM");
    expect(await held.ended(20_000)).toBe(143);
  });

  it("SIGTERM after the command has ended ends what --at-least makes it wait, and the lock is free", async () => {
    const lock = fresh();
    const held = started(["run", "--lock", lock, "--at-least", "5m", ...sh("echo $$")], place());
    await eventually(() => held.stdout.endsWith("\n"), { what: "the command to begin" });
    await eventually(() => !alive(Number(held.stdout)), { what: "the command to end" });
    expect((await run(["--lock", lock, "--try", "--", "true"])).code).toBe(1);
    expect(held.over).toBe(false);
    held.process.kill("SIGTERM");
    expect(await held.ended(20_000)).toBe(0);
    expect((await run(["--lock", lock, "--try", "--", "true"])).code).toBe(0);
  });

  it.each(signals)("forwards %s to all processes of the command", async (name) => {
    const script = `trap 'echo got; exit 5' ${name.slice(3)}; echo ready; while :; do sleep 0.05; done`;
    const holdfast = started(["run", "--lock", fresh(), ...sh(script)], place());
    await eventually(() => holdfast.stdout === "ready\n", { what: "the command to begin" });
    holdfast.process.kill(name);
    expect(await holdfast.ended()).toBe(5);
    expect(holdfast.stdout).toBe("ready\ngot\n");
  });

  it("a signal while it waits for the lock ends the wait", async () => {
    const lock = fresh();
    await holding(lock);
    const waiting = started(["run", "--lock", lock, "--", "true"], place());
    await eventually(() => listens(waiting.pid), { what: "holdfast to listen to signals" });
    waiting.process.kill("SIGTERM");
    expect(await waiting.ended()).toBe(143);
  });

  it("starts another supervisor for the command when the first one was killed while it waited for the lock", async () => {
    const lock = fresh();
    const { holder } = await holding(lock);
    const waiting = started(["run", "--lock", lock, ...sh("exit 7")], place());
    let supervisor = 0;
    await eventually(
      () => {
        supervisor = Number(children(waiting.pid));
        return supervisor > 0;
      },
      { what: "the supervisor to be there" },
    );
    process.kill(supervisor, "SIGKILL");
    await eventually(() => !alive(supervisor), { what: "the supervisor to be gone" });
    expect(waiting.over).toBe(false);
    holder.process.kill("SIGTERM");
    expect(await waiting.ended(), waiting.stderr).toBe(7);
  });

  it("ends what the command has left in its group before it gives the lock back", async () => {
    const lock = fresh();
    const into = resource();
    const line = `"${process.execPath}" "${writer}" "${into.file}"`;
    const leaver = started(
      [
        "run",
        "--lock",
        lock,
        ...sh(`${line} --ignore-term & while ! grep -q begin "${into.file}"; do sleep 0.02; done`),
      ],
      place(),
    );
    expect(await leaver.ended()).toBe(0);
    const [left] = into.begins();
    expect(alive(left?.pid as number)).toBe(false);
    expect(
      (await run(["--lock", lock, "--try", "--", process.execPath, writer, into.file, "--for", "1"])).code,
    ).toBe(0);
    expect(into.begins().at(-1)?.alive).toEqual([]);
  });

  it("SIGKILL of holdfast itself leaves no process behind", async () => {
    const { holder, begin } = await holding(fresh(), ["--ignore-term"]);
    holder.process.kill("SIGKILL");
    await eventually(() => !alive(begin.pid) && !alive(begin.ppid), {
      what: "command and supervisor to be gone",
    });
  });

  it("a process that has left the group outlives the lock, and its token is below that of the next holder", async () => {
    const lock = fresh();
    const { holder, begin, into } = await holding(lock, ["--child", "--child-leaves"]);
    const [, left] = await into.begun(2, holder);
    onTestFinished(() => {
      if (left !== undefined) process.kill(left.pid, "SIGKILL");
    });
    holder.process.kill("SIGTERM");
    expect(await holder.ended()).toBe(143);
    const job = [process.execPath, writer, into.file, "--for", "100"];
    expect((await run(["--lock", lock, "--", ...job])).code).toBe(0);
    const next = into.begins().at(-1);
    expect(alive(begin.pid)).toBe(false);
    expect(next?.alive).toEqual([left?.pid]);
    expect(BigInt(next?.token as string)).toBeGreaterThan(BigInt(left?.token as string));
  });

  it("a supervisor that stands still is replaced by the lock client, which ends the command itself", async () => {
    const lock = fresh();
    // The lease is so short because on Redis only a renewal finds the lock gone. A machine that stands still for a second does
    // not end it before.
    const { holder, begin } = await holding(lock, ["--ignore-term"], ["--lease", "4s"]);
    process.kill(begin.ppid, "SIGSTOP");
    onTestFinished(() => {
      if (alive(begin.ppid)) process.kill(begin.ppid, "SIGKILL");
    });
    if (kind === "zookeeper") {
      const session = zookeeper
        .sessions()
        .find(({ ephemerals }) => ephemerals.some((path) => path.includes(`/${lock}/`)));
      zookeeper.expireSession(session?.id as bigint);
    } else await redis.command("DEL", lock);
    expect(await holder.ended()).toBe(124);
    await eventually(() => !alive(begin.pid), { what: "the command to be gone" });
  });

  it("doubt ends the command by SIGTERM at once, and with --kill-after a doubt that passes ends nothing", async () => {
    const target = kind === "zookeeper" ? zookeeper.connectString : { host: "127.0.0.1", port: redis.port };
    const proxy = await startProxy({ target });
    onTestFinished(() => proxy.close());
    const env =
      kind === "zookeeper"
        ? { HOLDFAST_ZOOKEEPER: proxy.connectString }
        : { HOLDFAST_REDIS: `redis://${proxy.connectString}` };
    // The command works for slightly more than 3 s.
    const script =
      "trap 'echo term; exit 9' TERM; echo ready; for i in $(seq 60); do sleep 0.05; done; echo done";
    const doubted = async (options: readonly string[]) => {
      const holdfast = started(["run", "--lock", fresh(), "--lease", "9s", ...options, ...sh(script)], env);
      await eventually(() => holdfast.stdout === "ready\n", { what: "the command to begin" });
      const before = proxy.accepted;
      await proxy.setMode("reset");
      // By then the client has found its connection broken, and has been turned away since.
      await eventually(() => proxy.accepted >= before + 2, { what: "attempts to connect again" });
      await proxy.setMode("ok");
      return { code: await holdfast.ended(), out: holdfast.stdout, said: holdfast.stderr };
    };
    const said = expect.stringMatching(/was in doubt, so sh was ended/);
    expect(await doubted([])).toEqual({ code: 124, out: "ready\nterm\n", said });
    expect(await doubted(["--kill-after", "1s"])).toEqual({ code: 0, out: "ready\ndone\n", said: "" });
  });

  it("a machine on which both processes of holdfast stand still overlaps with the next holder, and the token refuses it", async () => {
    const lock = fresh();
    // The next holder waits for the end of this lease. A machine that stands still for a second does not end it before.
    const { holder, begin, into } = await holding(lock, ["--ignore-term"], ["--lease", "4s"]);
    for (const pid of [holder.pid, begin.ppid]) process.kill(pid, "SIGSTOP");
    const job = [process.execPath, writer, into.file, "--for", "200"];
    expect((await run(["--lock", lock, "--", ...job])).code).toBe(0);
    expect(meeting(into.lines()).overlapMs).toBeGreaterThan(0);
    const next = into.begins().at(-1);
    expect(next?.alive).toEqual([begin.pid]);
    const gate = tokenGate();
    expect(gate.admit("resource", BigInt(next?.token as string))).toBe(true);
    expect(gate.admit("resource", BigInt(begin.token as string))).toBe(false);
    // When the two processes run again, the command is ended at once.
    for (const pid of [begin.ppid, holder.pid]) process.kill(pid, "SIGCONT");
    expect(await holder.ended()).toBe(124);
    expect(alive(begin.pid)).toBe(false);
  });

  it("says what is wrong with an option, with exit code 2", async () => {
    const wrong = async (args: readonly string[]): Promise<string> => {
      const { code, err } = await run(args);
      expect(code).toBe(2);
      return err;
    };
    expect(await wrong(["true"])).toContain("behind --");
    expect(await wrong(["--"])).toContain("what to run is missing");
    expect(await wrong(["--wait", "soon", "--", "true"])).toContain("--wait");
    expect(await wrong(["--try", "--wait", "1s", "--", "true"])).toContain("--wait");
    expect(await wrong(["--semaphore", "0", "--", "true"])).toContain("--semaphore");
    expect(await wrong(["--lead", "--at-least", "1s", "--", "true"])).toContain("--at-least");
    expect(await wrong(["--lease", "3s", "--margin", "4s", "--", "true"])).toContain("--margin");
    expect(await wrong(["--lease", "3s", "--margin", "500ms", "--kill-after", "1s", "--", "true"])).toContain(
      "--kill-after",
    );
    expect(await wrong(["--conflict-exit-code", "256", "--", "true"])).toContain("--conflict-exit-code");
  });

  it("does not run the command, and ends with 125, when no server answers", async () => {
    const address = "127.0.0.1:1";
    const env =
      kind === "zookeeper" ? { HOLDFAST_ZOOKEEPER: address } : { HOLDFAST_REDIS: `redis://${address}` };
    const holdfast = started(["run", "--wait", "500ms", "--", "echo", "ran"], env);
    expect(await holdfast.ended()).toBe(125);
    expect(holdfast.stdout).toBe("");
    expect(holdfast.stderr).toContain("127.0.0.1:1");
  });
});

it("holdfast run starts another supervisor for the command when the first one was killed between the grant and the order to start", async () => {
  const lock = `lock-${++locks}`;
  // After this run the server knows the scripts, so that below each of them is sent once.
  expect(await started(["run", "--lock", lock, "--", "true"], { HOLDFAST_REDIS: redis.url }).ended()).toBe(0);
  const proxy = await startRedisProxy({ target: redis.address });
  onTestFinished(() => proxy.close());
  // The first answer is the grant. The second one is the proof without which no command is started.
  const proof = proxy.holdReply({ name: ["EVAL", "EVALSHA"], key: lock, nth: 2 });
  const env = { HOLDFAST_REDIS: `redis://${proxy.connectString}` };
  const holdfast = started(["run", "--lock", lock, "--", "sh", "-c", "exit 7"], env);
  await proof.hit();
  process.kill(Number(children(holdfast.pid)), "SIGKILL");
  await eventually(() => children(holdfast.pid) === "", { what: "the end of the supervisor to be noticed" });
  proof.release();
  expect(await holdfast.ended(), holdfast.stderr).toBe(7);
});

it("holdfast run ends with 124 when only the release finds that the lock was gone", async () => {
  const lock = `lock-${++locks}`;
  const into = resource();
  const command = ["sh", "-c", `echo ready; while [ -e "${into.file}" ]; do sleep 0.02; done`];
  const holdfast = started(["run", "--lock", lock, "--", ...command], { HOLDFAST_REDIS: redis.url });
  await eventually(() => holdfast.stdout === "ready\n", { what: "the command to begin" });
  await redis.command("DEL", lock);
  // The command ends only now, and long before the first renewal.
  rmSync(into.file);
  expect(await holdfast.ended()).toBe(124);
  expect(holdfast.stderr).toContain("was gone when it was given back");
});

it("holdfast run --at-least ends with 124 when the lock was gone before the command ended", async () => {
  const lock = `lock-${++locks}`;
  const into = resource();
  const command = ["sh", "-c", `echo ready; while [ -e "${into.file}" ]; do sleep 0.02; done`];
  const env = { HOLDFAST_REDIS: redis.url };
  const holdfast = started(["run", "--lock", lock, "--at-least", "20s", "--", ...command], env);
  await eventually(() => holdfast.stdout === "ready\n", { what: "the command to begin" });
  await redis.command("DEL", lock);
  rmSync(into.file);
  expect(await holdfast.ended()).toBe(124);
  expect(holdfast.stderr).toContain("was lost (lease-missing), and sh has ended");
});
