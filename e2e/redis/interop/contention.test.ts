import type { RedisLocks } from "@holdfast/redis-recipes";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ContentionLog, type LoggedGrant } from "../../interop/contention-log.js";
import { contendReadWrite, contendSemaphore } from "../../interop/our-contenders.js";
import { presenceFolder } from "../../interop/presence.js";
import { grantShares } from "../../support/redisson/grant-shares.js";
import type { RedissonClient } from "../../support/redisson/redisson-client.js";
import type { OurProcess } from "../../support/redisson/redisson-contender-process.js";
import type { RedissonExclusive, TurnsHad } from "../../support/redisson/redisson-contention.js";
import { takeTurns } from "../../support/redisson/redisson-our-turns.js";
import { share } from "../../support/share.js";
import { withEachRedisson } from "./each-redisson.js";
import { RedissonFixture } from "./fixture.js";

const fullGrants = 2_000;
const fullSeconds = 60;
const holdMs = 5;
const leastShare = 0.1;
/**
 * A Redisson waiter that misses a message sleeps for as long as the lease had left when it looked. So one missed message costs
 * up to this time, and no waiter may wait for much longer than a few such times.
 */
const leaseMs = 5_000;
const patienceMs = 6 * leaseMs;
const withinMs = 60_000 + fullGrants * 100;
const mostBouts = 5;

const exclusive: { kind: RedissonExclusive; part: number }[] = [
  { kind: "plain", part: 100 },
  { kind: "fair", part: 60 },
  { kind: "spin", part: 240 },
  { kind: "write", part: 80 },
  { kind: "fenced", part: 100 },
  { kind: "multi", part: 60 },
];

withEachRedisson(
  "two processes of ours and two of Java on one name",
  (redisson) => {
    let fixture: RedissonFixture;
    let clients: RedissonClient[];
    let locks: RedisLocks;
    let other: OurProcess;

    beforeAll(async () => {
      fixture = await RedissonFixture.start(redisson, leaseMs);
      const second = await fixture.jvm();
      clients = await Promise.all([fixture.redisson(), fixture.redisson({}, second)]);
      locks = await fixture.ours();
      other = fixture.use(await fixture.ourProcess());
      // This warms the JVMs up. A cold JVM would begin only when our contenders have had most of a small share.
      await using log = await ContentionLog.start();
      for (const client of clients) {
        await client.contend({ name: "warm-up", ...log.files, grants: 20, label: "java" }, withinMs);
      }
    });

    afterAll(() => fixture?.close());

    it.each(exclusive)(
      "lose no update of a file that only a $kind lock protects, and no waiter is left",
      async ({ kind, part }) => {
        const total = share(`grants of ${kind} with Redisson ${redisson}`, part, fullGrants);
        await using log = await ContentionLog.start();
        const contention = { name: `contend:${kind}`, ...log.files, grants: total / 4, holdMs: 1 };
        const bout = () =>
          Promise.all([
            Promise.all(
              clients.map((client, at) =>
                client.contend({ ...contention, label: `java-${at}` }, withinMs, kind),
              ),
            ),
            Promise.all([
              takeTurns(locks, { ...contention, kind, label: "ours-0" }),
              other.contend({ ...contention, kind, label: "ours-1" }, withinMs),
            ]),
          ]);
        let across = 0;
        // A bout in which each contender did its work alone proves nothing. A contender that spins may have had all its turns
        // while the others slept.
        for (let bouts = 1; across <= 1 && bouts <= mostBouts; bouts++) {
          const startedMs = performance.now();
          const [java, ours] = await bout();
          const seconds = (performance.now() - startedMs) / 1_000;
          const granted = await log.expectOrderly(bouts * total);
          expectRisingTokens(granted);
          across = acrossKinds(granted);
          const longest = (had: readonly TurnsHad[]) =>
            Math.round(Math.max(...had.map(({ longestWaitMs }) => longestWaitMs)));
          console.log(
            `${kind}, Redisson ${redisson}: ${total} grants in ${seconds.toFixed(1)} s, ${across} hand-overs between Java and us; ` +
              `Java had ${sharesOfHalf(granted)}; longest wait ${longest(java)} ms of Java's, ${longest(ours)} ms of ours`,
          );
          expect(longest([...java, ...ours])).toBeLessThan(patienceMs);
        }
        expect(across).toBeGreaterThan(1);
      },
      withinMs,
    );

    it.each(["semaphore", "permitSemaphore"] as const)(
      "never hold more permits of a %s than there are, one to three at a time",
      async (kind) => {
        const total = share(`grants of ${kind} with Redisson ${redisson}`, 100, fullGrants);
        await using log = await ContentionLog.start();
        const folder = await presenceFolder(log);
        const name = `contend:${kind}`;
        const limit = 5;
        expect(await (await clients[0]?.[kind](name))?.trySetPermits(limit)).toBe(true);
        const contention = { name, limit, folder, grants: total / 4, mostAtOnce: 3 };
        const ours = kind === "semaphore" ? locks.plainSemaphore(name, limit) : locks.permitSemaphore(name);
        const startedMs = performance.now();
        const [java, own] = await Promise.all([
          Promise.all(
            clients.map((client, at) =>
              client.contendSemaphore({ ...contention, label: `java-${at}` }, withinMs, kind),
            ),
          ),
          Promise.all([
            contendSemaphore(ours, { ...contention, maxLeases: limit, label: "ours-0" }),
            other.contendSemaphore({ ...contention, kind, label: "ours-1" }, withinMs),
          ]),
        ]);
        const seconds = (performance.now() - startedMs) / 1_000;
        const most = [
          ...java.map(({ mostTaken }) => mostTaken),
          ...own.map(({ mostHolders }) => mostHolders),
        ];
        console.log(
          `${kind}, Redisson ${redisson}: ${total} grants in ${seconds.toFixed(1)} s, ${most} permits seen taken at once`,
        );
        // More permits were taken at once than one contender takes, so several contenders held permits at the same time.
        expect(Math.max(...most)).toBeGreaterThan(3);
        // Every permit that was taken came back, and no other.
        expect(await freePermits(clients[0] as RedissonClient, kind, name)).toBe(limit);
      },
      withinMs,
    );

    it(
      "read together and write alone, and a writer becomes a reader with no writer between",
      async () => {
        const turns = share(`turns of read and write with Redisson ${redisson}`, 80, fullGrants);
        await using log = await ContentionLog.start();
        const folder = await presenceFolder(log);
        const { counterFile } = log.files;
        const name = "contend:rw";
        const contention = { name, counterFile, folder, turns: turns / 4, writeEvery: 4, downgrade: true };
        const startedMs = performance.now();
        const seen = await Promise.all([
          ...clients.map((client, at) =>
            client.contendReadWrite({ ...contention, label: `java-${at}` }, withinMs),
          ),
          contendReadWrite(locks.readWriteLock(name), { ...contention, label: "ours-0" }),
          other.contendReadWrite({ ...contention, label: "ours-1" }, withinMs),
        ]);
        const seconds = (performance.now() - startedMs) / 1_000;
        const readers = seen.map(({ mostReaders }) => mostReaders);
        console.log(
          `read-write, Redisson ${redisson}: ${turns} turns in ${seconds.toFixed(1)} s, ${readers} readers seen at once`,
        );
        expect(seen.map(({ writes }) => writes)).toEqual(Array.from({ length: 4 }, () => turns / 16));
        expect(Math.max(...readers)).toBeGreaterThan(1);
      },
      withinMs,
    );

    it(
      "count one latch down together, and its waiters go on at zero and not before",
      async () => {
        const total = share(`countdowns with Redisson ${redisson}`, 200, fullGrants);
        const name = "contend:latch";
        const theirs = await Promise.all(clients.map((client) => client.latch(name)));
        const ours = locks.countDownLatch(name);
        expect(await ours.trySetCount(total + 1)).toBe(true);
        expect(await theirs[0]?.trySetCount(1)).toBe(false);
        let gone = 0;
        const waits = [...theirs.map((latch) => latch.wait()), ours.wait({ waitMs: withinMs })].map((wait) =>
          wait.then(() => {
            gone += 1;
          }),
        );
        await Promise.all([
          ...theirs.map(async (latch) => {
            for (let time = 0; time < total / 4; time += 1) await latch.countDown();
          }),
          (async () => {
            for (let time = 0; time < total / 4; time += 1) await ours.countDown();
          })(),
          other.countDown(name, total / 4, withinMs),
        ]);
        expect([await ours.count(), await theirs[0]?.count(), gone]).toEqual([1, 1, 0]);
        await theirs[0]?.countDown();
        await Promise.all(waits);
        expect(gone).toBe(3);
      },
      withinMs,
    );

    it(
      "get a mutex at least once in ten grants each, though all ask again as soon as they have let go",
      async () => {
        const seconds = share(`seconds of contention with Redisson ${redisson}`, 4, fullSeconds);
        await using log = await ContentionLog.start();
        const contention = {
          name: "fairness",
          ...log.files,
          grants: Number.MAX_SAFE_INTEGER,
          holdMs,
          forMs: seconds * 1_000,
        };
        const withinMs = seconds * 1_000 + 60_000;
        const javaContention = { ...contention, grants: 2 ** 31 - 1 };
        const bout = () =>
          Promise.all([
            ...clients.map((client, at) =>
              client.contend({ ...javaContention, label: `java-${at}` }, withinMs),
            ),
            takeTurns(locks, { ...contention, kind: "plain", label: "ours-0" }),
            other.contend({ ...contention, kind: "plain", label: "ours-1" }, withinMs),
          ]);
        const { had, shares, contendedMs } = await grantShares(bout, {
          boutMs: contention.forMs,
          sleepMs: leaseMs,
          leastShare,
        });
        const total = had.reduce((sum, { grants }) => sum + grants, 0);
        const granted = await log.expectOrderly(total);
        const across = acrossKinds(granted);
        console.log(
          `Redisson ${redisson}: ${total} grants in ${contendedMs / 1_000} s, ${across} hand-overs between Java and us; ` +
            `of Java ${shares.slice(0, 2).map(percent)}, of ours ${shares.slice(2).map(percent)}; ` +
            `longest waits ${had.map(({ longestWaitMs }) => Math.round(longestWaitMs))} ms`,
        );
        for (const each of shares) expect(each).toBeGreaterThanOrEqual(leastShare);
      },
      (fullSeconds + 60) * 1_000,
    );
  },
  { newestAlone: true },
);

async function freePermits(
  client: RedissonClient,
  kind: "semaphore" | "permitSemaphore",
  name: string,
): Promise<number> {
  if (kind === "semaphore") return await (await client.semaphore(name)).availablePermits();
  return (await (await client.permitSemaphore(name)).permits()).free;
}

/** Expects rising tokens over all grants that have one, ours and Java's, in the order of the log. */
function expectRisingTokens(granted: readonly LoggedGrant[]): void {
  const tokens = granted.flatMap(({ czxid }) => (czxid === null ? [] : [czxid]));
  for (const [at, token] of tokens.entries()) {
    if (at > 0) expect(token, `token ${at}`).toBeGreaterThan(tokens[at - 1] ?? 0n);
  }
}

function acrossKinds(granted: readonly LoggedGrant[]): number {
  return granted.filter(
    (grant, at) => at > 0 && grant.label.slice(0, 4) !== granted[at - 1]?.label.slice(0, 4),
  ).length;
}

/** Java's share of the first half of the grants, in which all four contenders still want some. */
function sharesOfHalf(granted: readonly LoggedGrant[]): string {
  const half = granted.slice(0, granted.length / 2);
  const java = half.filter(({ label }) => label.startsWith("java")).length;
  return `${Math.round((100 * java) / half.length)} % of the first half`;
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}
