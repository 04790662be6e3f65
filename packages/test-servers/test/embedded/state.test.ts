import { CreateFlags, type MultiOp, Perms } from "@holdfast/zk-protocol";
import { expect, test } from "vitest";
import { clean } from "../../src/embedded/cleaner.js";
import { ManualClock, SystemClock } from "../../src/embedded/clock.js";
import { Random } from "../../src/embedded/random.js";
import { sequenceSuffix } from "../../src/embedded/writes.js";
import { machine, type Party, picture } from "./support/machine.js";
import { createOf, ephemeral, sequential } from "./support/requests.js";

const cleaning = { mostAtOnce: 100, maxNeverUsedMs: 0 };

test("a session runs out after its time-out and within one tick more, whenever its last packet came", () => {
  for (let offsetMs = 0; offsetMs < 1_000; offsetMs += 7) {
    const { clock, state, party } = machine();
    const { session } = party(1_000);
    clock.advance(offsetMs);
    state.sessions.touch(session, clock.nowMs());
    const lastsMs = session.expiresAtMs - clock.nowMs();
    expect(lastsMs).toBeGreaterThan(1_000);
    expect(lastsMs).toBeLessThanOrEqual(1_500);
    expect(state.sessions.due(session.expiresAtMs - 1)).toEqual([]);
    expect(state.sessions.due(session.expiresAtMs)).toEqual([session]);
    expect(state.sessions.nextExpiryMs()).toBe(session.expiresAtMs);
  }
});

test("a session that was closed is not brought back by a late packet", () => {
  const { state, party } = machine();
  const { session } = party();
  state.closeSession(session.id);
  state.sessions.touch(session, 60_000);
  expect(state.sessions.due(1_000_000)).toEqual([]);
  expect(state.sessions.reopen(session.id, session.password, 5_000, 0)).toBeUndefined();
});

test("ids carry the server in their first byte and grow by one; those of another start differ", () => {
  const { clock, state, party } = machine();
  const [first, second] = [party(), party()];
  expect(first.sessionId >> 56n).toBe(1n);
  expect(second.sessionId).toBe(first.sessionId + 1n);
  expect(Buffer.compare(first.session.password, second.session.password)).not.toBe(0);
  clock.advance(1);
  expect(machine().state.openSession(0).id).toBe(first.sessionId);
  expect(state.zxid).toBe((1n << 32n) + 2n);
});

test("a closing session takes all its nodes in one transaction, in an order that the seed decides", () => {
  const orders = new Set<string>();
  for (let seed = 1; seed <= 30; seed++) {
    const { state, party } = machine({ seed });
    const [dying, watcher] = [party(), party()];
    for (const name of ["a", "b", "c"]) {
      dying.get("create", createOf(`/${name}`, ephemeral));
      watcher.get("exists", { path: `/${name}`, watch: true });
    }
    const before = state.zxid;
    state.closeSession(dying.sessionId);
    expect(state.zxid).toBe(before + 1n);
    expect(new Set(watcher.notices.map(({ zxid }) => zxid))).toEqual(new Set([state.zxid]));
    expect(state.tree.root.stat().pzxid).toBe(state.zxid);
    orders.add(watcher.events.join());
  }
  expect(orders.size).toBe(6);
});

test("the same seed gives the same order", () => {
  const draw = (seed: number): number[] => new Random(seed).shuffle([...Array(20).keys()]);
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
});

test("an order of dying can be chosen", () => {
  const { state, party } = machine();
  const [dying, watcher] = [party(), party()];
  for (const path of ["/a", "/b"]) {
    dying.get("create", createOf(path, ephemeral));
    watcher.get("exists", { path, watch: true });
  }
  state.orderOfDying = (paths) => paths.sort().reverse();
  state.closeSession(dying.sessionId);
  expect(watcher.events).toEqual(["deleted /b", "deleted /a"]);
});

test("a container goes once its last child is gone, a TTL node once its data is old, and neither with a child", () => {
  const { clock, state, party } = machine();
  const wire = party();
  const container = { flags: CreateFlags.container };
  for (const path of ["/used", "/busy", "/unused"]) wire.get("createContainer", createOf(path, container));
  for (const path of ["/used/x", "/busy/x"]) wire.get("create", createOf(path));
  wire.ask("delete", { path: "/used/x", version: -1 });
  for (const path of ["/ttl", "/renewed", "/parent"]) {
    wire.get("createTTL", { ...createOf(path, { flags: CreateFlags.ttl }), ttlMs: 1_000n });
  }
  wire.get("create", createOf("/parent/x"));
  wire.get("exists", { path: "/used", watch: true });
  clock.advance(600);
  wire.get("setData", { path: "/renewed", data: null, version: -1 });
  clock.advance(401);
  const before = state.zxid;
  expect(clean(state, cleaning)).toBe(2);
  expect(state.zxid).toBe(before + 2n);
  expect([...state.tree.root.children].sort()).toEqual(["busy", "parent", "renewed", "unused", "zookeeper"]);
  expect(wire.events).toEqual(["deleted /used"]);
  clock.advance(600);
  expect(clean(state, cleaning)).toBe(1);
  expect(clean(state, { ...cleaning, maxNeverUsedMs: 1_000 })).toBe(1);
  expect([...state.tree.root.children].sort()).toEqual(["busy", "parent", "zookeeper"]);
});

test("a container that never had a child counts from its last write", () => {
  const { clock, state, party } = machine();
  const wire = party();
  wire.get("createContainer", createOf("/written", { flags: CreateFlags.container }));
  clock.advance(600);
  wire.get("setData", { path: "/written", data: null, version: -1 });
  clock.advance(600);
  expect(clean(state, { ...cleaning, maxNeverUsedMs: 1_000 })).toBe(0);
  clock.advance(600);
  expect(clean(state, { ...cleaning, maxNeverUsedMs: 1_000 })).toBe(1);
});

test("the cleaner takes no more than it may at one go", () => {
  const { state, party } = machine();
  const wire = party();
  for (let i = 0; i < 5; i++) {
    wire.get("createContainer", createOf(`/c${i}`, { flags: CreateFlags.container }));
    wire.get("create", createOf(`/c${i}/x`));
    wire.ask("delete", { path: `/c${i}/x`, version: -1 });
  }
  expect(clean(state, { ...cleaning, mostAtOnce: 3 })).toBe(3);
  expect(clean(state, { ...cleaning, mostAtOnce: 3 })).toBe(2);
});

test("negative sequence numbers keep a width of ten with their sign", () => {
  expect([0, 2_147_483_647, -2_147_483_648, -2_147_483_647, -1].map(sequenceSuffix)).toEqual([
    "0000000000",
    "2147483647",
    "-2147483648",
    "-2147483647",
    "-000000001",
  ]);
});

test("creates in flight together step past the limit and afterwards the counter is back at it", () => {
  const { state, party } = machine();
  const wire = party();
  wire.get("create", createOf("/q"));
  state.setSequence("/q", 2_147_483_644);
  const names = Array.from({ length: 9 }, () =>
    wire.get("create", createOf("/q/s-", sequential)).path.slice(5),
  );
  expect(names.slice(3)).toEqual([
    "2147483647",
    "-2147483648",
    "-2147483647",
    "-2147483646",
    "-2147483645",
    "-2147483644",
  ]);
  state.tree.settle();
  expect(wire.ask("create", createOf("/q/s-", sequential)).err).toBe(-110);
});

test("watches of a connection are not left behind when it goes", () => {
  const { state, party } = machine();
  const [wire, writer] = [party(), party()];
  wire.get("getChildren", { path: "/", watch: true });
  wire.ask("exists", { path: "/a", watch: true });
  wire.get("addWatch", { path: "/", mode: 1 });
  wire.get("addWatch", { path: "/p", mode: 0 });
  state.watches.forget(wire);
  for (const path of ["/a", "/p"]) writer.get("create", createOf(path));
  expect(wire.events).toEqual([]);
  expect([state.watches.data.count, state.watches.child.count]).toEqual([0, 0]);
});

test("setWatches2 puts lasting watches back, sends no events of the past, and each later change once", () => {
  const { party } = machine();
  const [wire, writer] = [party(), party()];
  for (const path of ["/p", "/r"]) writer.get("create", createOf(path));
  const lists = { dataWatches: [], existWatches: [], childWatches: [] };
  const lasting = { persistentWatches: ["/p"], persistentRecursiveWatches: ["/r"] };
  wire.ask("setWatches2", { relativeZxid: 0n, ...lists, ...lasting });
  expect(wire.events).toEqual([]);
  for (const path of ["/p/x", "/r/x"]) writer.get("create", createOf(path));
  for (const path of ["/r/x", "/r"]) writer.ask("delete", { path, version: -1 });
  expect(wire.events).toEqual(["children-changed /p", "created /r/x", "deleted /r/x", "deleted /r"]);
});

test("from 3.9 on a one-shot watch leaves a persistent one alone, events carry zxids, types 4 and 5 are known", () => {
  const { state, party } = machine({ compat: "3.9" });
  const [wire, writer] = [party(), party()];
  wire.get("addWatch", { path: "/", mode: 0 });
  wire.get("getChildren", { path: "/", watch: true });
  for (const path of ["/a", "/b"]) writer.get("create", createOf(path));
  expect(wire.events).toEqual(["children-changed /", "children-changed /"]);
  expect(wire.notices[1]?.frame.readBigInt64BE(8)).toBe(state.zxid);
  expect(wire.ask("removeWatches", { path: "/", type: 5 }).err).toBe(-121);
  expect(wire.ask("removeWatches", { path: "/", type: 4 }).err).toBe(0);
  const made = wire.get("multi", { ops: [{ op: "create2", request: createOf("/c") }] });
  expect(made.results).toMatchObject([{ op: "create2", stat: { czxid: state.zxid } }]);
});

test("in 3.9 too an event that setWatches sends carries no zxid", () => {
  const { party } = machine({ compat: "3.9" });
  const wire = party();
  const lists = { dataWatches: ["/gone"], existWatches: [], childWatches: [] };
  wire.ask("setWatches", { relativeZxid: 0n, ...lists });
  expect(wire.events).toEqual(["deleted /gone"]);
  expect(wire.notices[0]?.frame.readBigInt64BE(8)).toBe(-1n);
});

test("from 3.9 on exists needs READ, and a check outside of a multi costs the connection", () => {
  for (const [compat, hidden, bare] of [
    ["3.8", 0, { err: -101 }],
    ["3.9", -102, { err: -6, zxid: -1n }],
  ] as const) {
    const { party } = machine({ compat });
    const [owner, other] = [party(), party()];
    owner.ask("auth", { type: 0, scheme: "digest", auth: Buffer.from("u:p") });
    owner.get("create", createOf("/closed", { acl: [{ perms: Perms.ALL, scheme: "auth", id: "" }] }));
    expect(other.ask("exists", { path: "/closed", watch: true }).err).toBe(hidden);
    expect(other.ask("exists", { path: "/absent", watch: false }).err).toBe(-101);
    expect(owner.get("exists", { path: "/closed", watch: false }).stat.version).toBe(0);
    owner.ask("setData", { path: "/closed", data: null, version: -1 });
    // 3.9 has refused the watch with its read. 3.8 has set it, but its client may not read the node and so gets no event.
    expect(other.events).toEqual([]);
    const check = { path: "/absent", version: -1 };
    expect(owner.ask("multi", { ops: [{ op: "check", request: check }] }).err).toBe(0);
    expect(owner.ask("check", check)).toMatchObject(bare);
  }
});

test("several reads at once succeed and fail each for itself", () => {
  const { party } = machine();
  const wire = party();
  wire.get("create", createOf("/a", { data: Buffer.from("x") }));
  const { results } = wire.get("multiRead", {
    ops: [
      { op: "getData", request: { path: "/absent", watch: false } },
      { op: "getData", request: { path: "/a", watch: true } },
      { op: "getChildren", request: { path: "/a", watch: false } },
    ],
  });
  expect(results).toMatchObject([
    { op: "error", code: -101 },
    { op: "getData" },
    { op: "getChildren", children: [] },
  ]);
  wire.ask("delete", { path: "/a", version: -1 });
  expect(wire.events).toEqual([]); // a read inside multiRead sets no watch
});

test("descendants are counted, those of the root too", () => {
  const { party } = machine();
  const wire = party();
  for (const path of ["/a", "/a/b", "/a/b/c", "/ab"]) wire.get("create", createOf(path));
  expect(wire.get("getAllChildrenNumber", { path: "/a" }).totalNumber).toBe(2);
  expect(wire.get("getAllChildrenNumber", { path: "/" }).totalNumber).toBe(7);
});

test("children never come in the order of their creation alone", () => {
  const { party } = machine();
  const wire = party();
  for (let i = 0; i < 6; i++) wire.get("create", createOf("/s-", sequential));
  const { children } = wire.get("getChildren", { path: "/", watch: false });
  expect(children).not.toEqual([...children].sort());
});

test("an ACL of addresses holds for its network only", () => {
  const { party } = machine();
  const wire = party();
  const readable = (id: string): number => {
    const acl = [{ perms: Perms.READ, scheme: "ip", id }];
    wire.get("create", createOf("/a", { acl }));
    const { err } = wire.ask("getData", { path: "/a", watch: false });
    wire.ask("delete", { path: "/a", version: -1 });
    return err;
  };
  expect(["127.0.0.1", "127.0.0.0/8", "126.0.0.0/7", "10.0.0.0/8", "127.0.0.2"].map(readable)).toEqual([
    0, 0, 0, -102, -102,
  ]);
  for (const id of ["127.0.0.1/33", "host", "127.0.0.1/8/8", "127.0.0.1/x"]) {
    expect(wire.ask("create", createOf("/b", { acl: [{ perms: 1, scheme: "ip", id }] })).err).toBe(-114);
  }
});

test("a transaction that fails leaves nothing behind but a zxid, whatever it tried", () => {
  const seed = Date.now() % 1_000_000;
  const random = new Random(seed);
  const { state, party } = machine();
  const [wire, watcher] = [party(), party()];
  watcher.get("addWatch", { path: "/", mode: 1 });
  const paths = ["/a", "/b", "/a/x", "/a/y", "/b/x", "/c"];
  const pick = (): string => paths[random.below(paths.length)] as string;
  let failures = 0;
  for (let run = 0; run < 2_000; run++) {
    const ops = Array.from({ length: 1 + random.below(5) }, (): MultiOp => stepOf(random, pick()));
    const before = picture(state);
    const told = watcher.notices.length;
    const { zxid } = state;
    const { results } = wire.get("multi", { ops });
    expect(state.zxid).toBe(zxid + 1n);
    if (results.every(({ op }) => op !== "error")) continue;
    failures += 1;
    expect({ seed, run, picture: picture(state) }).toEqual({ seed, run, picture: before });
    expect(watcher.notices.length).toBe(told);
    state.tree.settle();
  }
  expect(failures).toBeGreaterThan(200);
  expect(failures).toBeLessThan(1_990);
});

function stepOf(random: Random, path: string): MultiOp {
  const version = random.below(3) - 1;
  switch (random.below(5)) {
    case 0:
      return { op: "create", request: createOf(path, { flags: random.below(4) }) };
    case 1:
      return { op: "createContainer", request: createOf(path, { flags: 4 }) };
    case 2:
      return { op: "setData", request: { path, data: Buffer.from([random.below(256)]), version } };
    case 3:
      return { op: "check", request: { path, version } };
    default:
      return { op: "delete", request: { path, version } };
  }
}

test("a manual clock runs what falls due in order of time, and a jump runs it late", () => {
  const clock = new ManualClock({ nowMs: 100 });
  const ran: [string, number][] = [];
  const note = (name: string) => () => void ran.push([name, clock.nowMs()]);
  clock.at(300, note("late"));
  clock.at(200, () => {
    note("early")();
    clock.at(250, note("between"));
  });
  const cancel = clock.at(210, note("cancelled"));
  cancel();
  clock.advance(199);
  expect(ran).toEqual([
    ["early", 200],
    ["between", 250],
  ]);
  clock.jump(1_000);
  expect(ran[2]).toEqual(["late", 1_299]);
  expect(() => clock.advance(-1)).toThrow(RangeError);
  expect(() => clock.advance(Number.NaN)).toThrow(RangeError);
});

test("a timer of the system clock fires at its time and not when cancelled", async () => {
  const clock = new SystemClock();
  const startedMs = clock.nowMs();
  let cancelled = true;
  clock.at(startedMs + 10, () => {
    cancelled = false;
  })();
  // The clock's timer does not keep the process alive, so another timer must while the test waits.
  const alive = setInterval(() => {}, 1_000);
  await new Promise<void>((resolve) => void clock.at(startedMs + 30, resolve));
  clearInterval(alive);
  expect(clock.nowMs() - startedMs).toBeGreaterThanOrEqual(30);
  expect(cancelled).toBe(true);
});

test("a party that only looks changes nothing", () => {
  const { state, party } = machine();
  const wire: Party = party();
  const before = picture(state);
  const { zxid } = state;
  for (const op of ["exists", "getData", "getChildren", "getChildren2"] as const) {
    wire.get(op, { path: "/zookeeper", watch: true });
  }
  wire.get("getACL", { path: "/" });
  wire.get("getEphemerals", { prefix: null });
  wire.get("whoAmI", undefined);
  expect(wire.ask("sync", { path: "" }).zxid).toBe(zxid);
  expect(picture(state)).toEqual(before);
});

test("no ephemeral is made for a session that is over", () => {
  const { state, party } = machine();
  const wire = party();
  state.closeSession(wire.sessionId);
  expect(wire.ask("create", createOf("/e", ephemeral)).err).toBe(-112);
  expect(wire.ask("create", createOf("/p")).err).toBe(0);
});

test("an event reaches only clients that may read its node, or the parent for a list; in old releases all", () => {
  for (const [compat, told] of [
    ["3.8", ["children-changed /", "deleted /open"]],
    ["3.6", ["created /closed", "children-changed /", "deleted /open"]],
  ] as const) {
    const { party } = machine({ compat });
    const [owner, other] = [party(), party()];
    owner.ask("auth", { type: 0, scheme: "digest", auth: Buffer.from("u:p") });
    other.ask("exists", { path: "/closed", watch: true });
    other.get("getChildren", { path: "/", watch: true });
    owner.get("create", createOf("/closed", { acl: [{ perms: Perms.ALL, scheme: "auth", id: "" }] }));
    owner.get("create", createOf("/open"));
    other.get("exists", { path: "/open", watch: true });
    owner.ask("delete", { path: "/open", version: -1 });
    expect(other.events).toEqual(told);
  }
});

test("inside a transaction the flags decide what is made", () => {
  const { state, party } = machine();
  const { results } = party().get("multi", {
    ops: [
      { op: "create", request: createOf("/c", { flags: CreateFlags.container }) },
      { op: "createContainer", request: createOf("/p", { flags: CreateFlags.persistent }) },
    ],
  });
  expect(results.map(({ op }) => op)).toEqual(["create2", "create"]);
  expect([state.tree.get("/c")?.kind, state.tree.get("/p")?.kind]).toEqual(["container", "persistent"]);
});
