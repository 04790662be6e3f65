import { LockLostError, tokenGate } from "@holdfast/core";
import { scriptNameOf } from "@holdfast/redis-recipes/internal";
import { eventually } from "@holdfast/test-servers";
import { expect, it, onTestFinished, test } from "vitest";
import { share } from "../../support/share.js";
import { die, FaultyServer, kindNames, kinds, stallLoop } from "./faulty-server.js";

const server = new FaultyServer();
/** A hold that a test must not lose needs a lease that outlasts whatever a busy machine is late with. */
const keptLeaseMs = 3_000;

it("defect 1: no renewal reaches the server after the release, wherever in the period that falls, of any kind of hold", async () => {
  const { locks } = await server.client({ leaseMs: keptLeaseMs });
  const rounds = share("releases of each kind around its renewal", 15, 200);
  const monitor = await server.monitor();
  let renewed = 0;
  locks.events.on("renewed", () => renewed++);
  let failed = 0;
  locks.events.on("renew-failed", () => failed++);
  // This hold is renewed for the whole test, while the others are watched.
  const clock = await locks.mutex(server.name("clock")).acquire();
  const marks = await server.node.connect();
  onTestFinished(() => marks.close());
  const names: string[] = [];
  const held = kindNames.flatMap((kind) =>
    Array.from({ length: rounds }, async (_, i) => {
      const name = server.name("over");
      names.push(name);
      const handle = await kinds[kind](locks, name);
      // The renewal is due after a third of the lease. The releases are spread in even steps from before it to after it.
      await new Promise((resolve) => setTimeout(resolve, 850 + (i / rounds) * 400));
      expect(await handle.release()).toBe("released");
      await marks.command("SET", `released-${name}`, 1);
    }),
  );
  await Promise.all(held);
  const before = renewed;
  expect(before).toBeGreaterThan(kindNames.length);
  await eventually(() => renewed >= before + 2, { what: "two periods to pass" });
  await clock.release();
  await monitor.caughtUp(server.node);
  const lines = monitor.lines;
  const late = names.flatMap((name) => {
    const end = lines.findIndex((line) => line.includes(`"released-${name}"`));
    expect(end).toBeGreaterThan(0);
    return lines.slice(end + 1).filter((line) => line.includes(`"${name}"`));
  });
  expect(late).toEqual([]);
  // A renewal that is overtaken by the release of its hold is no failure.
  expect(failed).toBe(0);
});

it("defect 1: while the answer to a release is awaited nothing is renewed", async () => {
  const { locks, link } = await server.client({ leaseMs: 900 });
  const handle = await locks.mutex(server.name("awaited")).acquire();
  const grantedMs = performance.now();
  const held = link.holdReply({ name: "EVALSHA" });
  link.reset();
  const releasing = handle.release();
  await held.hit();
  // A renewal would have been due after a third of the lease.
  await eventually(() => performance.now() - grantedMs > 450, { what: "the time of a renewal to pass" });
  // A release that is not answered for a second is sent again, so other scripts do not count.
  const renewals = link.trace.filter(
    ({ kind, script }) => kind === "command" && scriptNameOf(script ?? "") === "renew",
  );
  expect(renewals).toEqual([]);
  held.release();
  expect(await releasing).toBe("released");
});

it("defect 2: a read entered twice and left twice leaves nothing that is renewed", async () => {
  const { locks } = await server.client({ leaseMs: keptLeaseMs });
  const monitor = await server.monitor();
  let renewed = 0;
  locks.events.on("renewed", () => renewed++);
  const name = server.name("entered");
  const { read, write } = locks.reentrantReadWriteLock(name);
  await read.withLock(async () => {
    await read.withLock(async () => {
      await eventually(() => renewed > 0, { what: "a renewal" });
      expect(read.holdCount()).toBe(2);
    });
    const one = renewed;
    await eventually(() => renewed > one, { what: "a renewal after the inner one" });
  });
  await write.withLock(async () => {
    await read.withLock(async () => {
      await read.withLock(() => {});
    });
  });
  await server.node.command("SET", `left-${name}`, 1);
  const clock = await locks.mutex(server.name("clock")).acquire();
  const before = renewed;
  await eventually(() => renewed >= before + 4, { what: "more than a lease to pass" });
  await clock.release();
  await monitor.caughtUp(server.node);
  const end = monitor.lines.findIndex((line) => line.includes(`"left-${name}"`));
  expect(monitor.lines.slice(end + 1).filter((line) => line.includes(`"${name}"`))).toEqual([]);
  expect(await server.number("EXISTS", name)).toBe(0);
});

it("defect 3: a live reader's renewals keep no dead reader of another client alive", async () => {
  const leases = { leaseMs: keptLeaseMs };
  const [live, dead] = [await server.client(leases), await server.client(leases)];
  const name = server.name("readers");
  let renewed = 0;
  live.locks.events.on("renewed", () => renewed++);
  const reader = await live.locks.readWriteLock(name).read.acquire();
  await dead.locks.readWriteLock(name).read.acquire();
  const holds = () => server.texts("KEYS", `{${name}}:*:rwlock_timeout:1`);
  expect(await holds()).toHaveLength(2);
  await die(dead);
  await eventually(async () => (await holds()).length === 1, {
    what: "the dead hold to lapse",
    withinMs: 20_000,
  });
  const before = renewed;
  await eventually(() => renewed >= before + 3, { what: "one more lease to pass" });
  expect(await holds()).toHaveLength(1);
  await reader.confirm();
  await reader.release();
  // The dead reader is still in the hash, but keeps no writer out.
  const write = await live.locks.readWriteLock(name).write.acquire({ waitMs: 2_000 });
  await write.release();
});

test.each([
  ["an answer that is lost", ({ link }) => void link.dropReply({ name: "EVALSHA", times: 2 })],
  ["a request that is lost", ({ link }) => void link.dropCommand({ name: "EVALSHA", times: 2 })],
  ["a connection that is killed", () => server.node.killClients("normal")],
  ["scripts that are forgotten", () => server.node.flushScripts()],
  [
    "a right that is taken away and given back",
    async () => {
      await server.node.command("ACL", "LOG", "RESET");
      await server.node.command("ACL", "SETUSER", "default", "-evalsha", "-eval");
      await eventually(async () => (await server.texts("ACL", "LOG")).length > 0, {
        what: "a renewal to be denied",
      });
      await server.node.command("ACL", "SETUSER", "default", "+evalsha", "+eval");
    },
  ],
] satisfies [string, (client: Awaited<ReturnType<FaultyServer["client"]>>) => unknown][])(
  "defect 4: renewals go on after %s",
  async (_what, trouble) => {
    const client = await server.client({ leaseMs: keptLeaseMs });
    const { locks } = client;
    const handle = await locks.mutex(server.name("troubled")).acquire();
    let renewed = 0;
    locks.events.on("renewed", () => renewed++);
    await eventually(() => renewed >= 1, { what: "the first renewal" });
    await trouble(client);
    const before = renewed;
    // Four renewals take more than a whole lease. Without them the hold would be over.
    await eventually(() => renewed >= before + 4, { what: "further renewals" });
    expect(handle.state).toBe("held");
    await handle.confirm();
    expect(await handle.release()).toBe("released");
  },
);

it("defect 5: a holder without contact is notified of its loss before another client is granted, each time", async () => {
  const [cut, next] = [await server.client({ leaseMs: keptLeaseMs }), await server.client()];
  const rounds = share("losses by the own deadline", 12, 200);
  const events: string[] = [];
  for (const type of ["uncertain", "lost"] as const) cut.locks.events.on(type, () => events.push(type));
  const names = Array.from({ length: rounds }, () => server.name("cut"));
  const handles = await Promise.all(names.map((name) => cut.locks.mutex(name).acquire()));
  const signals = handles.map((handle) => handle.lost);
  const waiting = names.map(async (name, i) => {
    const handle = await next.locks.mutex(name).acquire();
    const told = signals[i]?.aborted;
    await handle.release();
    return told;
  });
  await die(cut);
  expect(await Promise.all(waiting)).toEqual(names.map(() => true));
  for (const { reason } of signals) expect(reason).toBeInstanceOf(LockLostError);
  // Each hold is first in doubt, and then lost.
  expect(events.slice(0, rounds)).toEqual(names.map(() => "uncertain"));
});

it("defect 6: after a stall longer than the lease the holder knows before it does anything, and its token is refused", async () => {
  const [stalled, other] = [await server.client({ leaseMs: 500 }), await server.client()];
  const name = server.name("stalled");
  const handle = await stalled.locks.mutex(name).acquire();
  expect(handle.remainingMs()).toBeGreaterThan(0);
  stallLoop(700);
  // This is the same turn of the event loop: no timer has run, and no answer has been read.
  expect(handle.remainingMs()).toBe(0);
  expect(() => handle.assertHeld()).toThrow(LockLostError);
  expect(handle.lost.aborted).toBe(true);
  const next = await other.locks.mutex(name).acquire();
  const gate = tokenGate();
  expect(gate.admit(name, next.token as bigint)).toBe(true);
  expect(gate.admit(name, handle.token as bigint)).toBe(false);
  await next.release();
});

it("defect 6: each renewal reports how near a late loop has brought the end", async () => {
  const [leaseMs, stalledMs] = [4_500, 2_500];
  const { locks } = await server.client({ leaseMs });
  const margins: number[] = [];
  locks.events.on("renewed", ({ marginMs }) => margins.push(marginMs));
  const handle = await locks.mutex(server.name("margin")).acquire();
  await eventually(() => margins.length >= 1, { what: "a renewal in time" });
  const [usual = 0] = margins;
  stallLoop(stalledMs);
  await eventually(() => margins.length >= 2, { what: "the late renewal" });
  const late = margins[1] ?? Infinity;
  expect(late).toBeGreaterThan(0);
  // The whole stall lies between the renewal before it, from which the lease counts, and the late one.
  expect(late).toBeLessThanOrEqual(leaseMs - stalledMs);
  expect(usual).toBeGreaterThan(late);
  expect(handle.state).toBe("held");
  await handle.release();
});

it("defect 9: a release is never called misuse: twice, from another task, after the lease, and of a key that is gone", async () => {
  const { locks } = await server.client();
  const handle = await locks.mutex(server.name("twice")).acquire();
  expect(await Promise.all([handle.release(), handle.release()])).toEqual(["released", "released"]);
  expect(await handle.release()).toBe("released");

  const passed = await locks.mutex(server.name("task")).acquire();
  const elsewhere = new Promise((resolve) => setImmediate(() => resolve(passed.release())));
  expect(await elsewhere).toBe("released");

  const over = await locks.mutex(server.name("over")).acquire({ leaseMs: 100, renew: false });
  await eventually(() => over.lost.aborted, { what: "the end of the lease" });
  expect(await over.release()).toBe("lost");

  const name = server.name("gone");
  const gone = await locks.mutex(name).acquire({ leaseMs: 20_000 });
  await server.node.command("DEL", name);
  expect(await gone.release()).toBe("lost");

  const late = locks.mutex(server.name("late")).withLock({ leaseMs: 100, renew: false }, async (lock) => {
    await eventually(() => lost(lock), { what: "the end of the lease" });
  });
  await expect(late).rejects.toBeInstanceOf(LockLostError);
});

function lost(lock: { readonly state: string }): boolean {
  return lock.state === "lost";
}
