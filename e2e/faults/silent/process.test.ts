import { setTimeout as pass } from "node:timers/promises";
import { type LockHandle, type LockProvider, tokenGate } from "@holdfast/core";
import { eventually, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { chance } from "../../support/faults/fault-chance.js";
import { spread } from "../../support/faults/fault-figures.js";
import {
  type HolderProcess,
  type HolderProgram,
  holderProgram,
} from "../../support/faults/fault-holder-process.js";
import { FaultObserver } from "../../support/faults/fault-observer.js";
import { share } from "../../support/share.js";
import { testLimitMs } from "../server/test-limit.js";
import { patienceMs, Tidy } from "./contests.js";

vi.setConfig({ testTimeout: testLimitMs });

const sessionTimeoutMs = 1_500;
/** Longer than the session, the tick in which the server notices its end, and the grant on a busy machine together. */
const blockMs = 6_000;
const grantWithinMs = 20_000;
const batch = 5;
const random = chance("process faults");
let lastPath = 0;

const suite = new Tidy();
let server: ZooKeeperNode;
let observer: FaultObserver;
let program: HolderProgram;

beforeAll(async () => {
  program = suite.add(await holderProgram(), (it) => it[Symbol.asyncDispose]());
  server = suite.add(await startZooKeeper({ tickTimeMs: 500 }), (it) => it.stop());
  observer = suite.add(await FaultObserver.connect(server.connectString), (it) => it[Symbol.asyncDispose]());
});
afterAll(() => suite[Symbol.asyncDispose]());

interface Grant {
  readonly handle: LockHandle;
  readonly atNs: bigint;
}

interface Stage {
  readonly holders: HolderProcess;
  /** The tokens of the holder in the other process, by path. */
  readonly tokens: readonly bigint[];
  /** Resolves when every waiter of ours is granted. */
  readonly granted: Promise<Grant[]>;
  /** Checks the waiters' holds, releases them, and expects that the old holders' providers get the locks again. */
  afterwards(): Promise<void>;
}

async function wait(locks: LockProvider, path: string): Promise<Grant> {
  let atNs = 0n;
  using _listening = locks.events.on("acquire-settled", ({ name, outcome }) => {
    if (name === path && outcome === "granted") atNs = process.hrtime.bigint();
  });
  const handle = await locks.mutex(path).acquire({ waitMs: grantWithinMs });
  return { handle, atNs };
}

function pathsFor(what: string, count: number): string[] {
  return Array.from({ length: count }, () => {
    lastPath += 1;
    return `/faults/${what}-${process.pid}-${lastPath}`;
  });
}

/** Waits until each queue has so many nodes. */
async function queued(names: readonly string[], nodes: number): Promise<void> {
  await eventually(
    async () =>
      (await Promise.all(names.map((path) => observer.children(path)))).every(
        ({ length }) => length === nodes,
      ),
    { what: `${nodes} nodes in each queue` },
  );
}

/** Makes `count` holders in one other process, and a waiter for each in this one. */
async function stage(what: string, count: number, tidy: Tidy): Promise<Stage> {
  const names = pathsFor(what, count);
  const holders = tidy.add(await program.start(), (it) => it.close());
  const waiter = await tidy.provider(server.connectString, { sessionTimeoutMs: 10_000 });
  const tokens = await holders.hold(server.connectString, sessionTimeoutMs, names);
  const granted = Promise.all(names.map((path) => wait(waiter, path)));
  granted.catch(() => {}); // the code that awaits it gets the error
  await queued(names, 2);
  return {
    holders,
    tokens,
    granted,
    async afterwards() {
      const grants = await granted;
      for (const [index, { handle }] of grants.entries()) {
        // The holder's node went with its session, long before its provider runs again.
        expect(await observer.czxids(names[index] as string)).toEqual([handle.token]);
        const gate = tokenGate();
        expect(gate.admit("stock", handle.token as bigint)).toBe(true);
        expect(gate.admit("stock", tokens[index] as bigint)).toBe(false);
        await handle.release();
      }
      for (const [index, token] of (await holders.holdAgain()).entries()) {
        expect(token).toBeGreaterThan(grants[index]?.handle.token as bigint);
        expect(await observer.children(names[index] as string)).toEqual([]);
      }
    },
  };
}

const ms = (ns: bigint): number => Number(ns) / 1e6;

async function rounds(what: string, part: number, play: (count: number) => Promise<number[]>): Promise<void> {
  const total = share(what, part, 20);
  const marginsMs: number[] = [];
  for (let done = 0; done < total; done += batch) {
    marginsMs.push(...(await play(Math.min(batch, total - done))));
  }
  console.log(
    `${what}: no write passed after the next grant in ${marginsMs.length}/${total}; last write to next grant ${spread(marginsMs)}`,
  );
}

/**
 * A holder in this process, a waiter in the other process, and a waiter in this process behind that. While the other process
 * does not run, our holder releases. The event for the other process stays unread in its socket until its session ends, and
 * the third in the queue is granted.
 */
async function outwait(
  what: string,
  count: number,
  /** Resolves once the other process does not run. Its `over` resolves when the process runs again, after `until`. */
  stop: (others: HolderProcess, until: Promise<unknown>) => Promise<{ readonly over: Promise<unknown> }>,
): Promise<void> {
  await using tidy = new Tidy();
  const names = pathsFor(what, count);
  const others = tidy.add(await program.start(), (it) => it.close());
  const first = await tidy.provider(server.connectString, { sessionTimeoutMs: 10_000 });
  const third = await tidy.provider(server.connectString, { sessionTimeoutMs: 10_000 });
  const held = await Promise.all(names.map((path) => first.mutex(path).acquire({ waitMs: 10_000 })));
  await others.wait(server.connectString, sessionTimeoutMs, names);
  await queued(names, 2);
  // A waiter that is stopped before it knows its place in the queue could not lose that place.
  await eventually(async () => (await others.waiters()).every(({ queued: known }) => known), {
    what: "the others to know that they wait",
  });
  const granted = Promise.all(names.map((path) => wait(third, path)));
  granted.catch(() => {}); // the code that awaits it gets the error
  await queued(names, 3);
  const { over } = await stop(others, granted);
  over.catch(() => {}); // awaited below
  expect(await Promise.all(held.map((handle) => handle.release()))).toEqual(names.map(() => "released"));
  const grants = await granted;
  await over;
  await eventually(
    async () => (await others.waiters()).every(({ requeued, grantedNs }) => requeued > 0 || grantedNs > 0n),
    { what: "the waiters of the dead sessions to stand at the tail" },
  );
  await queued(names, 2);
  for (const report of await others.waiters()) expect(report).toMatchObject({ requeued: 1, grantedNs: 0n });
  const releasedNs = process.hrtime.bigint();
  await Promise.all(grants.map(({ handle }) => handle.release()));
  await eventually(async () => (await others.waiters()).every(({ grantedNs }) => grantedNs > 0n), {
    what: "the waiters to be served in the end",
  });
  for (const [index, { grantedNs, token }] of (await others.waiters()).entries()) {
    expect(ms(grantedNs - releasedNs)).toBeGreaterThan(0);
    expect(token).toBeGreaterThan(grants[index]?.handle.token as bigint);
  }
}

describe.concurrent("a waiter whose process does not run", () => {
  it(
    "is not granted by news that waited in the socket of its dead session, but requeued: stopped",
    async () => {
      const total = share("stopped waiter", 2, 20);
      for (let done = 0; done < total; done += batch) {
        await outwait("stopped-waiter", Math.min(batch, total - done), async (others, until) => {
          await others.stop();
          return { over: until.finally(() => others.resume()) };
        });
      }
    },
    patienceMs,
  );

  it(
    "is not granted by news that waited in the socket of its dead session, but requeued: blocked",
    async () => {
      const total = share("blocked waiter", 2, 20);
      for (let done = 0; done < total; done += batch) {
        await outwait("blocked-waiter", Math.min(batch, total - done), async (others) => {
          const blocked = others.blocked();
          const over = others.block(blockMs);
          await blocked;
          return { over };
        });
      }
    },
    patienceMs,
  );
});

describe.concurrent("a holder whose process does not run", () => {
  it(
    "throws from assertHeld() in the tick in which its blocked loop resumes, and has written nothing since the next grant",
    async () => {
      await rounds("blocked loop", 2, async (count) => {
        await using tidy = new Tidy();
        const { holders, granted, afterwards } = await stage("blocked", count, tidy);
        await pass(sessionTimeoutMs / 2 + random() * (sessionTimeoutMs / 4));
        const before = await holders.journals();
        const blocked = holders.block(blockMs);
        const grants = await granted;
        const { beganNs, resumedNs, outcomes } = await blocked;
        expect(outcomes).toEqual(Array.from({ length: count }, () => "LockLostError"));
        const marginsMs: number[] = [];
        for (const [index, journal] of (await holders.journals()).entries()) {
          const { atNs } = grants[index] as Grant;
          // Otherwise the loop was blocked for too short a time to show anything.
          expect(ms(resumedNs - atNs)).toBeGreaterThan(0);
          expect(journal.writes).toBeGreaterThan(0);
          expect(ms(beganNs - journal.lastWriteNs)).toBeGreaterThan(0);
          expect(journal.told.at(-1)).toBe("lost");
          // On a busy machine a hold may become uncertain and recover before its process stands still.
          expect(journal.told.slice(before[index]?.told.length)).not.toContain("recovered");
          marginsMs.push(ms(atNs - journal.lastWriteNs));
        }
        await afterwards();
        return marginsMs;
      });
    },
    patienceMs,
  );

  it(
    "throws from the first assertHeld() after it was stopped past its session, and its fenced write is refused",
    async () => {
      await rounds("stopped process", 2, async (count) => {
        await using tidy = new Tidy();
        const { holders, granted, afterwards } = await stage("stopped", count, tidy);
        await pass(sessionTimeoutMs / 2 + random() * (sessionTimeoutMs / 4));
        const before = await holders.journals();
        await holders.stop();
        const stoppedNs = process.hrtime.bigint();
        let grants: Grant[];
        let resumedNs: bigint;
        try {
          grants = await granted;
        } finally {
          resumedNs = process.hrtime.bigint();
          holders.resume();
        }
        await eventually(async () => (await holders.journals()).every(({ thrown }) => thrown !== ""), {
          what: "every holder to have tried a write again",
        });
        const marginsMs: number[] = [];
        for (const [index, journal] of (await holders.journals()).entries()) {
          const { atNs } = grants[index] as Grant;
          expect(journal.writes).toBeGreaterThan(0);
          expect(ms(stoppedNs - journal.lastWriteNs)).toBeGreaterThan(0);
          expect(journal.thrown).toBe("LockLostError");
          expect(ms(journal.firstThrowNs - resumedNs)).toBeGreaterThan(0);
          expect(journal.told.at(-1)).toBe("lost");
          // On a busy machine a hold may become uncertain and recover before its process stands still.
          expect(journal.told.slice(before[index]?.told.length)).not.toContain("recovered");
          marginsMs.push(ms(atNs - journal.lastWriteNs));
        }
        await afterwards();
        return marginsMs;
      });
    },
    patienceMs,
  );
});
