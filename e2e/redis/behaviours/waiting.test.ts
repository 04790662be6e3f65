import { AcquireTimeoutError } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { eventually } from "@holdfast/test-servers";
import { describe, expect, it } from "vitest";
import { OneServer, rare } from "../../support/redis/one-redis-server.js";
import { forceOpen, forceOpenAsJava } from "../../support/redis/redis-force.js";
import { share } from "../../support/share.js";

const server = new OneServer();
const queueKeys = (name: string): [string, string] => [
  `holdfast_waiters:{${name}}`,
  `holdfast_alive:{${name}}`,
];

/** How late a timer may be on a busy machine. */
const slackMs = 10_000;

const javaOwner = "aaaaaaaa-aaaa-4aaa-aaaa-aaaaaaaaaaaa:57";

/** Makes the lock held as by a Redisson client. */
async function javaHolds(name: string): Promise<void> {
  await server.node.command("HSET", name, javaOwner, "1");
  await server.node.command("PEXPIRE", name, 60_000);
}

async function untilQueued(name: string): Promise<void> {
  await server.untilLong(queueKeys(name)[0], 1);
}

describe("the end of a wait", () => {
  it("7: a try of another client fails after its wait and not earlier, and leaves nothing in the queue", async () => {
    const name = server.name("wait");
    const [one, other] = [await server.locks(), await server.locks()];
    const held = await one.mutex(name).acquire();
    for (const attempt of [
      () => other.mutex(name).tryAcquire({ waitMs: 400 }),
      () => other.mutex(name).acquire({ waitMs: 400 }),
    ]) {
      const startedMs = performance.now();
      const outcome = await attempt().catch((error: unknown) => error);
      const tookMs = performance.now() - startedMs;
      expect(outcome === null || outcome instanceof AcquireTimeoutError).toBe(true);
      expect(tookMs).toBeGreaterThanOrEqual(399);
      expect(tookMs).toBeLessThan(400 + slackMs);
      await eventually(async () => (await server.number("EXISTS", ...queueKeys(name))) === 0, {
        what: "the queue to be empty",
      });
    }
    expect(await held.release()).toBe("released");
  });

  it.each([
    ["a client of ours that is dead", "00000000-0000-8000-8000-000000000000:1"],
    ["Java", javaOwner],
  ])(
    "8: a waiter gets a lock whose lease ends, soon after and never before: that of %s",
    async (_who, owner) => {
      const leaseMs = 300;
      const locks = await server.locks(rare);
      const rounds = share("leases that end under a waiter", 4, 50);
      const lateMs: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const name = server.name("lease");
        await server.node.command("HSET", name, owner, "1");
        const sentMs = performance.now();
        await server.node.command("PEXPIRE", name, leaseMs);
        const answeredMs = performance.now();
        const next = await locks.mutex(name).acquire({ waitMs: 10_000 });
        const grantedMs = performance.now();
        // Redis counts whole milliseconds of its own clock. A holder of ours takes a margin of 5 ms off such a lease, so this
        // much is no error.
        expect(grantedMs - sentMs).toBeGreaterThan(leaseMs - 5);
        lateMs.push(grantedMs - answeredMs - leaseMs);
        await next.release();
      }
      console.log(`granted ${lateMs.map((ms) => ms.toFixed(1)).join(", ")} ms after the end of the lease`);
      expect(Math.min(...lateMs)).toBeLessThan(200);
      expect(Math.max(...lateMs)).toBeLessThan(slackMs);
    },
  );

  it("13: a wait ends by its signal, with the signal's reason, and the queue forgets it; without one nothing ends it", async () => {
    const name = server.name("signal");
    const [one, other] = [await server.locks(), await server.locks()];
    const held = await one.mutex(name).acquire();
    const controller = new AbortController();
    const interrupted = other.mutex(name).acquire({ signal: controller.signal });
    const patient = other.mutex(name).acquire();
    await server.untilLong(queueKeys(name)[0], 2);
    controller.abort("interrupted");
    await expect(interrupted).rejects.toBe("interrupted");
    await untilQueued(name);
    await held.release();
    const next = await patient;
    // After the grant, the signal of the other call has no effect.
    expect(await next.release()).toBe("released");
    expect(await server.number("EXISTS", name, ...queueKeys(name))).toBe(0);
  });

  it("14: a try that is called off while its grant is on the way leaves no key that is renewed", async () => {
    const name = server.name("called-off");
    const witness = server.name("witness");
    // On a busy machine renewals come late, and the hold must outlast that.
    const { locks, link } = await server.linked({ leaseMs: 3_000 });
    const renewed: string[] = [];
    locks.events.on("renewed", (event) => renewed.push(event.name));
    const answer = link.holdReply({ name: ["EVAL", "EVALSHA"], key: name });
    const controller = new AbortController();
    const called = locks.mutex(name).tryAcquire({ waitMs: 10_000, signal: controller.signal });
    await answer.hit();
    expect(await server.number("EXISTS", name)).toBe(1);
    const rejected = expect(called).rejects.toBe("enough");
    controller.abort("enough");
    answer.release();
    await rejected;
    await eventually(async () => (await server.number("EXISTS", name)) === 0, {
      what: "the key to go",
      withinMs: 5_000,
    });
    const held = await locks.mutex(witness).acquire();
    await eventually(() => renewed.length >= 4, { what: "renewals of another lock" });
    expect(new Set(renewed)).toEqual(new Set([witness]));
    expect(await server.number("EXISTS", name)).toBe(0);
    expect(locks.holds().map((hold) => hold.name)).toEqual([witness]);
    await held.release();
  });
});

describe("subscriptions", () => {
  /**
   * The connections to the server that subscribe, and how many channels they listen to together, grant channels included. Each
   * provider has one grant channel of its own.
   */
  async function subscriptionsOf(locks: RedisLocks): Promise<{ connections: number; channels: number }> {
    const channels = await server.texts("PUBSUB", "CHANNELS", "holdfast_grant:*");
    const clients = String(await server.node.command("CLIENT", "LIST", "TYPE", "pubsub"))
      .split("\n")
      .filter((line) => line.includes("id="));
    const counts = clients.map((line) => Number(/ sub=(\d+)/.exec(line)?.[1]));
    expect(locks.state).toBe("connected");
    // The two lists were read one after the other. While their lengths differ, a connection is just coming or going.
    const connections = channels.length === counts.length ? counts.length : Number.NaN;
    return { connections, channels: counts.reduce((sum, count) => sum + count, 0) };
  }

  it("16: two names share one connection and one subscription, and both waiters are served", async () => {
    const names = [server.name("shared"), server.name("shared")];
    const { locks } = await server.linked(rare);
    const held = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
    const waiting = names.map((name) => locks.mutex(name).acquire({ waitMs: 5_000 }));
    await Promise.all(names.map(untilQueued));
    await eventually(async () => (await subscriptionsOf(locks)).connections === 1, {
      what: "the subscription",
    });
    expect(await subscriptionsOf(locks)).toEqual({ connections: 1, channels: 1 });
    for (const handle of held) await handle.release();
    for (const handle of await Promise.all(waiting)) await handle.release();
  });

  it("16: behind Java each name has a channel of its own on that one connection, and both are served by its word", async () => {
    const names = [server.name("java"), server.name("java")];
    const { locks } = await server.linked(rare);
    await Promise.all(names.map(javaHolds));
    const waiting = names.map((name) => locks.mutex(name).acquire({ waitMs: 5_000 }));
    await eventually(async () => (await subscriptionsOf(locks)).channels === 3, {
      what: "the subscriptions",
    });
    expect((await subscriptionsOf(locks)).connections).toBe(1);
    for (const name of names) await forceOpenAsJava(server.node, name);
    for (const handle of await Promise.all(waiting)) await handle.release();
    await eventually(async () => (await subscriptionsOf(locks)).channels === 1, { what: "their end" });
  });

  it("17: many names at once need one connection and no more, and no waiter is forgotten", async () => {
    const count = share("names that are waited for at once", 200, 2_000);
    const names = Array.from({ length: count }, () => server.name("many"));
    // No heartbeat can find a forgotten waiter before its time is over. That time is long enough to queue so many waiters on a
    // busy machine.
    const rarer = { heartbeatMs: 60_000, aliveMs: 200_000 };
    const [holder, waiter] = [await server.locks(rarer), await server.locks(rarer)];
    const held = await Promise.all(names.map((name) => holder.mutex(name).acquire()));
    const waiting = names.map((name) => waiter.mutex(name).acquire({ waitMs: 50_000 }));
    await Promise.all(names.map(untilQueued));
    await expect
      .poll(() => subscriptionsOf(waiter), { timeout: 10_000 })
      .toEqual({ connections: 2, channels: 2 });
    await Promise.all(held.map((handle) => handle.release()));
    const granted = await Promise.all(waiting);
    expect(granted).toHaveLength(count);
    await Promise.all(granted.map((handle) => handle.release()));
  });
});

it("22: a nudge that overtakes the answer to the acquire wakes the waiter all the same", async () => {
  const name = server.name("nudge");
  const holder = await server.locks();
  const { locks, link } = await server.linked(rare);
  // After this hold, the subscription to the grant channel is confirmed.
  const warm = await locks.mutex(server.name("warm")).acquire({ revocable: true });
  await warm.release();
  await holder.mutex(name).acquire();
  const answer = link.holdReply({ name: ["EVAL", "EVALSHA"], key: name });
  const waiting = locks.mutex(name).acquire({ waitMs: 10_000 });
  await answer.hit();
  link.reset();
  expect(await forceOpen(holder.mutex(name))).toBe(true);
  await link.waitFor(({ kind }) => kind === "push", { what: "the nudge" });
  answer.release();
  const releasedMs = performance.now();
  await (await waiting).release();
  expect(performance.now() - releasedMs).toBeLessThan(9_000);
});
