import { setTimeout as delay } from "node:timers/promises";
import type { LockProvider } from "@holdfast/core";
import { multiLock, redLocks } from "@holdfast/multi-lock";
import type { RedisLocks } from "@holdfast/redis-recipes";
import type { RedisNode } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { watched } from "../../interop/fixture.js";
import { maxLeaseMs, urlsOf, leaseMs as voteMs, votingMasters } from "../../redlock/masters.js";
import type { RedissonClient } from "../../support/redisson/redisson-client.js";
import type { RedissonHolder } from "../../support/redisson/redisson-lock.js";
import { share } from "../../support/share.js";
import { withEachRedisson } from "./each-redisson.js";
import { RedissonFixture } from "./fixture.js";

const waitMs = 30_000;
const leaseMs = 5_000;

let masters: readonly RedisNode[] = [];
beforeAll(async () => {
  masters = await votingMasters(3);
}, 300_000);
afterAll(() => Promise.all(masters.map((node) => node.stop())));

withEachRedisson(
  "several locks as one",
  (redisson) => {
    let fixture: RedissonFixture;
    beforeAll(async () => {
      fixture = await RedissonFixture.start(redisson, leaseMs);
    });
    afterAll(() => fixture?.close());

    describe("a multi-lock of Redisson and ours on the same names", () => {
      let client: RedissonClient;
      let locks: RedisLocks;

      beforeAll(async () => {
        [client, locks] = await Promise.all([fixture.redisson(), fixture.ours()]);
      });

      const keys = async (pattern: string): Promise<readonly string[]> =>
        ((await fixture.redis.command("KEYS", `*${pattern}*`)) as string[]).sort();
      const owners = async (name: string) => await fixture.redis.command("HGETALL", name);
      const oursOf = (names: readonly string[]) =>
        multiLock([...names].reverse().map((name) => locks.mutex(name)));

      it("exclude each other, whole by whole, and each goes on when the other has let go", async () => {
        const names = ["whole:a", "whole:b", "whole:c"] as const;
        const theirs = await client.multiLock(names);
        const ours = oursOf(names);
        const held = await ours.acquire({ waitMs });
        for (const name of names)
          expect(await owners(name)).toEqual([expect.stringMatching(/-8.*:\d+$/), "1"]);
        expect(await theirs.tryLock({ waitMs: 50 })).toBe(false);
        const theirTurn = watched(theirs.tryLock({ waitMs }));
        await delay(100);
        expect(theirTurn.granted).toBe(false);
        expect(await held.release()).toBe("released");
        expect(await theirTurn.grant).toBe(true);

        for (const name of names)
          expect(await owners(name)).toEqual([expect.stringMatching(/-4.*:\d+$/), "1"]);
        expect(await ours.tryAcquire()).toBeNull();
        const ourTurn = watched(ours.acquire({ waitMs }));
        await expect
          .poll(async () => await fixture.redis.command("LLEN", `holdfast_waiters:{${names[0]}}`), {
            timeout: 10_000,
          })
          .toBe(1);
        // While our multi-lock waits for the first name, it has no place in the queues of the others.
        for (const name of names.slice(1)) {
          expect(await fixture.redis.command("EXISTS", `holdfast_waiters:{${name}}`)).toBe(0);
        }
        expect(ourTurn.granted).toBe(false);
        await theirs.unlock();
        await (await ourTurn.grant).release();
        for (const name of names) expect(await fixture.redis.command("EXISTS", name)).toBe(0);
      });

      it.each([0, 1, 2])(
        "ours are all or none beside a single lock of Java's, on name %i of three",
        async (at) => {
          const names = ["a", "b", "c"].map((letter) => `beside${at}:${letter}`);
          const single = await client.lock(names[at] as string);
          await single.lock();
          expect(await oursOf(names).tryAcquire()).toBeNull();
          expect(await keys(`beside${at}:`)).toEqual([names[at]]);
          const turn = watched(oursOf(names).acquire({ waitMs }));
          await expect
            .poll(async () => await fixture.redis.command("LLEN", `holdfast_waiters:{${names[at]}}`), {
              timeout: 10_000,
            })
            .toBe(1);
          expect(turn.granted).toBe(false);
          await single.unlock();
          await (await turn.grant).release();
        },
      );

      it("theirs get none that is left over when one of ours is held, and ours keep what they have", async () => {
        const names = ["member:a", "member:b", "member:c"];
        const held = await locks.mutex("member:c").acquire({ waitMs });
        const theirs = await client.multiLock(names);
        expect(await theirs.tryLock({ waitMs: 100 })).toBe(false);
        expect(await fixture.redis.command("EXISTS", "member:a", "member:b")).toBe(0);
        await held.confirm();
        const turn = watched(theirs.tryLock({ waitMs }));
        await expect.poll(async () => await fixture.redis.command("EXISTS", "member:a", "member:b")).toBe(2);
        // Whichever of these names Java's multi lock holds by now, they keep ours out.
        expect(await oursOf(names.slice(0, 2)).tryAcquire()).toBeNull();
        expect(await held.release()).toBe("released");
        expect(await turn.grant).toBe(true);
        await theirs.unlock();
      });
    });

    describe("a RedLock of Redisson over three masters and ours", () => {
      let clients: readonly RedissonClient[];
      let locks: LockProvider;
      let other: LockProvider;

      beforeAll(async () => {
        clients = await Promise.all(
          masters.map(({ url }) => fixture.redisson({ servers: { mode: "single", address: url } })),
        );
        [locks, other] = [open(), open()];
        await Promise.all([locks.ready(), other.ready()]);
      });
      afterAll(async () => {
        await Promise.all([locks?.close(), other?.close()]);
      });

      const open = (): LockProvider =>
        redLocks({ nodes: urlsOf(masters), leaseMs: voteMs, maxLeaseMs, nodeTimeoutMs: 500 });
      const theirsOn = (name: string): Promise<RedissonHolder> => {
        const [first, ...others] = clients as [RedissonClient, ...RedissonClient[]];
        return first.redLock(`${name}:${redisson}`, others);
      };
      const oursOn = (name: string, provider = locks) => provider.mutex(`${name}:${redisson}`);
      const heldAt = async (name: string): Promise<readonly unknown[]> =>
        await Promise.all(masters.map((node) => node.command("EXISTS", `${name}:${redisson}`)));

      it("exclude each other, and each goes on when the other has let go", async () => {
        const theirs = await theirsOn("turns");
        const ours = oursOn("turns");
        const held = await ours.acquire({ waitMs });
        expect(await theirs.tryLock({ waitMs: 50, leaseMs })).toBe(false);
        const theirTurn = watched(theirs.tryLock({ waitMs, leaseMs: 60_000 }));
        await delay(1.2 * voteMs);
        // More than the lease has passed, so it was extended and did not expire.
        expect(theirTurn.granted).toBe(false);
        await held.confirm();
        expect(await held.release()).toBe("released");
        expect(await theirTurn.grant).toBe(true);

        expect(await ours.tryAcquire()).toBeNull();
        const ourTurn = watched(ours.acquire({ waitMs }));
        await delay(100);
        expect(ourTurn.granted).toBe(false);
        await theirs.unlock();
        await (await ourTurn.grant).release();
        await expect.poll(() => heldAt("turns")).toEqual([0, 0, 0]);
      });

      it("exclude each other by a majority alone, while another client holds on the third master", async () => {
        const stray = await (clients[2] as RedissonClient).lock(`two:${redisson}`);
        await stray.lock();
        const theirs = await theirsOn("two");
        expect(await theirs.tryLock({ waitMs: 5_000, leaseMs: 60_000 })).toBe(true);
        expect(await oursOn("two").tryAcquire()).toBeNull();
        await theirs.unlock();
        const held = await oursOn("two").acquire({ waitMs });
        expect(await theirs.tryLock({ waitMs: 200, leaseMs: 60_000 })).toBe(false);
        await held.confirm();
        expect(await held.release()).toBe("released");
        await stray.unlock();
        await expect.poll(() => heldAt("two")).toEqual([0, 0, 0]);
      });

      it(
        "never hold both, when two of ours and one of theirs go on asking",
        async () => {
          const total = share(`grants of RedLocks with Redisson ${redisson}`, 30, 900);
          let holders = 0;
          let most = 0;
          const had = new Map<string, number>();
          const section = async (who: string): Promise<void> => {
            holders += 1;
            most = Math.max(most, holders);
            await delay(2);
            had.set(who, (had.get(who) ?? 0) + 1);
            holders -= 1;
          };
          const ours = async (who: string, provider: LockProvider): Promise<void> => {
            for (let round = 0; round < total / 3; round++) {
              const hold = await oursOn("crowd", provider).acquire({ waitMs: 60_000 });
              await section(who);
              await hold.release();
            }
          };
          const java = async (): Promise<void> => {
            const theirs = await theirsOn("crowd");
            for (let round = 0; round < total / 3; round++) {
              expect(await theirs.tryLock({ waitMs: 60_000, leaseMs: 60_000 })).toBe(true);
              await section("java");
              await theirs.unlock();
            }
          };
          const startedMs = performance.now();
          await Promise.all([ours("first", locks), ours("second", other), java()]);
          console.log(`${total} grants in ${Math.round(performance.now() - startedMs)} ms`);
          expect(most).toBe(1);
          expect([...had.values()]).toEqual([total / 3, total / 3, total / 3]);
          await expect.poll(() => heldAt("crowd")).toEqual([0, 0, 0]);
        },
        60_000 + 900 * 1_000,
      );
    });
  },
  { newestAlone: true },
);
