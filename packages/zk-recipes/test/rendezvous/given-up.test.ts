import { setImmediate } from "node:timers/promises";
import { AcquireTimeoutError, InvalidArgumentError, LayoutConflictError } from "@holdfast/core";
import { type EmbeddedZooKeeper, eventually, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { Perms } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type ZooKeeperLocks, zookeeperLocks } from "../../src/index.js";

let server: EmbeddedZooKeeper;
let locks: ZooKeeperLocks;

async function connected(connect = server.connectString, sessionTimeoutMs = 6_000): Promise<ZooKeeperLocks> {
  const provider = zookeeperLocks({ connect, sessionTimeoutMs });
  onTestFinished(async () => void (await provider.close({ releaseTimeoutMs: 500 })));
  await provider.ready();
  return provider;
}

beforeEach(async () => {
  server = await startEmbeddedZooKeeper({ minSessionTimeoutMs: 1_000 });
  onTestFinished(() => server.stop());
  locks = await connected();
});

/** Enters a double barrier as one more member, and gives up when its node is there and it has looked at the round. */
async function enterInVain(provider: ZooKeeperLocks, path: string, parties: number): Promise<void> {
  const count = (): number =>
    server.operator.exists(path) === null ? 0 : server.operator.getChildren(path).length;
  const before = count();
  const abort = new AbortController();
  const reason = new Error("given up");
  const entering = provider.doubleBarrier(path, parties).enter({ signal: abort.signal });
  const refused = expect(entering).rejects.toBe(reason);
  await eventually(() => count() > before, { what: "the new member" });
  // These waits end after what the member has asked for, and after what the answers have caused.
  for (let looks = 0; looks < 2; looks++) await provider.barrier("/barriers/none").wait();
  abort.abort(reason);
  await refused;
}

describe("a member given up while its node is being made, whose create with the missing parents loses its answer", () => {
  test("of a double barrier is gone soon after enter() rejects, so that the next member does not pass with it", async () => {
    const path = "/barriers/new";
    const abort = new AbortController();
    const reason = new Error("given up");
    server.faults.on({ op: "create2" }, { do: "run", call: () => abort.abort(reason) });
    const lost = server.faults.on({ op: "create2", nth: 2 }, { do: "close", when: "applied" });
    const entering = locks.doubleBarrier(path, 2).enter({ signal: abort.signal });
    await expect(entering).rejects.toBe(reason);
    await lost.reached();
    await eventually(() => server.operator.getChildren(path).length === 0, { what: "no member" });
    await enterInVain(await connected(), path, 2);
  });

  test("of a group is gone once it is disposed of", async () => {
    const path = "/groups/g";
    const member = await locks.groupMembership(path).join("m");
    let disposed: Promise<void> | null = null;
    server.faults.on(
      { op: "create2" },
      {
        do: "run",
        call: () => {
          disposed = Promise.resolve(member[Symbol.asyncDispose]());
        },
      },
    );
    const lost = server.faults.on({ op: "create2", nth: 2 }, { do: "close", when: "applied" });
    server.operator.delete(`${path}/m`);
    server.operator.delete(path);
    await lost.reached();
    await disposed;
    expect(server.operator.getChildren(path)).toEqual([]);
  });
});

test("a member of a double barrier that enters again while the server is silent is not counted beside itself", async () => {
  const path = "/barriers/silent";
  server.operator.create("/barriers");
  server.operator.create(path);
  const barrier = (await connected()).doubleBarrier(path, 2);
  server.pause();
  await expect(barrier.enter({ waitMs: 100 })).rejects.toMatchObject({ code: "HF_BACKEND" });
  const again = expect(barrier.enter({ waitMs: 1_000 })).rejects.toThrow(AcquireTimeoutError);
  server.resume();
  await again;
});

test("a member of a double barrier that is given up while it looks for an older round does not open the barrier for the others", async () => {
  const path = "/barriers/crashed";
  server.operator.create("/barriers");
  server.operator.create(path);
  server.operator.create(`${path}/ready`);
  const waiting = (await connected()).doubleBarrier(path, 2).enter({ waitMs: 1_500 });
  const refused = expect(waiting).rejects.toThrow(AcquireTimeoutError);
  const others = () => server.operator.getChildren(path).filter((name) => name !== "ready");
  await eventually(() => others().length === 1, { what: "the other member" });
  const abort = new AbortController();
  const reason = new Error("given up");
  server.faults.on(
    { op: ["exists", "multiRead"], path: `${path}/${others()[0]}` },
    { do: "run", call: () => abort.abort(reason) },
  );
  await expect(locks.doubleBarrier(path, 2).enter({ signal: abort.signal })).rejects.toBe(reason);
  await refused;
});

describe("a wait whose time ends between two of its reads says that the time is over, and not that no server answered", () => {
  test("at a latch that is not set yet, or not as far as a server knows that lags", async () => {
    const held = server.faults.on({ op: "sync" }, { do: "hold" });
    const waiting = locks.countDownLatch("/latches/none").wait({ waitMs: 1_000 });
    await expect(waiting).rejects.toThrow(AcquireTimeoutError);
    expect(held.hits).toHaveLength(1);
    held.release();
  });

  test("at a barrier that is open, or below a chroot that is missing", async () => {
    server.operator.create("/app");
    const below = await connected(`${server.connectString}/app`);
    const held = server.faults.on({ op: "exists", path: "/app" }, { do: "hold" });
    await expect(below.barrier("b").wait({ waitMs: 1_000 })).rejects.toThrow(AcquireTimeoutError);
    expect(held.hits).toHaveLength(1);
    held.release();
  });

  test("at the others who are to leave a double barrier", async () => {
    const path = "/barriers/leaving";
    const other = await connected();
    const entering = [locks, other].map((each) => each.doubleBarrier(path, 2).enter({ waitMs: 10_000 }));
    const [place] = await Promise.all(entering);
    const held = server.faults.on({ op: "getData", path: /leaving\/[0-9a-f]{8}-/ }, { do: "hold" });
    await expect(place?.leave({ waitMs: 1_000 })).rejects.toThrow(AcquireTimeoutError);
    expect(held.hits).toHaveLength(1);
    held.release();
  });
});

test("a member of a double barrier that is given up while the missing parents are made watches nothing any more", async () => {
  const path = "/barriers/unwatched";
  const abort = new AbortController();
  const reason = new Error("given up");
  server.faults.on({ op: "create2" }, { do: "run", call: () => abort.abort(reason) });
  const watch = { op: "removeWatches", path: `${path}/ready`, times: Number.POSITIVE_INFINITY } as const;
  const removed = server.faults.on(watch, { do: "run", call: () => {} });
  await expect(locks.doubleBarrier(path, 2).enter({ signal: abort.signal })).rejects.toBe(reason);
  await removed.reached(2);
});

describe("the last member of a double barrier", () => {
  const members = (path: string): string[] =>
    server.operator.getChildren(path).filter((name) => name !== "ready");

  test("starts a round with a member that gives up long before it hears that its own node is there", async () => {
    const path = "/barriers/slow";
    server.operator.create("/barriers");
    server.operator.create(path);
    const abort = new AbortController();
    const held = server.faults.on({ op: "create2" }, { do: "hold", at: "reply" });
    const waiting = (await connected()).doubleBarrier(path, 2).enter({ signal: abort.signal });
    await held.reached();
    await locks.doubleBarrier(path, 2).enter({ waitMs: 10_000 });
    abort.abort(new Error("given up"));
    setTimeout(() => held.release(), 250);
    expect((await waiting).lost.aborted).toBe(false);
  });

  test.each(["before", "after"])(
    "starts a round with a member that gives up %s the ready node is made, or not at all",
    async (when) => {
      const path = "/barriers/left";
      const abort = new AbortController();
      const reason = new Error("given up");
      const [ours] = server.sessions();
      const first = await connected();
      const theirs = server.sessions().find(({ id }) => id !== ours?.id)?.id as bigint;
      const waiting = first.doubleBarrier(path, 2).enter({ signal: abort.signal });
      waiting.catch(() => {});
      await eventually(() => members(path).length === 1, { what: "the first member" });
      // The first member does not hear of the ready node before it gives up.
      const events = server.faults.holdEvents(theirs);
      const held = server.faults.on({ op: ["create2", "multi"], path: `${path}/ready` }, { do: "hold" });
      const entering = locks.doubleBarrier(path, 2).enter({ waitMs: 1_500 });
      entering.catch(() => {});
      await held.reached();
      if (when === "before") {
        abort.abort(reason);
        await expect(waiting).rejects.toBe(reason);
        held.release();
        await expect(entering).rejects.toThrow(AcquireTimeoutError);
        expect(server.operator.getChildren(path)).toEqual([]);
      } else {
        held.release();
        await entering;
        abort.abort(reason);
        events.release();
        expect((await waiting).lost.aborted).toBe(false);
        expect(members(path)).toHaveLength(2);
      }
    },
  );

  test("starts a round with a member that gives up before it has heard that its own node is there", async () => {
    const path = "/barriers/unheard";
    for (const each of ["/barriers", path]) server.operator.create(each);
    const abort = new AbortController();
    const held = server.faults.on({ op: "create2" }, { do: "hold", at: "reply" });
    const waiting = (await connected()).doubleBarrier(path, 2).enter({ signal: abort.signal });
    waiting.catch(() => {});
    await held.reached();
    await locks.doubleBarrier(path, 2).enter({ waitMs: 10_000 });
    abort.abort(new Error("given up"));
    held.release();
    expect((await waiting).lost.aborted).toBe(false);
  });

  test("does not count a member that is giving up, although its node is still there", async () => {
    const path = "/barriers/written";
    const leaving = `${path}/00000000-0000-4000-8000-000000000000`;
    for (const each of ["/barriers", path, leaving]) server.operator.create(each);
    server.operator.setData(leaving, Buffer.from("given up"));
    const tries = server.faults.on(
      { op: "multi", times: Number.POSITIVE_INFINITY },
      { do: "run", call: () => {} },
    );
    const looks = server.faults.on({ op: "getChildren2", path, times: 2 }, { do: "run", call: () => {} });
    const waiting = (await connected()).doubleBarrier(path, 2).enter({ waitMs: 10_000 });
    // The first look is followed by a try, and the second one by none.
    await looks.reached(2);
    await locks.doubleBarrier(path, 2).enter({ waitMs: 10_000 });
    await waiting;
    // Each member has tried once with the one that is giving up.
    expect(tries.hits).toHaveLength(3);
  });

  test("whose session ends as it lets the others start enters again, and they do not start without it", async () => {
    const path = "/barriers/last";
    const waiting = (await connected()).doubleBarrier(path, 2).enter({ waitMs: 10_000 });
    await eventually(() => members(path).length === 1, { what: "the first member" });
    const ended = server.faults.on({ op: "multi", path: `${path}/ready` }, { do: "expire" });
    const place = await locks.doubleBarrier(path, 2).enter({ waitMs: 10_000 });
    expect(ended.hits).toHaveLength(1);
    expect(place.lost.aborted).toBe(false);
    await waiting;
  });

  test("whose session ends while it looks for an older round enters again", async () => {
    const path = "/barriers/older";
    for (const each of ["/barriers", path, `${path}/ready`]) server.operator.create(each);
    const waiting = (await connected()).doubleBarrier(path, 2).enter({ waitMs: 10_000 });
    await eventually(() => members(path).length === 1, { what: "the first member" });
    const ended = server.faults.on({ op: "exists", path: `${path}/${members(path)[0]}` }, { do: "expire" });
    const place = await locks.doubleBarrier(path, 2).enter({ waitMs: 10_000 });
    expect(ended.hits).toHaveLength(1);
    expect(place.lost.aborted).toBe(false);
    await waiting;
  });

  test("gives up in time where contact breaks before it could let the others start, and does not let them start later", async () => {
    const path = "/barriers/outage";
    const abort = new AbortController();
    const reason = new Error("given up");
    const waiting = (await connected()).doubleBarrier(path, 2).enter({ signal: abort.signal });
    const refused = expect(waiting).rejects.toBe(reason);
    await eventually(() => members(path).length === 1, { what: "the first member" });
    const cut = server.faults.on({ op: "multi", path: `${path}/ready` }, { do: "close" });
    const away = server.faults.on({ op: "connect", times: Number.POSITIVE_INFINITY }, { do: "close" });
    const startedMs = performance.now();
    const entering = locks.doubleBarrier(path, 2).enter({ waitMs: 1_500 });
    await expect(entering).rejects.toThrow(AcquireTimeoutError);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(cut.hits).toHaveLength(1);
    away.release();
    await eventually(() => members(path).length === 1, { what: "the first member alone" });
    // This wait ends after everything that was sent when contact came back.
    await locks.barrier("/barriers/none").wait();
    expect(server.operator.getChildren(path)).toHaveLength(1);
    abort.abort(reason);
    await refused;
  });

  test("that has no right to replace what a crashed round has left behind hears that", async () => {
    const path = "/barriers/rights";
    server.operator.create("/barriers");
    const acl = [{ perms: Perms.READ | Perms.CREATE, scheme: "world", id: "anyone" }];
    server.operator.create(path, { acl });
    server.operator.create(`${path}/ready`);
    await expect(locks.doubleBarrier(path, 1).enter({ waitMs: 5_000 })).rejects.toMatchObject({
      code: "HF_BACKEND",
      retryable: false,
      message: expect.stringContaining("NoAuth"),
    });
  });
});

test("a member that gives up causes no event of the ready node, at which members of Curator would pass", async () => {
  const path = "/barriers/quiet";
  const ready = { op: "event", path: `${path}/ready`, times: Number.POSITIVE_INFINITY } as const;
  const events = server.faults.on(ready, { do: "drop" });
  const abort = new AbortController();
  const reason = new Error("given up");
  const waiting = (await connected()).doubleBarrier(path, 3).enter({ signal: abort.signal });
  const refused = expect(waiting).rejects.toBe(reason);
  const members = (): string[] => server.operator.getChildren(path);
  await eventually(() => server.operator.exists(path) !== null && members().length === 1, {
    what: "the first member",
  });
  await enterInVain(locks, path, 3);
  expect(members()).toHaveLength(1);
  abort.abort(reason);
  await refused;
  expect(events.hits).toEqual([]);
});

test("a double barrier of more members than one transaction can check is refused at once, with the number that fits", async () => {
  const entering = locks.doubleBarrier("/barriers/huge", 1_000_000).enter({ waitMs: 1_000 });
  const refused = await entering.then(
    () => null,
    (error: Error) => error,
  );
  expect(refused).toBeInstanceOf(InvalidArgumentError);
  const most = Number(/ask for (\d+) at most/.exec(refused?.message ?? "")?.[1]);
  expect(server.operator.exists("/barriers")).toBeNull();
  await enterInVain(locks, "/barriers/huge", most);
  const tooMany = locks.doubleBarrier("/barriers/huge", most + 1).enter({ waitMs: 300 });
  await expect(tooMany).rejects.toThrow(InvalidArgumentError);
});

describe("a member that has passed a double barrier, in an outage,", () => {
  const path = "/barriers/passed";
  const members = (): string[] => server.operator.getChildren(path).filter((name) => name !== "ready");

  test("whose leave() rejects stays when contact is back, and leaves by the next call", async () => {
    const place = await locks.doubleBarrier(path, 1).enter({ waitMs: 10_000 });
    const cut = server.faults.on({ op: "getChildren2" }, { do: "close" });
    const away = server.faults.on({ op: "connect", times: Number.POSITIVE_INFINITY }, { do: "close" });
    await expect(place.leave({ waitMs: 300 })).rejects.toMatchObject({ code: "HF_BACKEND" });
    await cut.reached();
    away.release();
    await locks.ready({ waitMs: 10_000 });
    // These waits end after everything that was sent when contact came back, and after what its answers have caused.
    for (let looks = 0; looks < 2; looks++) await locks.barrier("/barriers/none").wait();
    expect(members()).toHaveLength(1);
    expect(place.lost.aborted).toBe(false);
    await place.leave({ waitMs: 10_000 });
    expect(members()).toEqual([]);
  });

  test("is disposed of within releaseTimeoutMs, and goes with the next contact", async () => {
    const provider = zookeeperLocks({
      connect: server.connectString,
      sessionTimeoutMs: 20_000,
      releaseTimeoutMs: 300,
    });
    onTestFinished(async () => void (await provider.close()));
    const place = await provider.doubleBarrier(path, 1).enter({ waitMs: 10_000 });
    server.faults.on({ op: "delete" }, { do: "close" });
    const away = server.faults.on({ op: "connect", times: Number.POSITIVE_INFINITY }, { do: "close" });
    const startedMs = performance.now();
    await place[Symbol.asyncDispose]();
    expect(performance.now() - startedMs).toBeLessThan(3_000);
    expect(members()).toHaveLength(1);
    away.release();
    await eventually(() => members().length === 0, { what: "no member", withinMs: 10_000 });
  });
});

test("a join that rejects after an outage leaves no member behind, and the id can be taken again", async () => {
  const provider = zookeeperLocks({
    connect: server.connectString,
    sessionTimeoutMs: 20_000,
    connectTimeoutMs: 400,
  });
  onTestFinished(async () => void (await provider.close({ releaseTimeoutMs: 500 })));
  // The short time is for the outage below. The first connection may take longer on a busy machine.
  await provider.ready({ waitMs: 20_000 });
  const group = provider.groupMembership("/groups/out");
  await (await group.join("first"))[Symbol.asyncDispose]();
  server.faults.on({ op: "create2" }, { do: "close", when: "applied" });
  const away = server.faults.on({ op: "connect", times: Number.POSITIVE_INFINITY }, { do: "close" });
  await expect(group.join("m")).rejects.toMatchObject({ code: "HF_BACKEND" });
  expect(server.operator.getChildren("/groups/out")).toEqual(["m"]);
  away.release();
  await eventually(() => server.operator.getChildren("/groups/out").length === 0, {
    what: "no member",
    withinMs: 10_000,
  });
  await (await group.join("m"))[Symbol.asyncDispose]();
});

describe("a second join of an id in one provider", () => {
  test("is refused when the answer to its create was lost, and the first member stays", async () => {
    const group = locks.groupMembership("/groups/twice");
    await group.join("m");
    const before = server.operator.exists("/groups/twice/m");
    const lost = server.faults.on({ op: "create2" }, { do: "close", when: "applied" });
    await expect(group.join("m")).rejects.toThrow(LayoutConflictError);
    expect(lost.hits).toHaveLength(1);
    expect(server.operator.exists("/groups/twice/m")?.czxid).toBe(before?.czxid);
  });

  test("is let in where only its own create made the node and lost the answer", async () => {
    const group = locks.groupMembership("/groups/once");
    server.faults.on({ op: "create2", path: "/groups/once/m", nth: 2 }, { do: "close", when: "applied" });
    const member = await group.join("m");
    expect(server.operator.getChildren("/groups/once")).toEqual(["m"]);
    await member[Symbol.asyncDispose]();
    await eventually(() => server.operator.getChildren("/groups/once").length === 0, { what: "no member" });
  });
});

test("close() names a double barrier whose member could not be taken back as the caller does", async () => {
  const provider = await connected();
  server.operator.create("/holdfast");
  server.operator.create("/holdfast/b");
  const held = server.faults.on({ op: "delete" }, { do: "hold" });
  const abort = new AbortController();
  const reason = new Error("given up");
  const refused = expect(provider.doubleBarrier("b", 2).enter({ signal: abort.signal })).rejects.toBe(reason);
  await eventually(() => server.operator.getChildren("/holdfast/b").length === 1, { what: "the member" });
  abort.abort(reason);
  await refused;
  expect((await provider.close({ releaseTimeoutMs: 100 })).unconfirmed).toEqual(["b"]);
  held.release();
});

test("a member of a double barrier that is given up or closed during an outage leaves no unhandled rejection", async () => {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  onTestFinished(() => void process.off("unhandledRejection", unhandled));
  const provider = await connected(server.connectString, 3_000);
  const abort = new AbortController();
  const reason = new Error("given up");
  const enter = (name: string, signal?: AbortSignal) =>
    provider.doubleBarrier(name, 2).enter(signal === undefined ? {} : { signal });
  const entering = [enter("/one", abort.signal), enter("/two")];
  const ended = Promise.allSettled(entering);
  const outage = new Promise<void>((resolve) => {
    provider.events.on("session-state", ({ state }) => state === "suspended" && resolve());
  });
  await eventually(() => server.operator.exists("/one") !== null && server.operator.exists("/two") !== null, {
    what: "both members",
  });
  server.pause();
  await outage;
  abort.abort(reason);
  await provider.close({ releaseTimeoutMs: 100 });
  expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  // Node.js reports a rejection that nothing handles before the next turn of the event loop.
  await setImmediate();
  expect(unhandled).not.toHaveBeenCalled();
  server.resume();
});
