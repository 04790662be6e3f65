import {
  BackendError,
  InvalidArgumentError,
  type LockLostError,
  ProviderClosedError,
  QuorumError,
} from "@holdfast/core";
import { marginMs } from "@holdfast/redis-recipes/internal";
import { afterEach, expect, it, vi } from "vitest";
import { calm } from "../../../redis-recipes/test/recipes/simulated-line.js";
import { resolveRedLocks } from "../../src/redlock/options.js";
import { Scene, slow } from "./scene.js";
import { SimulatedProcess } from "./simulated-process.js";

afterEach(() => vi.restoreAllMocks());

const failed = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "no error",
    (error: unknown) => error,
  );

it("validity is counted from the first request, however long the majority takes", async () => {
  const scene = new Scene(3);
  const process = scene.process({ nodeTimeoutMs: 2_000 });
  slow(process, [1, 2], 400);
  const startedMs = scene.world.nowMs();
  const handle = await scene.done(process.locks.mutex("a").acquire({ renew: false }));
  expect(scene.world.nowMs() - startedMs).toBeGreaterThanOrEqual(800);
  const endMs = startedMs + 10_000 - marginMs(10_000);
  expect(scene.world.nowMs() + handle.remainingMs()).toBeCloseTo(endMs, 0);
});

it("a hold ends before the node's lease does, with clocks that drift apart as far as is allowed for", async () => {
  const scene = new Scene(3);
  for (const node of scene.nodes) node.drift = 0.0045;
  const process = scene.process({ leaseMs: 100_000 }, { rate: -0.0045 });
  await scene.done(process.locks.mutex("a").acquire({ renew: false }));
  // From here on no reply arrives. A reply would say how much of the lease is left.
  slow(process, [0, 1, 2], 1_000_000);
  await scene.pass(99_000);
  expect(scene.heldOn("a")).toBe(3);
  while (scene.heldOn("a") === 3) await scene.pass(5);
  expect(process.beliefs).toEqual([]);
});

it("a late vote of a round that was lost does not count for the grant of the next round", async () => {
  const scene = new Scene(3);
  const process = scene.process();
  const [, , third] = scene.nodes;
  third?.now.hset("a", "somebody:1", "1");
  slow(process, [1], 400);
  const acquired = process.locks.mutex("a").acquire();
  await scene.pass(60);
  third?.now.del("a");
  await scene.pass(350);
  // The second node's vote of the first round is on its way here. Later answers of that node never arrive.
  slow(process, [1], 1_000_000);
  const handle = await scene.done(acquired);
  // By then the first renewal has confirmed the votes of the other two nodes, after that late vote arrived.
  await scene.pass(4_000);
  handle.assertHeld();
  third?.now.del("a");
  await scene.pass(10_000 / 3 + 100);
  expect(handle.state).toBe("lost");
});

it("an extension is counted from its first request too", async () => {
  const scene = new Scene(3);
  const process = scene.process({ nodeTimeoutMs: 2_000 });
  const handle = await scene.done(process.locks.mutex("a").acquire());
  slow(process, [0, 1, 2], 400);
  const startedMs = scene.world.nowMs();
  await scene.done(handle.confirm());
  const endMs = startedMs + 10_000 - marginMs(10_000);
  expect(scene.world.nowMs() + handle.remainingMs()).toBeLessThanOrEqual(endMs + 1);
});

it("a majority that leaves less than minValidityMs is no grant, and its votes go back", async () => {
  const scene = new Scene(3);
  const process = scene.process({ nodeTimeoutMs: 2_000, minValidityMs: 9_500 });
  slow(process, [1, 2], 400);
  const error = await scene.done(failed(process.locks.mutex("a").tryAcquire()));
  expect(error).toBeInstanceOf(QuorumError);
  expect(String(error)).toContain("came too late");
  await scene.pass(2_000);
  expect(scene.heldOn("a")).toBe(0);
});

it("a lease of which no majority could leave minValidityMs is refused by the factory and by a call, and asks no node", async () => {
  const nodes = ["redis://a:6379", "redis://b:6379", "redis://c:6379"];
  for (const minValidityMs of [988, 60_000]) {
    const resolve = () => resolveRedLocks({ nodes, leaseMs: 1_000, minValidityMs });
    expect(resolve).toThrow(InvalidArgumentError);
    expect(resolve).toThrow(
      `redLocks: leaseMs is 1000, of which at most 988 ms count, and minValidityMs of redLocks is ${minValidityMs}`,
    );
  }
  expect(resolveRedLocks({ nodes, leaseMs: 1_000, minValidityMs: 987 }).minValidityMs).toBe(987);
  const scene = new Scene(3);
  for (const [options, leaseMs] of [
    [{}, 2],
    [{ minValidityMs: 2_000 }, 1_500],
  ] as const) {
    const { locks } = scene.process(options);
    const error = await scene.done(failed(locks.mutex("a").acquire({ leaseMs })));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ lockName: "a", message: expect.stringContaining("minValidityMs") });
  }
  expect(scene.heldOn("a")).toBe(0);
});

it("nodes that do not answer cost a grant no time", async () => {
  const scene = new Scene(5);
  const process = scene.process();
  slow(process, [1, 3], 60_000);
  const startedMs = scene.world.nowMs();
  await scene.done(process.locks.mutex("a").acquire({ renew: false }));
  expect(scene.world.nowMs() - startedMs).toBeLessThan(5);
});

it("without a majority the answer is there after two rounds: one for the votes, one to take them back", async () => {
  const scene = new Scene(5);
  const process = scene.process();
  slow(process, [1, 3, 4], 60_000);
  const startedMs = scene.world.nowMs();
  const error = await scene.done(failed(process.locks.mutex("a").tryAcquire()));
  expect(error).toBeInstanceOf(QuorumError);
  expect((error as QuorumError).votes.filter(({ vote }) => vote === "late")).toHaveLength(3);
  expect(scene.world.nowMs() - startedMs).toBeLessThan(110);
});

it("votes that come too late are taken back on every node that was asked, long before their lease ends", async () => {
  const scene = new Scene(5);
  const process = scene.process();
  slow(process, [1, 2, 3], 80);
  expect(await scene.done(failed(process.locks.mutex("a").tryAcquire()))).toBeInstanceOf(QuorumError);
  await scene.pass(500);
  expect(scene.heldOn("a")).toBe(0);
});

it("after a split vote each waits for a random time", async () => {
  const scene = new Scene(3);
  const [one, two] = [scene.process(), scene.process()];
  // Each process comes first at one node, and another client has the third node: neither process can win.
  slow(one, [1], 5);
  slow(two, [0], 5);
  scene.nodes[2]?.now.hset("a", "somebody:1", "1");
  const askedMs: number[] = [];
  (scene.nodes[0] as (typeof scene.nodes)[0]).onExecute = (name) => {
    if (name === "redlock-vote") askedMs.push(scene.world.nowMs());
  };
  const waits = [one, two].map(({ locks }) => failed(locks.mutex("a").acquire({ waitMs: 3_000 })));
  await scene.done(Promise.all(waits));
  const gapsMs = askedMs.slice(2).map((atMs, index) => atMs - (askedMs[index] as number));
  expect(gapsMs.length).toBeGreaterThan(4);
  expect(new Set(gapsMs.map((gapMs) => Math.round(gapMs))).size).toBeGreaterThan(gapsMs.length / 2);
});

it("the shortest pause after a split vote is longer than its round", async () => {
  const scene = new Scene(3);
  const process = scene.process();
  // One vote is for us, and two other clients have one each. There is no holder to wait for, and the round takes 40 ms.
  slow(process, [2], 20);
  scene.nodes[1]?.now.hset("a", "somebody:1", "1");
  scene.nodes[2]?.now.hset("a", "somebody-else:1", "1");
  vi.spyOn(process.runtime, "random").mockReturnValue(0);
  const votedMs: number[] = [];
  (scene.nodes[0] as (typeof scene.nodes)[0]).onExecute = (name) => {
    if (name === "redlock-vote") votedMs.push(scene.world.nowMs());
  };
  await scene.done(failed(process.locks.mutex("a").acquire({ waitMs: 1_000 })));
  const gapsMs = votedMs.slice(1, -1).map((atMs, index) => atMs - (votedMs[index] as number));
  expect(gapsMs.length).toBeGreaterThan(2);
  expect(Math.min(...gapsMs)).toBeGreaterThanOrEqual(80);
});

it("an extension keeps the owner and needs a majority again; without one the hold is lost before any node frees it", async () => {
  const scene = new Scene(3);
  const process = scene.process();
  const handle = await scene.done(process.locks.mutex("a").acquire());
  const owner = scene.nodes[0]?.holderOf("a");
  await scene.pass(25_000);
  handle.assertHeld();
  expect(scene.nodes.map((node) => node.holderOf("a"))).toEqual([owner, owner, owner]);
  slow(process, [1, 2], 60_000);
  let heldAtLoss = 0;
  handle.lost.addEventListener("abort", () => {
    heldAtLoss = scene.heldOn("a");
  });
  await scene.pass(10_000);
  expect(handle.state).toBe("lost");
  expect(heldAtLoss).toBe(3);
});

it("a hold is not extended beyond maxHoldMs, not even when a node comes back as another server", async () => {
  const scene = new Scene(3);
  const process = scene.process({ maxHoldMs: 12_000 });
  const startedMs = scene.world.nowMs();
  const handle = await scene.done(process.locks.mutex("a").acquire());
  await scene.pass(11_000);
  handle.assertHeld();
  scene.nodes[0]?.restart("all");
  process.lines[0]?.cut();
  process.lines[0]?.mend();
  await scene.pass(500);
  let lostMs = 0;
  handle.lost.addEventListener("abort", () => {
    lostMs = scene.world.nowMs();
  });
  await scene.pass(20_000);
  expect(lostMs).toBeGreaterThan(0);
  expect(lostMs - startedMs).toBeLessThanOrEqual(12_000);
});

it("a lock with holdAtLeastMs stays taken for the whole time after its release, by leases of maxLeaseMs at most", async () => {
  const scene = new Scene(3);
  const [living, dying] = [scene.process(), scene.process()];
  for (const [{ locks }, name] of [
    [living, "a"],
    [dying, "b"],
  ] as const) {
    const handle = await scene.done(locks.mutex(name).acquire({ holdAtLeastMs: 60_000 }));
    expect(await scene.done(handle.release())).toBe("still-held");
  }
  await scene.pass(25_000);
  expect([scene.heldOn("a"), scene.heldOn("b")]).toEqual([3, 3]);
  dying.crash();
  await scene.pass(10_050);
  expect([scene.heldOn("a"), scene.heldOn("b")]).toEqual([3, 0]);
  await scene.pass(24_900);
  expect(scene.heldOn("a")).toBe(3);
  await scene.pass(100);
  expect(scene.heldOn("a")).toBe(0);
});

it("a majority that is lost while held is noticed within a third of the lease, without renewal too", async () => {
  for (const renew of [true, false]) {
    const scene = new Scene(3);
    const handle = await scene.done(scene.process().locks.mutex("a").acquire({ renew }));
    for (const node of scene.nodes.slice(1)) node.now.del("a");
    await scene.pass(10_000 / 3 + 100);
    expect(handle.state).toBe("lost");
    expect((handle.lost.reason as LockLostError).reason).toBe("quorum-lost");
  }
});

it("a vote that its node may have forgotten extends no hold: it is lost before that node votes again", async () => {
  const scene = new Scene(5);
  const [one, two] = [scene.process(), scene.process()];
  slow(one, [3, 4], 1_000_000);
  await scene.done(one.locks.mutex("a").acquire());
  scene.nodes[2]?.restart("nothing");
  for (const { lines } of [one, two]) {
    lines[2]?.cut();
    lines[2]?.mend();
  }
  const next = await scene.done(two.locks.mutex("a").acquire({ waitMs: 60_000 }));
  next.assertHeld();
  expect(one.beliefs).toEqual([]);
});

it("a release takes nothing from the next holder", async () => {
  const scene = new Scene(3);
  const [one, two] = [scene.process(), scene.process()];
  const first = await scene.done(one.locks.mutex("a").acquire({ renew: false }));
  one.pause(20_000);
  const second = await scene.done(two.locks.mutex("a").acquire({ waitMs: 15_000 }));
  expect(await scene.done(first.release())).toBe("lost");
  await scene.pass(12_000);
  second.assertHeld();
  expect(scene.heldOn("a")).toBe(3);
});

it("a gap is found out although another vote has come by then", async () => {
  const scene = new Scene(3);
  const [one, two] = [scene.process(), scene.process()];
  slow(one, [2], 60_000);
  const handle = await scene.done(one.locks.mutex("a").acquire());
  // From now on the third node answers. The first extension asks it again, and it votes.
  slow(one, [2], 20);
  // The second node's answer takes longer than a round.
  slow(one, [1], 60);
  scene.nodes[1]?.now.del("a");
  scene.nodes[2]?.now.del("a");
  const between = await scene.done(two.locks.mutex("a").acquire());
  await scene.done(between.release());
  await scene.pass(4_500);
  expect(handle.state).toBe("lost");
});

it("a node whose clock was stepped forward ends the hold when its lease ends, not when ours would", async () => {
  const warn = vi.spyOn(globalThis.process, "emitWarning").mockImplementation(() => {});
  const scene = new Scene(3);
  const process = scene.process({ leaseMs: 30_000 });
  slow(process, [2], 60_000);
  const handle = await scene.done(process.locks.mutex("a").acquire({ renew: false }));
  // Read only once: each look at the handle reads the clock and would itself find the end.
  const { lost } = handle;
  await scene.pass(1_000);
  (scene.nodes[1] as (typeof scene.nodes)[1]).offsetMs += 15_000;
  await scene.pass(10_000);
  handle.assertHeld();
  expect(handle.remainingMs()).toBeLessThan(4_000);
  await scene.pass(4_000);
  expect(lost.aborted).toBe(true);
  expect(handle.state).toBe("lost");
  const codes = warn.mock.calls.map(([, options]) => (options as { code?: string }).code);
  expect(codes).toContain("HF_CLOCK_STEP");
});

it("clocks that are further apart than a lease allows for are a warning with the names of the nodes", async () => {
  const warn = vi.spyOn(globalThis.process, "emitWarning").mockImplementation(() => {});
  const scene = new Scene(3);
  (scene.nodes[1] as (typeof scene.nodes)[1]).offsetMs += 1_000;
  const process = scene.process();
  for (const name of ["a", "b"]) await scene.done(process.locks.mutex(name).acquire());
  const texts = warn.mock.calls.map(([text]) => String(text)).filter((text) => text.includes("apart"));
  expect(texts.length).toBeGreaterThan(0);
  expect(texts.every((text) => text.includes("node-1:6379"))).toBe(true);
});

it("a node that is not given, such as by a variable that is not set, is refused with its place", () => {
  const nodes = ["redis://a:6379", undefined as unknown as string, "redis://c:6379"];
  expect(() => resolveRedLocks({ nodes })).toThrow(InvalidArgumentError);
  expect(() => resolveRedLocks({ nodes })).toThrow("redLocks: nodes[1] is undefined");
});

it("two nodes with one run id are refused, and nothing is granted by them", async () => {
  const scene = new Scene(3);
  const [first, second] = scene.nodes;
  if (first && second) first.runId = second.runId;
  const process = scene.process();
  const error = await scene.done(failed(process.locks.mutex("a").acquire({ waitMs: 1_000 })));
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect(String(error)).toContain("one server");
});

it("a source of tokens that gives none is waited for no longer than the votes last, and leaves no votes", async () => {
  const scene = new Scene(3);
  const process = scene.process({ fencing: () => new Promise(() => {}) });
  const startedMs = scene.world.nowMs();
  const error = await scene.done(failed(process.locks.mutex("a").tryAcquire()));
  expect(error).toBeInstanceOf(BackendError);
  expect(String(error)).toContain('no fencing token for "a" from its source: no answer within the lease');
  expect(scene.world.nowMs() - startedMs).toBeLessThanOrEqual(10_000);
  await scene.pass(100);
  expect(scene.heldOn("a")).toBe(0);
});

it("an error of the source of tokens that is not known to pass ends an acquire without a limit, after one majority", async () => {
  for (const thrown of [
    new TypeError("add is not a function"),
    new ProviderClosedError("the counter is closed"),
  ]) {
    const scene = new Scene(3);
    const fencing = vi.fn(async (): Promise<bigint> => {
      throw thrown;
    });
    const acquired = vi.fn();
    void failed(scene.process({ fencing }).locks.mutex("a").acquire()).then(acquired);
    await scene.pass(60_000);
    expect(acquired.mock.calls).toEqual([[expect.any(BackendError)]]);
    expect(acquired.mock.calls[0]?.[0]).toMatchObject({
      retryable: false,
      lockName: "a",
      cause: thrown,
    });
    expect(fencing).toHaveBeenCalledTimes(1);
    expect(scene.heldOn("a")).toBe(0);
  }
});

it("a source of tokens that comes back within an acquire is asked again", async () => {
  const scene = new Scene(3);
  const fencing = vi.fn(async () => 7n).mockRejectedValueOnce(new BackendError("the counter is away"));
  const handle = await scene.done(scene.process({ fencing }).locks.mutex("a").acquire());
  expect([handle.token, fencing.mock.calls.length]).toEqual([7n, 2]);
  await scene.done(handle.release());
});

it("a source of tokens that is away is an outage, and not a lock that is taken, when the limit of a try comes", async () => {
  const scene = new Scene(3);
  const fencing = vi
    .fn(() => new Promise<bigint>(() => {}))
    .mockRejectedValueOnce(new BackendError("the counter is away"));
  const trying = failed(scene.process({ fencing }).locks.mutex("a").tryAcquire({ waitMs: 5_000 }));
  expect(await scene.done(trying)).toBeInstanceOf(BackendError);
});

it("an acquire without a limit rejects where a majority of the nodes refuses for good", async () => {
  const scene = new Scene(3);
  const ended = vi.fn();
  const process = scene.process();
  const refuses = (script: string) =>
    script === "redlock-vote" ? "NOPERM No permissions to access a key" : null;
  for (const line of process.lines.slice(1)) line.weather = { ...calm, refuses };
  void failed(process.locks.mutex("a").acquire()).then(ended);
  await scene.pass(60_000);
  expect(ended.mock.calls).toMatchObject([[{ code: "HF_QUORUM", retryable: false, lockName: "a" }]]);
});

it("a wait without a limit whose majorities are never in time, or never get a token, is a warning that says so", async () => {
  for (const [options, reason] of [
    [{ minValidityMs: 9_897 }, /the majority for "a" came too late/],
    [
      { fencing: () => new Promise<bigint>(() => {}) },
      /no fencing token for "a".*no answer within the lease/,
    ],
  ] as const) {
    const told = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const scene = new Scene(3);
    const stop = new AbortController();
    const waiting = failed(scene.process(options).locks.mutex("a").acquire({ signal: stop.signal }));
    await scene.pass(26_000);
    expect(told.mock.calls.map(([message, given]) => [String(message), given])).toEqual([
      [expect.stringMatching(reason), expect.objectContaining({ code: "HF_BLOCKED_WAIT" })],
    ]);
    stop.abort();
    await scene.done(waiting);
    told.mockRestore();
  }
});

it("votes that end while the token is drawn are no majority any more, and the rest of them is taken back", async () => {
  const scene = new Scene(3);
  const fencing = async (name: string): Promise<bigint> => {
    scene.nodes[0]?.space.del(name);
    return 7n;
  };
  const error = await scene.done(failed(scene.process({ fencing }).locks.mutex("a").tryAcquire()));
  expect(error).toBeInstanceOf(QuorumError);
  expect(String(error)).toContain("1 of 2 nodes still had their vote");
  await scene.pass(100);
  expect(scene.heldOn("a")).toBe(0);
});

it("a node that says nothing after its vote keeps it: the grant with a drawn token does not need its word", async () => {
  const scene = new Scene(3);
  const fencing = async (): Promise<bigint> => {
    slow(scene.processes[0] as SimulatedProcess, [0], 400);
    return 7n;
  };
  const handle = await scene.done(scene.process({ fencing }).locks.mutex("a").acquire());
  expect(handle.token).toBe(7n);
  await scene.done(handle.release());
});

it("a release asks no node to which no vote could be sent, and costs no time for it", async () => {
  const scene = new Scene(3);
  const process = scene.process();
  process.lines[2]?.cut();
  await scene.done((await scene.done(process.locks.mutex("b").acquire())).release());
  await scene.pass(15_000);
  const idle = scene.world.pendingTimers;
  const handle = await scene.done(process.locks.mutex("a").acquire());
  const startedMs = scene.world.nowMs();
  expect(await scene.done(handle.release())).toBe("released");
  expect(scene.world.nowMs() - startedMs).toBeLessThan(10);
  await scene.pass(5_000);
  expect(scene.world.pendingTimers).toBe(idle);
  expect(scene.heldOn("a")).toBe(0);
});

it("a release reaches each node that may have a vote: one that is away by then, and one that voted after the grant", async () => {
  const scene = new Scene(3);
  const process = scene.process();
  process.lines[2]?.cut();
  const handle = await scene.done(process.locks.mutex("a").acquire());
  process.lines[2]?.mend();
  // The first renewal asks the third node too for its vote.
  await scene.pass(5_000);
  expect(scene.heldOn("a")).toBe(3);
  process.lines[1]?.cut();
  expect(await scene.done(handle.release())).toBe("released");
  expect(scene.nodes.map((node) => node.holderOf("a") !== undefined)).toEqual([false, true, false]);
  process.lines[1]?.mend();
  await scene.pass(500);
  expect(scene.heldOn("a")).toBe(0);
});

it("a request that may be revoked does not wait for the channel of a node that is away", async () => {
  const scene = new Scene(3);
  const process = scene.process({ nodeTimeoutMs: 2_000 });
  await scene.done((await scene.done(process.locks.mutex("b").acquire())).release());
  process.lines[2]?.cut();
  const startedMs = scene.world.nowMs();
  await scene.done(process.locks.mutex("a").acquire({ revocable: true }));
  expect(scene.world.nowMs() - startedMs).toBeLessThan(1_000);
});

it("a cancelled request does not wait for its token", async () => {
  const scene = new Scene(3);
  const process = scene.process({ fencing: () => new Promise(() => {}) });
  const controller = new AbortController();
  scene.world.setTimer(100, () => controller.abort());
  await scene.done(failed(process.locks.mutex("a").acquire({ signal: controller.signal })));
  await scene.pass(100);
  expect(scene.heldOn("a")).toBe(0);
});

it("a request that may be revoked and is cancelled before its messages can be heard draws no token", async () => {
  const scene = new Scene(3);
  const drawn: string[] = [];
  const fencing = async (name: string): Promise<bigint> => {
    drawn.push(name);
    return 7n;
  };
  const process = scene.process({ fencing });
  for (const line of process.lines)
    vi.spyOn(line, "subscribe").mockReturnValue({ live: false, ready: new Promise(() => {}), end: () => {} });
  const controller = new AbortController();
  // At 20 ms a majority has voted, and the acquire waits for the channels, for as long as a node may take to answer.
  scene.world.setTimer(20, () => controller.abort());
  const cancelled = process.locks.mutex("a").acquire({ revocable: true, signal: controller.signal });
  await scene.done(failed(cancelled));
  expect(scene.heldOn("a")).toBe(3);
  await scene.pass(200);
  expect(drawn).toEqual([]);
  expect(scene.heldOn("a")).toBe(0);
});

it("a server with two names has one vote, also when the second name is reached only later", async () => {
  const scene = new Scene(2);
  const [first, other] = scene.nodes as [(typeof scene.nodes)[0], (typeof scene.nodes)[0]];
  const process = new SimulatedProcess([first, first, other], { leaseMs: 10_000, nodeTimeoutMs: 50 });
  process.lines[1]?.cut();
  const handle = await scene.done(process.locks.mutex("a").acquire());
  process.lines[1]?.mend();
  await scene.pass(5_000);
  // From here on only one server answers, under both of its names.
  process.lines[2]?.cut();
  await scene.pass(10_000);
  expect(handle.state).toBe("lost");
});

it("nodes that sit out after a restart are the cause of a time-out, and a warning reports them to a wait without a limit", async () => {
  const told = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  const scene = new Scene(3);
  for (const node of scene.nodes) node.restart("nothing");
  const { locks } = scene.process();
  const error = await failed(scene.done(locks.mutex("a").acquire({ waitMs: 2_000 })));
  expect(error).toMatchObject({ code: "HF_ACQUIRE_TIMEOUT", cause: expect.any(QuorumError) });
  const waiting = locks.mutex("b").acquire();
  await scene.pass(6_000);
  expect(told.mock.calls.map(([message, options]) => [String(message), options])).toEqual([
    [expect.stringMatching(/"b".*votes again in/s), expect.objectContaining({ code: "HF_BLOCKED_WAIT" })],
  ]);
  await scene.done((await scene.done(waiting)).release());
});

it("a hold outlives two of five nodes that are cut off before its first extension, and their return", async () => {
  const scene = new Scene(5);
  const process = scene.process();
  // The votes of these two come after the majority's, which vouches for them.
  slow(process, [3, 4], 10);
  const handle = await scene.done(process.locks.mutex("a").acquire());
  await scene.pass(1_000);
  for (const index of [0, 1]) process.lines[index]?.cut();
  await scene.pass(15_000);
  expect(handle.state).toBe("held");
  for (const index of [0, 1]) process.lines[index]?.mend();
  await scene.pass(15_000);
  expect(handle.state).toBe("held");
  expect(await scene.done(handle.release())).toBe("released");
});
