import { MissingRightError, type RedisLocks } from "@holdfast/redis-recipes";
import {
  eventually,
  type RedisNode,
  startRedis,
  startRedisCluster,
  startRedisReplicaSet,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { documentedUser, open, refusal } from "./support.js";

/** The documented user may lock names that begin with this. */
const below = "orders:";

/** Uses everything once, so that each script runs. `two` waits for the locks of `one`, so that locks are handed over too. */
async function everything(one: RedisLocks, two: RedisLocks, what: string): Promise<void> {
  const name = (kind: string) => `${below}${kind}-${what}`;
  const waitMs = 10_000;
  await one.permitSemaphore(name("permits")).trySetLimit(1);
  for (const take of [
    (locks: RedisLocks) => locks.mutex(name("mutex")),
    (locks: RedisLocks) => locks.reentrantMutex(name("reentrant")),
    (locks: RedisLocks) => locks.fairMutex(name("fair")),
    (locks: RedisLocks) => locks.spinMutex(name("spin")),
    (locks: RedisLocks) => locks.readWriteLock(name("rw")).write,
    (locks: RedisLocks) => locks.readWriteLock(name("rw")).read,
    (locks: RedisLocks) => locks.semaphore(name("semaphore"), 1),
    (locks: RedisLocks) => locks.plainSemaphore(name("plain"), 1),
    (locks: RedisLocks) => locks.permitSemaphore(name("permits")),
  ]) {
    const held = await take(one).acquire({ waitMs });
    const waiting = take(two).acquire({ waitMs });
    await held.confirm();
    expect(await held.release()).toBe("released");
    const next = await waiting;
    expect(await next.release()).toBe("released");
  }
  for (const view of [one.mutex(name("mutex")), one.fairMutex(name("fair")), one.readWriteLock(name("rw"))])
    expect((await view.inspect()).held).toEqual([]);
  const term = await one.leaderElection(name("election")).campaign({ waitMs });
  expect(await term.release()).toBe("released");
  const latch = one.countDownLatch(name("latch"));
  await latch.trySetCount(1);
  const opened = two.countDownLatch(name("latch")).wait({ waitMs });
  await latch.countDown();
  await opened;
  const barrier = one.barrier(name("barrier"));
  await barrier.shut();
  await barrier.open();
  await two.barrier(name("barrier")).wait({ waitMs });
  await Promise.all([
    one.doubleBarrier(name("double"), 2).enter({ waitMs }),
    two.doubleBarrier(name("double"), 2).enter({ waitMs }),
  ]);
}

describe("the ACL user of the readme", () => {
  it("may do all that locks need on one server, and hears no warning", async () => {
    const server = await startRedis({ users: [await documentedUser()] });
    onTestFinished(() => server.stop());
    const access = { url: server.url, username: "locks", password: "secret" };
    const [one, two] = [open(access), open(access)];
    await everything(one.locks, two.locks, "single");
    expect([...one.warnings, ...two.warnings]).toEqual([]);
    // Nothing was denied on the way, on any connection.
    expect(await denials(server)).toEqual([]);
  });

  it("may do it in a cluster", async () => {
    const cluster = await startRedisCluster({ masters: 3, replicas: 0, users: [await documentedUser()] });
    onTestFinished(() => cluster.stop());
    const nodes = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
    const access = { cluster: { nodes }, username: "locks", password: "secret" };
    const [one, two] = [open(access), open(access)];
    await everything(one.locks, two.locks, "cluster");
    expect([...one.warnings, ...two.warnings]).toEqual([]);
    expect((await Promise.all(cluster.nodes.map(denials))).flat()).toEqual([]);

    // A missing right that ioredis needs shows before any request of ours is sent.
    for (const right of ["cluster|info", "cluster|slots"]) {
      for (const node of cluster.nodes) await node.command("ACL", "SETUSER", "locks", `-${right}`);
      const { locks } = open(access);
      expect(await refusal(locks.mutex(`${below}nobody`).acquire())).toMatchObject({ rights: [`+${right}`] });
      for (const node of cluster.nodes) await node.command("ACL", "SETUSER", "locks", `+${right}`);
    }
  });

  it("may do it behind sentinels, and waits for replicas", async () => {
    const set = await startRedisReplicaSet({ users: [await documentedUser()] });
    onTestFinished(() => set.stop());
    const access = {
      sentinels: { sentinels: set.sentinelAddresses, name: set.name },
      username: "locks",
      password: "secret",
      replicas: 2,
      acks: "all",
    } as const;
    const [one, two] = [open(access), open(access)];
    await everything(one.locks, two.locks, "sentinel");
    expect([...one.warnings, ...two.warnings]).toEqual([]);
    expect(await denials(await set.master())).toEqual([]);
  });
});

/** All that the server has denied since its start. */
async function denials(server: RedisNode): Promise<string[]> {
  const entries = (await server.command("ACL", "LOG")) as unknown[][];
  return entries.map((entry) => entry.map(String).join(" "));
}

describe("a user without one of its rights", () => {
  let server: RedisNode;
  let documented: string;
  beforeAll(async () => {
    documented = await documentedUser();
    server = await startRedis({ users: [documented] });
  });
  afterAll(() => server?.stop());

  /** The documented user, with further rules that take rights away. */
  async function user(name: string, ...less: string[]) {
    const [, ...rules] = documented.split(" ");
    await server.command("ACL", "SETUSER", name, "reset", ...rules, ...less);
    return { url: server.url, username: name, password: "secret" };
  }

  it("that may not write who it is locks all the same, and hears no warning", async () => {
    const { locks, warnings } = open({ ...(await user("no-identity")), identity: true });
    const held = await locks.mutex(`${below}identity`).acquire();
    // The write was tried and denied.
    await eventually(async () => (await denials(server)).some((line) => line.includes("hf:client:")), {
      what: "the denied write",
    });
    held.assertHeld();
    expect(await held.release()).toBe("released");
    expect(warnings).toEqual([]);
  });

  it.each(["eval", "evalsha", "info", "pexpire", "hset", "zremrangebyscore", "lpos", "decrby"])(
    "is refused when connecting, by an error that names +%s",
    async (command) => {
      const { locks } = open(await user(`no-${command}`, `-${command}`));
      const error = await refusal(locks.mutex(`${below}${command}`).acquire({ waitMs: 30_000 }));
      // The probe of the rights runs by EVAL and asks for EVALSHA. Without EVAL, the probe itself is denied.
      expect(error).toBeInstanceOf(MissingRightError);
      expect(error).toMatchObject({ rights: [`+${command}`], retryable: false, code: "HF_BACKEND" });
      expect(error.message).toContain(`needs +${command}`);
      expect(await server.command("EXISTS", `${below}${command}`)).toBe(0);
    },
  );

  it("needs +wait where acks are asked for, and not otherwise", async () => {
    const access = await user("no-wait", "-wait");
    const { locks } = open({ ...access, replicas: 1, acks: 1 });
    expect(await refusal(locks.mutex(`${below}wait`).acquire())).toMatchObject({ rights: ["+wait"] });
    const { locks: others } = open(access);
    expect(await (await others.mutex(`${below}wait`).acquire()).release()).toBe("released");
  });

  it("is refused a name outside its key patterns, with nothing written", async () => {
    const { locks } = open(await user("some-keys"));
    const error = await refusal(locks.mutex("stock:1").acquire());
    expect(error).toBeInstanceOf(MissingRightError);
    expect(error.rights).toContain("~stock:1");
    expect(await server.command("KEYS", "*stock*")).toEqual([]);
  });

  it("is refused a read whose own key it may not write, and leaves no hash that never ends", async () => {
    const access = await user("no-read-holds", "resetkeys", "~orders:*", "~*:{orders:*", "~holdfast_probe");
    const { locks } = open(access);
    const name = `${below}no-read-holds`;
    const error = await refusal(locks.readWriteLock(name).read.acquire());
    expect(error).toBeInstanceOf(MissingRightError);
    expect(error.rights).toContain(`~{${name}}:*`);
    expect(await server.command("EXISTS", name)).toBe(0);
    // Everything else may still be locked.
    expect(await (await locks.readWriteLock(name).write.acquire()).release()).toBe("released");
  });

  it.each([
    ["publish", "-publish", "+publish"],
    ["subscribe", "-subscribe", "+subscribe"],
    ["ask who listens", "-pubsub", "+pubsub|numsub"],
  ])("that may not %s is warned at the start, and locks still work", async (_what, less, right) => {
    const { locks, until } = open(await user(`less${less}`, less));
    expect((await until("HF_MISSING_RIGHT")).message).toContain(right);
    const held = await locks.mutex(`${below}slow`).acquire();
    const waiting = locks.mutex(`${below}slow`).acquire({ waitMs: 10_000 });
    expect(await held.release()).toBe("released");
    expect(await (await waiting).release()).toBe("released");
  });

  const releases: readonly [
    string,
    (locks: RedisLocks, name: string) => Promise<{ release(): Promise<unknown> }>,
  ][] = [
    ["mutex", (locks, name) => locks.mutex(name).acquire()],
    ["semaphore", (locks, name) => locks.plainSemaphore(name, 1).acquire()],
    ["read lock", (locks, name) => locks.readWriteLock(name).read.acquire()],
  ];
  it.each(releases)(
    "that may publish on no channel of Java's is warned by the first release of a %s",
    async (kind, take) => {
      const less = kind.replaceAll(" ", "-");
      const { locks, until, warnings } = open(
        await user(`no-channels-${less}`, "resetchannels", "&holdfast_*"),
      );
      for (let turn = 0; turn < 3; turn++) await (await take(locks, `${below}mute-${less}`)).release();
      expect((await until("HF_PUBLISH_DENIED")).message).toContain("&redisson_*");
      expect(warnings).toHaveLength(1);
    },
  );

  it("with a wrong password is refused at once, however long it would wait", async () => {
    const { locks } = open({ url: server.url, username: "locks", password: "wrong" });
    const startedMs = performance.now();
    const error = await refusal(locks.mutex("orders").acquire({ waitMs: 30_000 }));
    expect(error).toMatchObject({ code: "HF_BACKEND", retryable: false });
    expect(error.message).toContain("WRONGPASS");
    expect(error.message).not.toContain('wrong"');
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });
});
