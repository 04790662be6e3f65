import { errorCodes } from "@holdfast/zk-protocol";
import { expect, test } from "vitest";
import { type FaultHit, ManualClock } from "../../src/index.js";
import { Bench } from "./support/embedded.js";
import { create, createOf, ephemeral, errOf, ok, remove, statOf } from "./support/requests.js";
import { requestFrame, type Wire } from "./support/wire.js";

const lost = "the server closed the connection";
const idOf = (wire: Wire): bigint => wire.session.sessionId;

/** Whether a reply is still missing after three round trips on another connection. */
async function isOut(reply: Promise<unknown>, other: Wire): Promise<boolean> {
  let done = false;
  const settle = () => {
    done = true;
  };
  reply.then(settle, settle);
  for (let i = 0; i < 3; i++) await other.ask("ping", undefined);
  return !done;
}

test.each(["frame", "prep", "applied"] as const)(
  "rules at %s act in the order in which they were added, each behind the one before",
  async (at) => {
    await using bench = await Bench.start();
    const [wire, other] = [await bench.open(), await bench.open()];
    const { faults } = bench.server;
    const order: string[] = [];
    const run = (name: string) =>
      faults.on({ op: "create" }, { do: "run", at, call: () => void order.push(name) });
    let finish = () => {};
    run("first");
    run("second");
    const held = faults.on({ op: "create" }, { do: "hold", at });
    run("behind the hold");
    faults.on(
      { op: "create" },
      {
        do: "run",
        at,
        call: () =>
          new Promise<void>((resolve) => {
            order.push("slow");
            finish = resolve;
          }),
      },
    );
    run("last");
    const reply = create(wire, "/a");
    await held.reached();
    expect(await isOut(reply, other)).toBe(true);
    expect(order).toEqual(["first", "second"]);
    held.release();
    expect(await isOut(reply, other)).toBe(true);
    expect(order).toEqual(["first", "second", "behind the hold", "slow"]);
    finish();
    expect(await reply).toBe("/a");
    expect(order).toEqual(["first", "second", "behind the hold", "slow", "last"]);
  },
);

test("what is done to a request waits for a hold that was added before it, and not for one behind it", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  const { faults } = bench.server;
  const held = faults.on({ op: "create", path: "/a" }, { do: "hold" });
  faults.on({ op: "create", path: "/a" }, { do: "answer", err: "NoAuth" });
  const never = faults.on({ op: "create", path: "/a" }, { do: "hold" });
  const reply = errOf(wire, "create", createOf("/a"));
  await held.reached();
  expect(await isOut(reply, other)).toBe(true);
  held.release();
  expect(await reply).toBe(errorCodes.NoAuth);
  expect(await statOf(other, "/a")).toBeNull();
  expect(never.hits).toEqual([]);
});

test("a rule has not happened where another one ends the request before it", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  const { faults } = bench.server;
  const cut = faults.on({ op: "create" }, { do: "cut-reply", bytes: 3 });
  const read = faults.on({ op: "create" }, { do: "hold", at: "frame" });
  const answered = faults.on({ op: "create" }, { do: "answer", err: "ThrottledOp" });
  const ended = faults.on({ op: "create" }, { do: "expire" });
  const reply = errOf(wire, "create", createOf("/a"));
  await read.reached();
  read.release();
  expect(await reply).toBe(errorCodes.ThrottledOp);
  expect([cut, read, answered, ended].map(({ hits }) => hits.length)).toEqual([0, 1, 1, 0]);
  // The request did not reach the rule `ended`, so the session lives on.
  expect(await create(wire, "/a")).toBe("/a");
  expect(await statOf(other, "/a")).not.toBeNull();
});

test("a rule that was released before its turn came holds nothing up", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  const { faults } = bench.server;
  const first = faults.on({ op: "create" }, { do: "hold" });
  const second = faults.on({ op: "create" }, { do: "hold" });
  const third = faults.on({ op: "create" }, { do: "hold", at: "reply" });
  const reply = create(wire, "/a");
  await second.reached();
  second.release();
  third.release();
  expect(await isOut(reply, other)).toBe(true);
  first.release();
  expect(await reply).toBe("/a");
});

test("a handshake is held, looked at and then turned away", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  const { faults } = bench.server;
  let looks = 0;
  const held = faults.on({ op: "connect" }, { do: "hold" });
  faults.on(
    { op: "connect" },
    {
      do: "run",
      call() {
        looks += 1;
      },
    },
  );
  faults.on({ op: "connect" }, { do: "reject" });
  const rejected = bench.open(wire.credentials);
  await held.reached();
  expect(await isOut(rejected, other)).toBe(true);
  expect(looks).toBe(0);
  held.release();
  expect((await rejected).session.timeoutMs).toBe(0);
  expect(looks).toBe(1);
  expect((await wire.ask("ping", undefined)).err).toBe(0);
});

test("a reply is grown, held by two rules and then cut", async () => {
  await using bench = await Bench.start();
  const [wire, other] = [await bench.open(), await bench.open()];
  const { faults } = bench.server;
  faults.on({ op: "create" }, { do: "grow-reply", bytes: 1_000 });
  const holds = [1, 2].map(() => faults.on({ op: "create" }, { do: "hold", at: "reply" }));
  faults.on({ op: "create" }, { do: "cut-reply", bytes: 500 });
  const before = wire.bytes;
  const reply = create(wire, "/a");
  for (const held of holds) {
    expect(await isOut(reply, other)).toBe(true);
    expect(wire.bytes).toBe(before);
    expect(await statOf(other, "/a")).not.toBeNull();
    held.release();
  }
  await expect(reply).rejects.toThrow(lost);
  expect(wire.bytes).toBe(before + 500);
});

test("an event is held by two rules, and one that was held is lost all the same", async () => {
  await using bench = await Bench.start();
  const [waiter, writer] = [await bench.open(), await bench.open()];
  const { faults } = bench.server;
  const both = { op: "event", path: "/a" } as const;
  const holds = [both, both].map((match) => faults.on(match, { do: "hold" }));
  holds.push(faults.on({ op: "event", path: "/b" }, { do: "hold" }));
  faults.on({ op: "event", path: "/b" }, { do: "drop" });
  for (const path of ["/a", "/b"]) await waiter.ask("exists", { path, watch: true });
  for (const path of ["/a", "/b"]) await create(writer, path);
  const ping = waiter.ask("ping", undefined);
  for (const [index, held] of holds.entries()) {
    if (index === 2) await waiter.event(0);
    expect(await isOut(ping, writer)).toBe(true);
    expect(waiter.events).toHaveLength(index === 2 ? 1 : 0);
    held.release();
  }
  await ping;
  expect(waiter.types).toEqual(["created /a"]);
});

test("a watch that gets lost with a request that is dropped costs no later one", async () => {
  await using bench = await Bench.start();
  const [waiter, writer] = [await bench.open(), await bench.open()];
  const { faults } = bench.server;
  faults.on({ op: "exists" }, { do: "lose-watch" });
  const dropped = faults.on({ op: "exists" }, { do: "drop" });
  waiter.write(requestFrame(1, "exists", { path: "/a", watch: true }));
  await dropped.reached();
  await waiter.ask("exists", { path: "/a", watch: true });
  await create(writer, "/a");
  expect((await waiter.event(0)).type).toBe("created");
});

test("replies that would show a held event wait for it although they were held themselves", async () => {
  await using bench = await Bench.start();
  const [waiter, writer] = [await bench.open(), await bench.open()];
  const { faults } = bench.server;
  await create(writer, "/a");
  await ok(waiter.ask("exists", { path: "/a", watch: true }));
  const events = faults.holdEvents(idOf(waiter));
  await remove(writer, "/a");
  const held = faults.on({ session: idOf(waiter), op: "exists" }, { do: "hold", at: "reply" });
  const reply = waiter.ask("exists", { path: "/a", watch: false });
  await held.reached();
  held.release();
  expect(await isOut(reply, writer)).toBe(true);
  events.release();
  expect((await waiter.event(0)).place).toBe((await reply).place - 1);
});

test.each(["frame", "prep"] as const)(
  "a write whose own run at %s cuts its member off waits like any other",
  async (at) => {
    await using bench = await Bench.start();
    const [wire, other] = [await bench.open(), await bench.open()];
    const { faults } = bench.server;
    let heal = () => {};
    const call = ({ session }: FaultHit) => {
      const cut = faults.cutOff(session);
      heal = () => cut.release();
    };
    const fault = faults.on({ op: "create" }, { do: "run", at, call });
    const reply = create(wire, "/a");
    await fault.reached();
    expect(await isOut(reply, other)).toBe(true);
    expect(await statOf(other, "/a")).toBeNull();
    heal();
    expect(await reply).toBe("/a");
    expect(await statOf(wire, "/a")).not.toBeNull();
  },
);

test.each(["frame", "prep"] as const)(
  "a write that is held at %s while its member is cut off goes on waiting",
  async (at) => {
    await using bench = await Bench.start();
    const [wire, other] = [await bench.open(), await bench.open()];
    const { faults } = bench.server;
    const held = faults.on({ op: "create" }, { do: "hold", at });
    const reply = create(wire, "/a");
    await held.reached();
    const cut = faults.cutOff(idOf(wire));
    held.release();
    expect(await isOut(reply, other)).toBe(true);
    expect(await statOf(other, "/a")).toBeNull();
    cut.release();
    expect(await reply).toBe("/a");
  },
);

test.each(["frame", "prep"] as const)(
  "a member that is put behind by a run at %s of a write shows that write to its own session",
  async (at) => {
    await using bench = await Bench.start();
    const wire = await bench.open();
    const { faults } = bench.server;
    faults.on({ op: "create" }, { do: "run", at, call: ({ session }) => void faults.staleReads(session) });
    await create(wire, "/a");
    expect(await statOf(wire, "/a")).not.toBeNull();
  },
);

test("a write that waited for its member renews its session when it gets through, and not before", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock });
  const [wire, other] = [await bench.open({ timeoutMs: 1_500 }), await bench.open({ timeoutMs: 10_000 })];
  const { faults, operator } = bench.server;
  const cut = faults.cutOff(idOf(wire));
  const seen = faults.on({ op: "create" }, { do: "run", call() {} });
  const reply = create(wire, "/e", ephemeral);
  await seen.reached();
  expect(await isOut(reply, other)).toBe(true);
  clock.advance(1_000);
  cut.release();
  await reply;
  clock.advance(1_000);
  expect(operator.exists("/e")).not.toBeNull();
});

test("a cut-off member applies nothing of a session that ran out meanwhile", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock });
  const [wire, other] = [await bench.open({ timeoutMs: 1_500 }), await bench.open({ timeoutMs: 10_000 })];
  const { faults } = bench.server;
  const call = ({ session }: FaultHit) => void faults.cutOff(session);
  const fault = faults.on({ op: "create" }, { do: "run", call });
  const reply = create(wire, "/e", ephemeral);
  await fault.reached();
  clock.advance(4_000);
  expect(await isOut(reply, other)).toBe(true);
  faults.clear();
  await expect(reply).rejects.toThrow(lost);
  expect(await statOf(other, "/e")).toBeNull();
});

test.each(["frame", "prep"] as const)(
  "a write that is held at %s while its session moves is neither applied nor answered",
  async (at) => {
    await using bench = await Bench.start();
    const first = await bench.open();
    const { faults } = bench.server;
    const held = faults.on({ op: "create" }, { do: "hold", at });
    const reply = create(first, "/a");
    await held.reached();
    faults.on({ op: "connect" }, { do: "move" });
    const second = await bench.open(first.credentials);
    held.release();
    await expect(reply).rejects.toThrow(lost);
    expect(await statOf(second, "/a")).toBeNull();
  },
);

test("an event that a run at applied causes overtakes the reply; behind a held reply it keeps its place", async () => {
  await using bench = await Bench.start();
  const wire = await bench.open();
  const { faults, operator } = bench.server;
  for (const path of ["/a", "/b"]) operator.create(path);
  const call = () => operator.delete("/a");
  faults.on({ op: "getData", path: "/a" }, { do: "run", at: "applied", call });
  const overtaken = await wire.ask("getData", { path: "/a", watch: true });
  expect((await wire.event(0)).place).toBe(overtaken.place - 1);

  const held = faults.on({ op: "getData", path: "/b" }, { do: "hold", at: "reply" });
  const reply = wire.ask("getData", { path: "/b", watch: true });
  await held.reached();
  operator.delete("/b");
  held.release();
  expect((await wire.event(1)).place).toBe((await reply).place + 1);
});
