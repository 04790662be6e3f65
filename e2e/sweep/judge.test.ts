import { LockLostError, type PrimitiveKind } from "@holdfast/core";
import { EventHub } from "@holdfast/core/internal";
import { CreateFlags } from "@holdfast/zk-protocol";
import { expect, it } from "vitest";
import { endings, type FaultKind } from "./fault-kinds.js";
import { mutex } from "./recipes.js";
import { type ContenderNode, contenders } from "./support/contenders.js";
import { World } from "./support/world.js";

const path = "/locks/judged";

it("convicts a grant beside a holder that has not heard of its loss", async () => {
  await using world = await World.start(1);
  const [a, b] = [await world.open("A"), await world.open("B")];
  await a.locks.mutex(path).acquire();
  const waiting = b.locks.mutex(path).acquire();
  await world.until(() => world.queued(path) === 2, 1_000);
  const [first] = contenders(world.server, path);
  world.server.operator.delete(first?.path ?? "");
  await waiting;
  expect(world.witness.violations).toEqual([expect.stringMatching(/^B .* while A believes .* untold$/)]);
});

it("does not convict where the loss was by force and is on its way", async () => {
  await using world = await World.start(1);
  const [a, b] = [await world.open("A"), await world.open("B")];
  const held = await a.locks.mutex(path).acquire();
  const waiting = b.locks.mutex(path).acquire();
  await world.until(() => world.queued(path) === 2, 1_000);
  world.witness.forcedSession(a.session);
  world.server.expireSession(a.session);
  const next = await waiting;
  expect(world.witness.violations).toEqual([]);
  await world.until(() => held.state === "lost", 1_000);
  expect(held.state).toBe("lost");
  await next.release();
});

it("convicts a node that is left in the queue", async () => {
  await using world = await World.start(1);
  const { locks } = await world.open("A");
  await (await locks.mutex(path).acquire()).release();
  world.server.operator.create(`${path}/lock-`, { flags: CreateFlags.persistentSequential });
  await expect(world.finish([{ path, recipe: mutex }])).rejects.toThrow(
    "the locks are to be had again: not within its time",
  );
  expect(world.witness.violations).toEqual([expect.stringContaining("left behind")]);
});

it("convicts a grant behind another node, and a token that does not rise", async () => {
  await using world = await World.start(1);
  const [a, b] = [await world.open("A"), await world.open("B")];
  const held = await a.locks.mutex(path).acquire();
  const waiting = b.locks.mutex(path).acquire();
  await world.until(() => world.queued(path) === 2, 1_000);
  // The event says that A's node is gone, although it exists. No server ever sends that.
  const [first] = contenders(world.server, path);
  await world.until(() => world.server.sessions().length === 2, 1_000);
  await world.sleep(10);
  world.server.faults.fireEvent(b.session, "deleted", first?.path ?? "");
  await waiting;
  expect(world.witness.violations[0]).toMatch(/^B was granted .* behind \/locks\/judged\//);
  expect(world.witness.violations[1]).toMatch(/while A believes to hold with .*, and does$/);
  await held.release();
});

it("convicts a permit too many, of a client that counts more than there are", async () => {
  await using world = await World.start(1);
  const [a, b] = [await world.open("A"), await world.open("B")];
  const held = await a.locks.semaphore(path, 1).acquire();
  const other = await b.locks.semaphore(path, 2).acquire();
  expect(world.witness.violations).toEqual([
    expect.stringMatching(/^B .* as number 2 of 1$/),
    expect.stringMatching(/^B .* 2 permits of 1 are believed to be held$/),
  ]);
  await Promise.all([held.release(), other.release()]);
});

it("convicts a writer beside a reader that has not heard of its loss, and not readers beside each other", async () => {
  await using world = await World.start(1);
  const [a, b] = [await world.open("A"), await world.open("B")];
  await a.locks.readWriteLock(path).read.acquire();
  const second = await b.locks.readWriteLock(path).read.acquire();
  expect(world.witness.violations).toEqual([]);
  world.witness.givesBack("B", second);
  await second.release();
  const writing = b.locks.readWriteLock(path).write.acquire();
  await world.until(() => world.queued(path) === 2, 1_000);
  const [reader] = contenders(world.server, path);
  world.server.operator.delete(reader?.path ?? "");
  await writing;
  expect(world.witness.violations).toEqual([expect.stringMatching(/^B .* while A believes .* untold$/)]);
});

it("convicts a reader that is granted before the write is a read", async () => {
  await using world = await World.start(1);
  const [a, b] = [await world.open("A"), await world.open("B")];
  const write = await a.locks.readWriteLock(path).write.acquire();
  const reading = b.locks.readWriteLock(path).read.acquire();
  await world.until(() => world.queued(path) === 2, 1_000);
  const [writer] = contenders(world.server, path);
  world.server.operator.delete(writer?.path ?? "");
  await reading;
  expect(write.state).toBe("held");
  expect(world.witness.violations).toEqual([expect.stringMatching(/^B .* while A believes .* untold$/)]);
});

it("does not convict a writer beside a read that is about to be refused because its write was deleted by hand", async () => {
  await using world = await World.start(1);
  const [a, b] = [await world.open("A"), await world.open("B")];
  const write = await a.locks.readWriteLock(path).write.acquire();
  const writing = b.locks.readWriteLock(path).write.acquire();
  await world.until(() => world.queued(path) === 2, 1_000);
  const { faults } = world.server;
  const listed = faults.on(
    { session: b.session, op: ["getChildren", "getChildren2"] },
    { do: "hold", at: "reply" },
  );
  const made = faults.on({ session: a.session, op: "create2" }, { do: "hold", at: "reply" });
  const [writer] = contenders(world.server, path) as [ContenderNode];
  world.witness.forcedNode(writer);
  world.server.operator.delete(writer.path);
  await listed.reached();
  world.witness.downgrades("A", write);
  const reading = write.downgrade();
  await made.reached();
  listed.release();
  const next = await writing;
  expect(contenders(world.server, path).map(({ role }) => role)).toEqual(["reader", "writer"]);
  expect(world.witness.violations).toEqual([]);
  made.release();
  await expect(reading).rejects.toThrow(LockLostError);
  await next.release();
});

it("convicts a writer behind a read that was granted before its write was deleted by hand", async () => {
  await using world = await World.start(1);
  const [a, b] = [await world.open("A"), await world.open("B")];
  const lock = a.locks.reentrantReadWriteLock(path);
  const owner = { id: "the same" };
  await lock.write.acquire({ owner });
  await lock.read.acquire({ owner });
  void b.locks.reentrantReadWriteLock(path).write.acquire();
  await world.until(() => world.queued(path) === 3, 1_000);
  const [writer, queued] = contenders(world.server, path).filter(({ role }) => role === "writer");
  world.witness.forcedNode(writer as ContenderNode);
  world.server.operator.delete(writer?.path ?? "");
  reportGrant(world, queued);
  expect(world.witness.violations[0]).toMatch(/^C was granted .* behind .*__READ__/);
});

it("convicts a writer behind a read that waits", async () => {
  await using world = await World.start(1);
  const [a, b] = [await world.open("A"), await world.open("B")];
  await a.locks.readWriteLock(path).write.acquire();
  void b.locks.readWriteLock(path).read.acquire();
  await world.until(() => world.queued(path) === 2, 1_000);
  void a.locks.readWriteLock(path).write.acquire();
  await world.until(() => world.queued(path) === 3, 1_000);
  reportGrant(world, contenders(world.server, path)[2]);
  expect(world.witness.violations[0]).toMatch(/^C was granted .* behind .*__READ__/);
});

it.each([
  [
    "convicts",
    "finds its session ended (draw 1)",
    [expect.stringMatching(/^C was granted .* without a node$/)],
  ],
  ["does not convict", "finds its session ended without a word", []],
] as const)("%s a grant whose client's request before it %s", async (_, name, found) => {
  await using world = await World.start(1);
  const a = await world.open("A");
  await a.locks.mutex(path).acquire();
  const [node] = contenders(world.server, path);
  const ending = endings.find((kind) => kind.name === name) as FaultKind;
  const ended = ending.arm(world, { op: "create2" }, [path]);
  const other = a.locks.mutex("/locks/other").tryAcquire();
  await ended.reached();
  await world.sleep(10);
  expect(contenders(world.server, path)).toEqual([]);
  reportGrant(world, node, "mutex");
  expect(world.witness.violations).toEqual(found);
  await (await other)?.release();
});

it.each([
  ["convicts", "mutex", [expect.stringMatching(/^C was granted .* after the news that its node is gone$/)]],
  ["does not convict", "naive-mutex", []],
] as const)("%s the grant of a %s whose node was deleted by hand right before it", async (_, kind, found) => {
  await using world = await World.start(1);
  const a = await world.open("A");
  await a.locks.mutex(path).acquire();
  const [node] = contenders(world.server, path) as [ContenderNode];
  world.witness.forcedNode(node);
  world.server.operator.delete(node.path);
  reportGrant(world, node, kind);
  await world.sleep(10);
  expect(world.witness.violations).toEqual(found);
});

it.each([
  ["does not convict", "an operator has deleted", true, []],
  ["convicts", "has gone for no reason that the judge knows", false, ["B while A", "C while B"]],
] as const)(
  "%s naive mutexes where the delete of a holder whose node %s takes the next holder's node",
  async (_, __, byHand, found) => {
    await using world = await World.start(1);
    const [a, b, c] = [await world.open("A"), await world.open("B"), await world.open("C")];
    const held = await a.locks.naiveMutex(path).acquire();
    const next = b.locks.naiveMutex(path).acquire();
    await world.sleep(10);
    const [node] = contenders(world.server, path) as [ContenderNode];
    const news = world.server.faults.holdEvents(a.session);
    world.witness.excuseUntil(world.clock.nowMs() + 1_000);
    if (byHand) world.witness.forcedNode(node);
    world.server.operator.delete(node.path);
    await next;
    world.server.faults.holdEvents(b.session);
    world.witness.givesBack("A", held);
    const releasing = held.release();
    await c.locks.naiveMutex(path).acquire();
    expect(world.witness.violations).toEqual(
      found.map((who) =>
        expect.stringMatching(new RegExp(`^${who.replace(" while ", " was .* while ")} .* untold$`)),
      ),
    );
    news.release();
    await releasing;
  },
);

/** Reports a grant by this node for a client that does not exist, because no fault makes our own client report one. */
function reportGrant(
  world: World,
  node: ContenderNode | undefined,
  kind: PrimitiveKind = "read-write-lock",
): void {
  const events = new EventHub({ provider: "C", backend: "zookeeper", runtime: world.clock.runtime(0) });
  world.witness.watch("C", { events, state: "connected" });
  events.emit("acquire-settled", {
    kind,
    name: path,
    owner: { id: "another" },
    mode: "exclusive",
    outcome: "granted",
    token: node?.token ?? null,
    kept: false,
    turn: 0,
    contended: true,
    waitedMs: 0,
    roundTrips: 1,
  });
}
