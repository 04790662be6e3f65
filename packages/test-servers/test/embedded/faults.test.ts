import { once } from "node:events";
import { CreateFlags, decodeConnectResponse, errorCodes } from "@holdfast/zk-protocol";
import { expect, test } from "vitest";
import { ManualClock } from "../../src/embedded/index.js";
import { eventually } from "../../src/index.js";
import { Bench } from "./support/embedded.js";
import {
  childrenOf,
  create,
  createOf,
  ephemeral,
  ephemeralSequential,
  errOf,
  ok,
  remove,
  sequential,
  statOf,
} from "./support/requests.js";
import { connectFrame, type Wire } from "./support/wire.js";

const lost = "the server closed the connection";
const idOf = (wire: Wire): bigint => wire.session.sessionId;

/** Resolves when everything that the server has sent to the client so far has arrived. */
async function settled(wire: Wire): Promise<void> {
  await wire.ask("ping", undefined);
}

/** Whether a reply is still missing after three round trips on another connection, in which it would have come. */
async function isOut(reply: Promise<unknown>, other: Wire): Promise<boolean> {
  let done = false;
  reply.then(
    () => {
      done = true;
    },
    () => {
      done = true;
    },
  );
  for (let i = 0; i < 3; i++) await settled(other);
  return !done;
}

test("1. the N-th create is applied, and its connection closed before the reply", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  const fault = bench.server.faults.on(
    { op: "create", path: /^\/n/, nth: 2 },
    { do: "close", when: "applied" },
  );
  await create(wire, "/n1");
  await expect(create(wire, "/n2")).rejects.toThrow(lost);
  expect(await childrenOf(other, "/")).toEqual(["n1", "n2", "zookeeper"]);
  expect(fault.hits).toMatchObject([{ target: "create", session: idOf(wire), paths: ["/n2"], xid: 2 }]);
});

test("2. the connection is closed before the N-th request is applied", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  bench.server.faults.on({ session: idOf(wire), nth: 2 }, { do: "close", when: "before", reset: true });
  await create(wire, "/a");
  await expect(create(wire, "/b")).rejects.toThrow(lost);
  expect(await childrenOf(other, "/")).toEqual(["a", "zookeeper"]);
});

test.each([0, 3, 4, 19, 20, 25])(
  "3. a reply is cut after %i bytes, by a close or by silence",
  async (bytes) => {
    await using bench = await Bench.start();
    for (const next of ["close", "stall"] as const) {
      const [wire, other] = [await bench.open(), await bench.open()];
      const before = wire.bytes;
      bench.server.faults.on({ op: "create" }, { do: "cut-reply", bytes, next });
      const reply = wire.ask("create", createOf(`/${next}`));
      if (next === "close") await wire.closed();
      else await eventually(() => wire.bytes === before + bytes, { what: `${bytes} bytes` });
      expect(wire.bytes).toBe(before + bytes);
      expect(await statOf(other, `/${next}`)).not.toBeNull();
      if (next === "stall") expect(await isOut(wire.ask("ping", undefined), other)).toBe(true);
      expect(await isOut(reply, other)).toBe(next === "stall");
    }
  },
);

test("4. and 5. a delete and a multi are applied and not answered", async () => {
  await using bench = await Bench.start();
  const [first, second, other] = [await bench.open(), await bench.open(), await bench.open()];
  await create(other, "/a");
  bench.server.faults.on({ op: "delete" }, { do: "close", when: "applied" });
  bench.server.faults.on({ op: "multi", path: "/b" }, { do: "close", when: "applied" });
  await expect(remove(first, "/a")).rejects.toThrow(lost);
  const multi = second.ask("multi", { ops: [{ op: "create", request: createOf("/b") }] });
  await expect(multi).rejects.toThrow(lost);
  expect(await childrenOf(other, "/")).toEqual(["b", "zookeeper"]);
});

test("6. a session ends on command, with FIN and its nodes", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  await create(wire, "/e", ephemeral);
  await ok(other.ask("exists", { path: "/e", watch: true }));
  expect(bench.server.expireSession(idOf(wire))).toBe(true);
  await wire.closed();
  expect((await other.event(0)).type).toBe("deleted");
  expect(bench.server.expireSession(idOf(wire))).toBe(false);
  expect((await bench.open(wire.credentials)).session.timeoutMs).toBe(0);
});

test("7. a session ends in silence: its socket stays open and deaf", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  await create(wire, "/e", ephemeral);
  bench.server.faults.on({ op: "ping", session: idOf(wire) }, { do: "expire", silent: true });
  expect(await isOut(wire.ask("ping", undefined), other)).toBe(true);
  expect(await isOut(wire.ask("ping", undefined), other)).toBe(true);
  expect(wire.ended).toBe(false);
  expect(await statOf(other, "/e")).toBeNull();
});

test("8. a session ends between a create and its reply, which still says Ok", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  bench.server.faults.on({ op: "create" }, { do: "expire", when: "applied" });
  expect(await create(wire, "/e", ephemeral)).toBe("/e");
  await wire.closed();
  expect(await statOf(other, "/e")).toBeNull();
});

test("9. and 11. a reconnect gets the answer that the session is over, or no answer", async () => {
  await using bench = await Bench.start();
  const wire = await bench.open();
  bench.server.faults.on({ op: "connect", session: idOf(wire) }, { do: "close" });
  bench.server.faults.on({ op: "connect", session: idOf(wire), nth: 2 }, { do: "reject" });
  const silent = bench.start(wire.credentials);
  await silent.closed();
  expect(silent.bytes).toBe(0);
  const rejected = await bench.open(wire.credentials);
  expect(rejected.session.timeoutMs).toBe(0);
  await rejected.closed();
  expect((await bench.open(wire.credentials)).session.sessionId).toBe(idOf(wire));
});

test("10. connections are accepted and closed for a time", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock });
  bench.server.faults.refuseConnections({ forMs: 1_000 });
  const refused = bench.start();
  await refused.closed();
  expect(refused.bytes).toBe(0);
  clock.advance(1_000);
  expect((await bench.open()).session.timeoutMs).toBe(5_000);
});

test("12. and 32. a session moves: the earlier socket reads on until it writes", async () => {
  await using bench = await Bench.start();
  const first = await bench.open();
  bench.server.faults.on({ op: "connect", session: idOf(first) }, { do: "move" });
  const second = await bench.open(first.credentials);
  await create(second, "/a");
  expect(await statOf(first, "/a")).not.toBeNull();
  expect((await first.ask("ping", undefined)).err).toBe(0);
  await expect(create(first, "/b")).rejects.toThrow(lost);
  expect(await childrenOf(second, "/")).toEqual(["a", "zookeeper"]);
  expect(bench.server.sessions()).toMatchObject([{ id: idOf(first), connected: true }]);
});

test("32. an attempt to connect that hung takes the session from the one made after it", async () => {
  await using bench = await Bench.start();
  const first = await bench.open();
  const held = bench.server.faults.on({ op: "connect", session: idOf(first) }, { do: "hold" });
  const late = bench.open(first.credentials);
  await held.reached();
  const second = await bench.open(first.credentials);
  await first.closed();
  expect((await second.ask("ping", undefined)).err).toBe(0);
  held.release();
  expect((await late).session.sessionId).toBe(idOf(first));
  await second.closed();
  expect((await (await late).ask("ping", undefined)).err).toBe(0);
});

test("13. a wrong password closes the owner's connection", async () => {
  await using bench = await Bench.start();
  const owner = await bench.open();
  await bench.open({ sessionId: idOf(owner), password: new Uint8Array(16) });
  await owner.closed();
  expect((await bench.open(owner.credentials)).session.timeoutMs).toBe(5_000);
  expect(bench.server.dropConnection(idOf(owner))).toBe(true);
});

test("14. held events hold up only replies that would show the change, and go before them", async () => {
  await using bench = await Bench.start();
  const [waiter, writer] = [await bench.open(), await bench.open()];
  await create(writer, "/q");
  await create(writer, "/q/a");
  await ok(waiter.ask("exists", { path: "/q/a", watch: true }));
  const held = bench.server.faults.holdEvents(idOf(waiter));
  await remove(writer, "/q/a");
  await settled(waiter);
  expect(waiter.events).toEqual([]);
  const listing = waiter.ask("getChildren", { path: "/q", watch: false });
  const behind = waiter.ask("ping", undefined);
  expect(await isOut(behind, writer)).toBe(true);
  held.release();
  const { place, response } = await listing;
  expect(response?.children).toEqual([]);
  expect(await waiter.event(0)).toMatchObject({ type: "deleted", place: place - 1 });
  expect((await behind).place).toBe(place + 1);
});

test("15. events of several waiters come in the order that the test wants, after the writer's reply", async () => {
  await using bench = await Bench.start();
  const [first, second, writer] = [await bench.open(), await bench.open(), await bench.open()];
  const order: string[] = [];
  await create(writer, "/a");
  for (const waiter of [first, second]) await ok(waiter.ask("exists", { path: "/a", watch: true }));
  const holds = [first, second].map((waiter) => bench.server.faults.holdEvents(idOf(waiter)));
  await remove(writer, "/a");
  order.push("reply");
  holds[1]?.release();
  await second.event(0);
  order.push("second");
  expect(first.events).toEqual([]);
  holds[0]?.release();
  await first.event(0);
  order.push("first");
  expect(order).toEqual(["reply", "second", "first"]);
});

test("16. with violateOrder a reply shows the change before the event", async () => {
  await using bench = await Bench.start();
  const [waiter, writer] = [await bench.open(), await bench.open()];
  await create(writer, "/a");
  await ok(waiter.ask("exists", { path: "/a", watch: true }));
  const held = bench.server.faults.holdEvents(idOf(waiter), { violateOrder: true });
  await remove(writer, "/a");
  expect(await statOf(waiter, "/a")).toBeNull();
  expect(waiter.events).toEqual([]);
  held.release();
  expect((await waiter.event(0)).type).toBe("deleted");
});

test("17. a watch gets lost, and an event comes from nowhere", async () => {
  await using bench = await Bench.start();
  const [waiter, writer] = [await bench.open(), await bench.open()];
  await create(writer, "/a");
  bench.server.faults.on({ op: "getData", path: "/a" }, { do: "lose-watch" });
  await ok(waiter.ask("getData", { path: "/a", watch: true }));
  await remove(writer, "/a");
  await settled(waiter);
  expect(waiter.events).toEqual([]);
  bench.server.faults.fireEvent(idOf(waiter), "children-changed", "/q");
  expect(await waiter.event(0)).toMatchObject({ type: "children-changed", path: "/q" });
});

test("18. the predecessor goes exactly between two requests of one session", async () => {
  await using bench = await Bench.start();
  const wire = await bench.open();
  await create(wire, "/q");
  await create(wire, "/q/a");
  const { faults, operator } = bench.server;
  faults.on({ op: "getData", path: "/q/a" }, { do: "run", call: () => operator.delete("/q/a") });
  const [listed, read] = wire.askAll(
    ["getChildren", { path: "/q", watch: false }],
    ["getData", { path: "/q/a", watch: true }],
  );
  expect((await listed)?.response).toEqual({ children: ["a"] });
  expect((await read)?.err).toBe(errorCodes.NoNode);
});

test("19. a session stands still at a request while another one runs", async () => {
  await using bench = await Bench.start();
  const [a, b] = [await bench.open(), await bench.open()];
  await create(a, "/q");
  const barrier = bench.server.faults.on({ session: idOf(a), op: "create" }, { do: "hold", at: "frame" });
  const held = create(a, "/q/s-", sequential);
  await barrier.reached();
  expect(await create(b, "/q/s-", sequential)).toBe("/q/s-0000000000");
  barrier.release();
  expect(await held).toBe("/q/s-0000000001");
});

test("20. a chosen error is answered and nothing applied", async () => {
  await using bench = await Bench.start();
  const wire = await bench.open();
  for (const err of ["NoNode", "NodeExists", "NotEmpty", "NoAuth", "InvalidACL", "ThrottledOp"] as const) {
    bench.server.faults.on({ op: "create" }, { do: "answer", err });
    expect(await errOf(wire, "create", createOf("/a"))).toBe(errorCodes[err]);
  }
  expect(await statOf(wire, "/a")).toBeNull();
});

test("21. an error is answered although the request was applied", async () => {
  await using bench = await Bench.start();
  const wire = await bench.open();
  bench.server.faults.on({ op: "create" }, { do: "answer", err: "NodeExists", apply: true });
  expect(await errOf(wire, "create", createOf("/a"))).toBe(errorCodes.NodeExists);
  expect(await statOf(wire, "/a")).not.toBeNull();
});

test("22. after a pause with the clock running all sessions are over, though pings lie in their sockets", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock });
  const [wire, other] = [await bench.open({ timeoutMs: 3_000 }), await bench.open({ timeoutMs: 10_000 })];
  await create(wire, "/e", ephemeral);
  bench.server.pause();
  const ping = wire.ask("ping", undefined);
  clock.advance(5_000);
  bench.server.resume();
  await expect(ping).rejects.toThrow(lost);
  expect(await statOf(other, "/e")).toBeNull();
});

test("22. a connection whose handshake comes after a pause, however long that was, gets its session", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock });
  const early = bench.raw();
  await once(early.socket, "connect");
  // The server accepts connections in their order.
  await bench.open();
  bench.server.pause();
  clock.advance(11_000);
  bench.server.resume();
  early.write(connectFrame());
  expect(decodeConnectResponse(await early.frame(0)).timeoutMs).toBe(5_000);
});

test("23. after a pause with the clock frozen, and after a restart, all sessions have their whole time-out", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock });
  const wire = await bench.open({ timeoutMs: 3_000 });
  await create(wire, "/e", ephemeral);
  bench.server.pause({ clock: "frozen" });
  clock.advance(60_000);
  bench.server.resume();
  clock.advance(2_999);
  expect(await statOf(wire, "/e")).not.toBeNull();
  await bench.server.restart({ whileDown: () => clock.advance(60_000) });
  await wire.closed();
  clock.advance(2_999);
  const again = await bench.open(wire.credentials);
  expect((await statOf(again, "/e"))?.ephemeralOwner).toBe(idOf(wire));
});

test("24. replies come frame by frame or byte by byte", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock });
  const wire = await bench.open();
  const slow = bench.server.faults.slow(idOf(wire), { bytes: "frame", everyMs: 100 });
  const fault = bench.server.faults.on({ op: "ping", nth: 2 }, { do: "run", call() {} });
  const replies = wire.askAll(["ping", undefined], ["ping", undefined]);
  await fault.reached();
  await eventually(
    () => {
      clock.advance(10);
      return wire.frames.length === 2;
    },
    { what: "the first reply" },
  );
  expect(clock.nowMs()).toBeGreaterThanOrEqual(100);
  await eventually(
    () => {
      clock.advance(10);
      return wire.frames.length === 3;
    },
    { what: "the second reply" },
  );
  expect(clock.nowMs()).toBeGreaterThanOrEqual(200);
  await Promise.all(replies);
  slow.release();
  bench.server.faults.slow(idOf(wire), { bytes: 1, everyMs: 100 });
  const startedMs = clock.nowMs();
  const last = wire.ask("ping", undefined);
  await eventually(
    () => {
      clock.advance(100);
      return wire.frames.length === 4;
    },
    { what: "20 bytes" },
  );
  expect((await last).err).toBe(0);
  expect(clock.nowMs() - startedMs).toBeGreaterThanOrEqual(2_000);
});

test("25. a socket is not read until released", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  const unread = bench.server.faults.stopReading(idOf(wire));
  const reply = create(wire, "/a");
  expect(await isOut(reply, other)).toBe(true);
  expect(await statOf(other, "/a")).toBeNull();
  unread.release();
  expect(await reply).toBe("/a");
});

test("26. the counter of a parent is set, and wraps in old releases", async () => {
  await using sticking = await Bench.start();
  await using wrapping = await Bench.start({ compat: "3.5" });
  for (const [bench, last] of [
    [sticking, "exists"],
    [wrapping, "/q/s--2147483648"],
  ] as const) {
    const wire = await bench.open();
    await create(wire, "/q");
    bench.server.setSequence("/q", 2_147_483_646);
    expect(await create(wire, "/q/s-", sequential)).toBe("/q/s-2147483646");
    expect(await create(wire, "/q/s-", sequential)).toBe("/q/s-2147483647");
    const { err, response } = await wire.ask("create", createOf("/q/s-", sequential));
    expect(err === errorCodes.NodeExists ? "exists" : response?.path).toBe(last);
  }
});

test("27. an empty container goes on command, also between its creation and that of its child", async () => {
  await using bench = await Bench.start();
  const { server } = bench;
  const wire = await bench.open();
  const container = createOf("/c", { flags: CreateFlags.container });
  await ok(wire.ask("createContainer", container));
  expect(server.deleteEmptyContainer("/c")).toBe(true);
  expect(server.deleteEmptyContainer("/c")).toBe(false);
  server.faults.on(
    { op: "create", path: /^\/c\// },
    { do: "run", call: () => void server.deleteEmptyContainer("/c") },
  );
  const [, child] = wire.askAll(
    ["createContainer", container],
    ["create", createOf("/c/s-", ephemeralSequential)],
  );
  expect((await child)?.err).toBe(errorCodes.NoNode);
});

test("28. a session reads old state until its own sync, and then hears first what it missed", async () => {
  await using bench = await Bench.start();
  const [stale, writer] = [await bench.open(), await bench.open()];
  await create(writer, "/a");
  await create(writer, "/b");
  await ok(stale.ask("exists", { path: "/b", watch: true }));
  bench.server.faults.staleReads(idOf(stale));
  const before = (await stale.ask("ping", undefined)).zxid;
  await remove(writer, "/a");
  await remove(writer, "/b");
  const seen = await stale.ask("getData", { path: "/a", watch: true });
  expect(seen).toMatchObject({ err: 0, zxid: before });
  expect(stale.events).toEqual([]);
  const { place } = await stale.ask("sync", { path: "/" });
  expect([...stale.types].sort()).toEqual(["deleted /a", "deleted /b"]);
  expect(Math.max(...stale.events.map((event) => event.place))).toBe(place - 1);
  expect(await statOf(stale, "/a")).toBeNull();
});

test.each([0, 1])(
  "28. a lasting watch of mode %i outlives old state, and reports a change that it missed once",
  async (mode) => {
    await using bench = await Bench.start();
    const [stale, writer] = [await bench.open(), await bench.open()];
    const write = () => ok(writer.ask("setData", { path: "/a", data: null, version: -1 }));
    await create(writer, "/a");
    await ok(stale.ask("addWatch", { path: "/a", mode }));
    bench.server.faults.staleReads(idOf(stale));
    await write();
    await create(writer, "/a/x");
    expect(stale.events).toEqual([]);
    await ok(stale.ask("sync", { path: "/" }));
    const missed = ["data-changed /a", mode === 0 ? "children-changed /a" : "created /a/x"];
    expect(stale.types).toEqual(missed);
    await write();
    await ok(stale.ask("sync", { path: "/" }));
    expect(stale.types).toEqual([...missed, "data-changed /a"]);
  },
);

test.each([0, 1])(
  "28. a lasting watch of mode %i that is set on old state hears of the change before it, and of those behind it",
  async (mode) => {
    await using bench = await Bench.start();
    const [stale, writer] = [await bench.open(), await bench.open()];
    const write = () => ok(writer.ask("setData", { path: "/a", data: null, version: -1 }));
    await create(writer, "/a");
    bench.server.faults.staleReads(idOf(stale));
    await write();
    await ok(stale.ask("addWatch", { path: "/a", mode }));
    await ok(stale.ask("sync", { path: "/" }));
    expect(stale.types).toEqual(["data-changed /a"]);
    await write();
    await ok(stale.ask("sync", { path: "/" }));
    expect(stale.types).toEqual(["data-changed /a", "data-changed /a"]);
  },
);

test("28. a session that reads old state is renewed by its pings and reads, as a follower that is behind reports them", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock });
  const wire = await bench.open({ timeoutMs: 1_500 });
  bench.server.faults.staleReads(idOf(wire));
  for (let i = 0; i < 8; i++) {
    clock.advance(500);
    expect((await wire.ask("ping", undefined)).err).toBe(0);
  }
  expect(bench.server.sessions()).toHaveLength(1);
  clock.advance(2_000);
  await wire.closed();
  expect(bench.server.sessions()).toEqual([]);
});

test("28. a member that is cut off answers pings and reads after the session has run out, but no sync and no write", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock });
  const [holder, other] = [await bench.open({ timeoutMs: 1_500 }), await bench.open({ timeoutMs: 10_000 })];
  await create(holder, "/e", ephemeral);
  const cut = bench.server.faults.cutOff(idOf(holder));
  for (let i = 0; i < 8; i++) {
    clock.advance(500);
    expect((await holder.ask("ping", undefined)).err).toBe(0);
  }
  expect(await statOf(other, "/e")).toBeNull();
  expect((await statOf(holder, "/e"))?.ephemeralOwner).toBe(idOf(holder));
  const sync = holder.ask("sync", { path: "/" });
  expect(await isOut(sync, other)).toBe(true);
  cut.release();
  await expect(sync).rejects.toThrow(lost);
});

test("29. a restart without its state starts zxids over, and turns away who has seen more", async () => {
  await using bench = await Bench.start();
  const wire = await bench.open();
  const { zxid } = await wire.ask("create", createOf("/a"));
  await bench.server.restart({ keepState: false });
  const ahead = bench.start({ lastZxidSeen: zxid });
  await ahead.closed();
  expect(ahead.bytes).toBe(0);
  expect((await bench.open(wire.credentials)).session.timeoutMs).toBe(0);
  expect(await statOf(await bench.open(), "/a")).toBeNull();
});

test("30. the clock jumps and stands still", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock });
  const wire = await bench.open({ timeoutMs: 4_000 });
  clock.jump(3_999);
  expect((await wire.ask("ping", undefined)).err).toBe(0);
  clock.jump(3_600_000);
  await wire.closed();
  expect(bench.server.sessions()).toEqual([]);
});

test("31. authentication fails after a reconnect", async () => {
  await using bench = await Bench.start();
  const wire = await bench.open();
  bench.server.faults.on({ op: "auth" }, { do: "answer", err: "AuthFailed" });
  expect(await errOf(wire, "auth", { type: 0, scheme: "digest", auth: Buffer.from("u:p") })).toBe(-115);
  await wire.closed();
});

test("33. a reply grows past a mebibyte and still says what it said", async () => {
  await using bench = await Bench.start();
  const wire = await bench.open();
  bench.server.faults.on({ op: "getChildren" }, { do: "grow-reply", bytes: 1_100_000 });
  expect(await childrenOf(wire, "/")).toEqual(["zookeeper"]);
  expect(wire.frames.at(-1)?.length).toBe(1_100_000);
});

test("34. an operator deletes the node of a holder, past its ACL", async () => {
  await using bench = await Bench.start();
  const wire = await bench.open();
  await wire.ask("auth", { type: 0, scheme: "digest", auth: Buffer.from("u:p") });
  const acl = [{ perms: 31, scheme: "auth", id: "" }];
  await create(wire, "/q", { acl });
  await create(wire, "/q/lock", { ...ephemeral, acl });
  await ok(wire.ask("getData", { path: "/q/lock", watch: true }));
  bench.server.operator.delete("/q/lock");
  expect((await wire.event(0)).type).toBe("deleted");
});

test("35. operations that a release does not know cost the connection, in all or for one request", async () => {
  await using old = await Bench.start({ compat: "3.4" });
  for (const op of ["create2", "createContainer"] as const) {
    const wire = await old.open();
    expect(await errOf(wire, op, createOf("/a"))).toBe(-6);
    await wire.closed();
  }
  await using bench = await Bench.start();
  const wire = await bench.open();
  bench.server.faults.on({ op: "addWatch" }, { do: "unknown-op" });
  expect(await wire.ask("addWatch", { path: "/", mode: 0 })).toMatchObject({ err: -6, zxid: -1n });
  await wire.closed();
});

test("a request is neither applied nor answered, and the connection goes on", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  bench.server.faults.on({ op: "create" }, { do: "drop" });
  expect(await isOut(create(wire, "/a"), other)).toBe(true);
  expect(await statOf(other, "/a")).toBeNull();
});

test("a request is applied and nothing answered any more", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  bench.server.faults.on({ op: "create" }, { do: "no-reply" });
  expect(await isOut(create(wire, "/a"), other)).toBe(true);
  expect(await isOut(wire.ask("ping", undefined), other)).toBe(true);
  expect(await statOf(other, "/a")).not.toBeNull();
  expect(wire.ended).toBe(false);
});

test("an answer is withheld until the next packet", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  bench.server.faults.on({ op: "sync" }, { do: "withhold" });
  const sync = wire.ask("sync", { path: "/" });
  expect(await isOut(sync, other)).toBe(true);
  const ping = wire.ask("ping", undefined);
  expect((await sync).place).toBe((await ping).place - 1);
});

test("a reply is delayed by the server's clock while later requests are applied", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock });
  const [wire, other] = [await bench.open(), await bench.open()];
  bench.server.faults.on({ op: "create" }, { do: "hold", at: "reply", forMs: 250 });
  const [first, second] = [create(wire, "/a"), create(wire, "/b")];
  await eventually(() => bench.server.operator.exists("/b") !== null, { what: "the second create" });
  clock.advance(249);
  expect(await isOut(first, other)).toBe(true);
  clock.advance(1);
  expect([await first, await second]).toEqual(["/a", "/b"]);
});

test("one event is held or lost", async () => {
  await using bench = await Bench.start();
  const [waiter, writer] = [await bench.open(), await bench.open()];
  const lost = bench.server.faults.on({ op: "event", path: "/a", session: idOf(waiter) }, { do: "drop" });
  const held = bench.server.faults.on({ op: "event", path: "/b", event: "created" }, { do: "hold" });
  for (const path of ["/a", "/b"]) await waiter.ask("exists", { path, watch: true });
  for (const path of ["/a", "/b"]) await create(writer, path);
  const ping = waiter.ask("ping", undefined);
  expect(await isOut(ping, writer)).toBe(true);
  expect([lost.hits.length, held.hits.length]).toEqual([1, 1]);
  held.release();
  await ping;
  expect(waiter.types).toEqual(["created /b"]);
});

test("clear ends slowness, and reads what lay unread", async () => {
  await using bench = await Bench.start({ clock: new ManualClock() });
  const [slow, unread, other] = [await bench.open(), await bench.open(), await bench.open()];
  const { faults } = bench.server;
  faults.slow(idOf(slow), { bytes: 1, everyMs: 1_000 });
  faults.stopReading(idOf(unread));
  const pings = Promise.all([slow, unread].map((wire) => wire.ask("ping", undefined)));
  expect(await isOut(pings, other)).toBe(true);
  expect(faults.active).toBe(true);
  faults.clear();
  expect(faults.active).toBe(false);
  expect((await pings).map(({ err }) => err)).toEqual([0, 0]);
  faults.stopReading(idOf(unread));
  unread.destroy();
  bench.server.dropConnection(idOf(unread));
  expect(faults.active).toBe(false);
});

test("clear heals everything", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  const { faults } = bench.server;
  faults.on({ op: "create" }, { do: "hold" });
  faults.on({ op: "delete", times: Number.POSITIVE_INFINITY }, { do: "close" });
  faults.holdEvents(idOf(other));
  faults.cutOff(idOf(other));
  faults.refuseConnections();
  const held = create(wire, "/a");
  await settled(other);
  expect(faults.active).toBe(true);
  faults.clear();
  expect(faults.active).toBe(false);
  expect(await held).toBe("/a");
  await remove(await bench.open(), "/a");
});

test("events of a dying session's own nodes come in either order, and all, some or none of them before FIN", async () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 40; seed++) {
    await using bench = await Bench.start({ seed });
    const wire = await bench.open();
    for (const path of ["/own", "/before"]) {
      await create(wire, path, ephemeral);
      await ok(wire.ask("getData", { path, watch: true }));
    }
    bench.server.expireSession(idOf(wire));
    await wire.closed();
    seen.add(wire.events.map(({ path }) => path).join(" "));
  }
  expect([...seen].sort()).toEqual(["", "/before", "/before /own", "/own", "/own /before"]);
});

test("an action that cannot happen to what is matched is refused at once", async () => {
  await using bench = await Bench.start();
  const { faults } = bench.server;
  expect(() => faults.on({ op: "create" }, { do: "reject" })).toThrow('"reject" cannot happen to create');
  expect(() => faults.on({ op: ["connect", "ping"] }, { do: "no-reply" })).toThrow(RangeError);
  expect(() => faults.on({ op: "event" }, { do: "close" })).toThrow(RangeError);
  expect(() => faults.on({ nth: 0 }, { do: "drop" })).toThrow(RangeError);
  expect(() => faults.holdEvents(77n)).toThrow("no connection");
  expect(faults.active).toBe(false);
});

test("what waited behind the end of its session is not applied", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  bench.server.faults.on({ op: "create", path: "/a" }, { do: "expire", when: "applied" });
  const barrier = bench.server.faults.on({ op: "create", path: "/a" }, { do: "hold", at: "applied" });
  const replies = wire.askAll(["create", createOf("/a", ephemeral)], ["create", createOf("/b", ephemeral)]);
  await barrier.reached();
  barrier.release();
  expect((await replies[0])?.err).toBe(0);
  await expect(replies[1]).rejects.toThrow(lost);
  expect(await childrenOf(other, "/")).toEqual(["zookeeper"]);
});

test("a connection that is left without its session applies nothing more", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  const { faults } = bench.server;
  const held = faults.on({ op: "create" }, { do: "hold", at: "reply" });
  faults.on({ op: "create" }, { do: "expire", when: "applied" });
  const [first, second] = wire.askAll(["create", createOf("/a", ephemeral)], ["create", createOf("/b")]);
  await held.reached();
  await settled(other);
  held.release();
  expect((await first)?.err).toBe(0);
  await expect(second).rejects.toThrow(lost);
  expect(await childrenOf(other, "/")).toEqual(["zookeeper"]);
});
