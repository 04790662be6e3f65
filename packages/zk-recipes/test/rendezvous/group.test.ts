import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { type GroupMember, type ZooKeeperLocks, zookeeperLocks } from "../../src/index.js";

let server: EmbeddedZooKeeper;
let locks: ZooKeeperLocks;

async function connected(): Promise<ZooKeeperLocks> {
  const provider = zookeeperLocks({ connect: server.connectString, sessionTimeoutMs: 6_000 });
  onTestFinished(async () => void (await provider.close({ releaseTimeoutMs: 500 })));
  await provider.ready();
  return provider;
}

beforeEach(async () => {
  server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  locks = await connected();
});

const idsOf = (members: readonly GroupMember[] | undefined) => members?.map(({ id }) => id);

test("two loops over one observed group both see each change", async () => {
  server.operator.create("/g");
  const observed = locks.groupMembership("/g").observe();
  const loops = [observed[Symbol.asyncIterator](), observed[Symbol.asyncIterator]()];
  for (const each of loops) expect(idsOf((await each.next()).value)).toEqual([]);
  for (const id of ["a", "b"]) {
    const next = loops.map((each) => each.next());
    server.operator.create(`/g/${id}`);
    for (const each of next) expect(idsOf((await each).value)?.at(-1)).toBe(id);
  }
  for (const each of loops) await each.return?.();
});

test("an observer of a group reads only members that are new or have changed", async () => {
  server.operator.create("/g");
  for (let n = 10; n < 60; n++) server.operator.create(`/g/m${n}`, { data: Buffer.from("old") });
  const members = locks.groupMembership("/g").observe()[Symbol.asyncIterator]();
  expect((await members.next()).value).toHaveLength(50);
  const reads = server.faults.on(
    { op: "getData", path: /^\/g\//, times: Number.POSITIVE_INFINITY },
    { do: "run", call: () => {} },
  );
  const changes: [() => unknown, string, number][] = [
    [() => server.operator.create("/g/m60", { data: Buffer.from("came") }), "m60 came", 51],
    [() => server.operator.setData("/g/m10", Buffer.from("new")), "m10 new", 51],
    [() => server.operator.delete("/g/m11"), "m12 old", 50],
  ];
  for (const [change, shown, count] of changes) {
    const next = members.next();
    change();
    const found: readonly GroupMember[] = (await next).value;
    expect(found.map(({ id, data }) => `${id} ${Buffer.from(data)}`)).toContain(shown);
    expect(found).toHaveLength(count);
  }
  expect(reads.hits.map(({ paths }) => paths[0])).toEqual(["/g/m60", "/g/m10"]);
  await members.return?.();
});

test("an observer of a group whose session ends reads all members anew, and hears of what comes after that", async () => {
  server.operator.create("/g");
  server.operator.create("/g/a", { data: Buffer.from("old") });
  const members = locks.groupMembership("/g").observe()[Symbol.asyncIterator]();
  expect((await members.next()).value).toHaveLength(1);
  for (const { id } of server.sessions()) server.expireSession(id);
  for (const text of ["new", "newer"]) {
    const next = members.next();
    server.operator.setData("/g/a", Buffer.from(text));
    const [member]: readonly GroupMember[] = (await next).value;
    expect(Buffer.from(member?.data ?? []).toString()).toBe(text);
  }
  await members.return?.();
});

test("a member that leaves during an outage leaves alone the one that has taken its id since", async () => {
  const [session] = server.sessions();
  const other = await connected();
  const group = locks.groupMembership("/g");
  const member = await group.join("m");
  await group.members(); // behind the answer to the watch on the member's own node
  const away = server.faults.refuseConnections();
  server.dropConnection(session?.id ?? 0n);
  server.operator.delete("/g/m");
  await other.groupMembership("/g").join("m");
  const taken = server.operator.exists("/g/m");
  const left = member[Symbol.asyncDispose]();
  away.release();
  await left;
  expect(server.operator.exists("/g/m")?.czxid).toBe(taken?.czxid);
});

test("a member whose create got no answer goes when it leaves, also over a server that shows the node only behind a sync", async () => {
  const member = await locks.groupMembership("/g").join("m");
  const lost = server.faults.on({ op: "create2", path: "/g/m" }, { do: "close", when: "applied" });
  const away = server.faults.refuseConnections();
  server.operator.delete("/g/m"); // it is put back, and that answer is lost
  await lost.reached();
  const looks = { op: "exists", path: "/g/m", times: Number.POSITIVE_INFINITY } as const;
  const lagging = server.faults.on(looks, { do: "answer", err: "NoNode" });
  server.faults.on({ op: "sync" }, { do: "run", call: () => lagging.release() });
  const left = member[Symbol.asyncDispose]();
  away.release();
  await left;
  expect(server.operator.exists("/g/m")).toBeNull();
});
