import { hostname, networkInterfaces } from "node:os";
import { eventually, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { CreateFlags } from "@holdfast/zk-protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connected } from "../../support/providers.js";
import { Operator } from "./operator.js";

let server: ZooKeeperNode;
let paths = 0;
const freshPath = (): string => `/inspect/l${paths++}`;

beforeAll(async () => {
  server = await startZooKeeper();
});
afterAll(() => server.stop());

const addresses = Object.values(networkInterfaces()).flatMap((each) =>
  (each ?? []).map((one) => one.address),
);
const uuid = "0123abcd-0123-4abc-8abc-0123456789ab";

describe("a queue node's data", () => {
  it("is this host's address and nothing else, unless identity is asked for", async () => {
    const path = freshPath();
    const operator = await Operator.connect(server.connectString);
    await using _ = await (await connected(server.connectString)).mutex(path).acquire({ label: "not told" });
    const { data } = await operator.read(await operator.onlyChild(path));
    expect(addresses).toContain(data);
    const stranger = await connected(server.connectString);
    const [holder] = (await stranger.mutex(path).inspect()).held;
    expect(holder).toMatchObject({ address: data, label: null, owner: null, recognisedAs: "curator" });
  });

  it("has label, host and pid with identity, which inspect() shows to every client", async () => {
    const path = freshPath();
    const operator = await Operator.connect(server.connectString);
    const locks = await connected(server.connectString, { identity: true });
    await using _ = await locks.mutex(path, { label: 'nightly "run"' }).acquire();
    const { data } = await operator.read(await operator.onlyChild(path));
    const [address = "", ...json] = data.split(" ");
    expect(addresses).toContain(address);
    expect(JSON.parse(json.join(" "))).toEqual({
      label: 'nightly "run"',
      host: hostname(),
      pid: process.pid,
    });
    const stranger = await connected(server.connectString);
    const [holder] = (await stranger.mutex(path).inspect()).held;
    expect(holder).toMatchObject({
      address,
      label: `nightly "run" ${hostname()}:${process.pid}`,
      recognisedAs: "holdfast",
      heldByThisProvider: false,
    });
  });
});

describe("inspect()", () => {
  it("shows the holder and the queue in order, and no more than maxPending of it", async () => {
    const path = freshPath();
    const locks = await connected(server.connectString);
    const others = await Promise.all([1, 2, 3].map(() => connected(server.connectString)));
    const handle = await locks.mutex(path).acquire({ label: "mine" });
    const leave = new AbortController();
    const seenEnough = new Error("seen enough");
    const waits: Promise<unknown>[] = [];
    for (const [index, other] of others.entries()) {
      const waiting = other.mutex(path).acquire({ signal: leave.signal });
      waits.push(expect(waiting).rejects.toBe(seenEnough));
      await eventually(async () => (await locks.mutex(path).inspect()).pendingTotal === index + 1, {
        what: "the next in the queue",
      });
    }
    const snapshot = await locks.mutex(path).inspect();
    expect(snapshot).toMatchObject({ name: path, kind: "mutex", pendingTotal: 3 });
    expect(Math.abs(Date.now() - snapshot.takenAt.getTime())).toBeLessThan(20_000);
    expect(snapshot.held).toHaveLength(1);
    expect(snapshot.held[0]).toMatchObject({
      token: handle.token,
      owner: handle.owner,
      label: "mine",
      mode: "exclusive",
      holdCount: 1,
      heldByThisProvider: true,
      recognisedAs: "holdfast",
      remainingMs: null,
      sinceMs: { provenance: "exact" },
    });
    expect(snapshot.held[0]?.session).toMatch(/^(0x)?[0-9a-f]+$/);
    expect(snapshot.pending.map((waiter) => waiter.position)).toEqual([0, 1, 2]);
    const numbers = snapshot.pending.map((waiter) => Number(waiter.backendId.slice(-10)));
    expect(numbers).toEqual([1, 2, 3]);
    expect(new Set(snapshot.pending.map((waiter) => waiter.session)).size).toBe(3);
    const [first] = snapshot.pending;
    expect(first).toMatchObject({ recognisedAs: "curator", sinceMs: { provenance: "exact" } });
    expect(first?.sinceMs.value).toBeLessThan(20_000);

    const short = await locks.mutex(path).inspect({ maxPending: 2 });
    expect(short.pending.map((waiter) => waiter.position)).toEqual([0, 1]);
    expect(short.pendingTotal).toBe(3);
    const none = await locks.mutex(path).inspect({ maxPending: 0 });
    expect(none).toMatchObject({ pending: [], pendingTotal: 3 });
    expect(none.held).toHaveLength(1);

    // Only the holder's own provider knows since when it holds.
    const seenByOther = (await (others[0] as typeof locks).mutex(path).inspect()).held[0];
    expect(seenByOther).toMatchObject({
      token: handle.token,
      heldByThisProvider: false,
      sinceMs: { value: null, provenance: "unknown" },
    });
    leave.abort(seenEnough);
    await Promise.all(waits);
    await handle.release();
  });

  it("counts the re-entries of a re-entrant hold of its own", async () => {
    const path = freshPath();
    const locks = await connected(server.connectString);
    const mutex = locks.reentrantMutex(path);
    await mutex.withLock(async () => {
      await mutex.withLock(async () => {
        expect((await mutex.inspect()).held[0]).toMatchObject({ holdCount: 2 });
      });
      expect((await mutex.inspect()).held[0]).toMatchObject({ holdCount: 1 });
    });
    expect((await mutex.inspect()).held).toEqual([]);
  });

  it("says that nothing is there for a path that is not, or is empty", async () => {
    const operator = await Operator.connect(server.connectString);
    await operator.create("/nothing-in-it");
    const locks = await connected(server.connectString);
    for (const path of ["/not/there/at/all", "/nothing-in-it"]) {
      const snapshot = await locks.mutex(path).inspect();
      expect(snapshot).toMatchObject({ name: path, kind: null, held: [], pending: [], pendingTotal: 0 });
    }
    expect(await operator.exists("/not")).toBe(false);
  });

  it.each([
    ["read-write-lock", `_c_${uuid}-__READ__`],
    ["leader-election", `_c_${uuid}-latch-`],
    ["semaphore", `_c_${uuid}-lease-`],
    ["mutex", "0123456789abcdef0123456789abcdef__lock__"],
    ["mutex", `_c_${uuid}-lock-`],
  ])("names the kind of lock that it finds: %s of %s", async (kind, name) => {
    const path = freshPath();
    const operator = await Operator.connect(server.connectString);
    if (!(await operator.exists("/inspect"))) await operator.create("/inspect");
    await operator.create(path);
    await operator.create(`${path}/${name}`, { flags: CreateFlags.ephemeralSequential });
    const locks = await connected(server.connectString);
    expect((await locks.mutex(path).inspect()).kind).toBe(kind);
  });

  it("shows what Curator would queue behind, whatever its data, and leaves foreign nodes out", async () => {
    const path = freshPath();
    const operator = await Operator.connect(server.connectString);
    if (!(await operator.exists("/inspect"))) await operator.create("/inspect");
    await operator.create(path);
    const flags = CreateFlags.ephemeralSequential;
    const bare = await operator.create(`${path}/lock-`, { flags, data: "a custom text" });
    const binary = await operator.create(`${path}/_c_${uuid}-lock-`, { flags, data: "\u0000\u0001" });
    await operator.create(`${path}/zebra`);
    const locks = await connected(server.connectString);
    const { held, pending, pendingTotal } = await locks.mutex(path).inspect();
    expect(held).toHaveLength(1);
    expect(held[0]).toMatchObject({
      backendId: bare,
      label: "a custom text",
      address: null,
      recognisedAs: "unknown",
    });
    expect(pending).toHaveLength(1);
    expect(pending[0]).toMatchObject({
      backendId: binary,
      label: null,
      address: null,
      recognisedAs: "curator",
    });
    expect(pendingTotal).toBe(1);
  });
});
