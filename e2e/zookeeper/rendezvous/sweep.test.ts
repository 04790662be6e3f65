import { BackendError, type BarrierMembership, LockLostError } from "@holdfast/core";
import {
  type EmbeddedZooKeeper,
  eventually,
  type FaultAction,
  type FaultMatch,
  startEmbeddedZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { operatorSession } from "../../support/providers.js";
import { share } from "../../support/share.js";
import { Operator } from "../features/operator.js";
import { sessionTimeoutMs } from "./servers.js";

const waitMs = 15_000;
/** All operations that these recipes send, without those that keep the session alive. */
const ops = ["create2", "createContainer", "getData", "getChildren2", "exists", "setData", "delete", "multi"];

/** A full run does all of them; any other run does some, from a random one on. */
const actions: readonly FaultAction[] = [
  { do: "close", when: "applied" },
  { do: "expire", when: "applied" },
  { do: "close", when: "before" },
  { do: "expire", when: "before" },
  { do: "close", when: "applied", reset: true },
  { do: "expire", when: "applied", silent: true },
  { do: "answer", err: "OperationTimeout" },
  { do: "answer", err: "ThrottledOp" },
];

/** The clients of a run: one whose link fails, one without faults, and an operator that reads the tree. */
interface Run {
  readonly path: string;
  readonly faulty: ZooKeeperLocks;
  readonly other: ZooKeeperLocks;
  /** Reads a missing path as empty, because the server removes an empty container at its next check, every 60 s. */
  readonly operator: Operator;
  /** A session of the faulty client may have ended. */
  readonly expires: boolean;
}

/** Counts an update as confirmed, or as unknown where the error says that it may or may not have been applied. */
async function tally(work: Promise<unknown>, books: { confirmed: number; unknown: number }): Promise<void> {
  try {
    await work;
    books.confirmed++;
  } catch (error) {
    expect(error).toBeInstanceOf(BackendError);
    expect((error as BackendError).message).toMatch(/may or may not/);
    books.unknown++;
  }
}

const operations: Record<string, (run: Run) => Promise<void>> = {
  "a double barrier": async ({ path, faulty, other, operator, expires }) => {
    let called = false;
    const early: string[] = [];
    const entering = faulty.doubleBarrier(path, 2).enter({ waitMs });
    void entering.then(
      () => called || early.push("passed alone"),
      () => {},
    );
    await eventually(async () => (await operator.children(path)).length > 0, { what: "the member" });
    called = true;
    const second = await other.doubleBarrier(path, 2).enter({ waitMs });
    const first = await entering;
    expect(early).toEqual([]);
    const leave = async (membership: BarrierMembership): Promise<void> => {
      try {
        await membership.leave({ waitMs });
      } catch (error) {
        if (!expires || !(error instanceof LockLostError)) throw error;
      }
    };
    await Promise.all([leave(first), second.leave({ waitMs })]);
    await eventually(
      async () => (await operator.children(path)).filter((name) => name !== "ready").length === 0,
      { what: "no member to be left" },
    );
    // Whatever this round left behind: a single member does not pass the next round, and its node goes when it gives up.
    const alone = faulty.doubleBarrier(path, 2).enter({ waitMs: 60 });
    await expect(alone).rejects.toMatchObject({
      code: expect.stringMatching(/^HF_(ACQUIRE_TIMEOUT|BACKEND)$/),
    });
    await eventually(
      async () => (await operator.children(path)).filter((name) => name !== "ready").length === 0,
      { what: "the one who gave up to be gone" },
    );
  },

  "a countdown latch": async ({ path, faulty, other }) => {
    const books = { confirmed: 0, unknown: 0 };
    const latch = faulty.countDownLatch(path);
    const setting = { confirmed: 0, unknown: 0 };
    await tally(latch.trySetCount(4), setting);
    await other.countDownLatch(path).trySetCount(4);
    const waiting = latch.wait({ waitMs });
    await tally(latch.countDown(), books);
    await tally(latch.countDown(), books);
    const left = await other.countDownLatch(path).count();
    expect(left).toBeLessThanOrEqual(4 - books.confirmed);
    expect(left).toBeGreaterThanOrEqual(4 - books.confirmed - books.unknown);
    await other.countDownLatch(path).countDown(4);
    await waiting;
  },

  "a barrier": async ({ path, faulty, other }) => {
    let open = false;
    const shutting = { confirmed: 0, unknown: 0 };
    await tally(faulty.barrier(path).shut(), shutting);
    if (shutting.unknown > 0) await other.barrier(path).shut();
    const waiting = faulty
      .barrier(path)
      .wait({ waitMs })
      .then(() => expect(open).toBe(true));
    await expect(other.barrier(path).wait({ waitMs: 50 })).rejects.toThrow();
    open = true;
    await other.barrier(path).open();
    await waiting;
    await other.barrier(path).shut();
    const opening = { confirmed: 0, unknown: 0 };
    await tally(faulty.barrier(path).open(), opening);
    if (opening.unknown > 0) await other.barrier(path).open();
    await other.barrier(path).wait({ waitMs: 0 });
  },

  "an atomic long": async ({ path, faulty, other }) => {
    const books = { confirmed: 0, unknown: 0 };
    const long = faulty.atomicLong(path);
    for (let i = 0; i < 3; i++) {
      await tally(long.add(1n), books);
      await other.atomicLong(path).add(100n);
    }
    const value = Number(await other.atomicLong(path).get()) - 300;
    expect(value).toBeGreaterThanOrEqual(books.confirmed);
    expect(value).toBeLessThanOrEqual(books.confirmed + books.unknown);
  },

  "a shared count": async ({ path, faulty, other }) => {
    const count = faulty.sharedCount(path, 1);
    const observed = count.observe()[Symbol.asyncIterator]();
    expect((await observed.next()).value?.value).toBe(1);
    const books = { confirmed: 0, unknown: 0 };
    await tally(count.set(2), books);
    const seen = await count.get();
    await tally(
      count.trySet(seen, 3).then((set) => expect(set).toBe(true)),
      books,
    );
    await other.sharedCount(path, 9).set(7);
    expect((await count.get()).value).toBe(7);
    for (let value = 0; value !== 7; ) value = (await observed.next()).value?.value ?? 0;
    await observed.return?.();
  },

  "a group": async ({ path, faulty, other, operator }) => {
    const group = other.groupMembership(path);
    const member = await faulty.groupMembership(path).join("m", Buffer.from("me"));
    await eventually(async () => (await group.members()).length === 1, { what: "the member" });
    expect((await faulty.groupMembership(path).members()).length).toBeLessThanOrEqual(1);
    await member[Symbol.asyncDispose]();
    await eventually(async () => (await operator.children(path)).length === 0, { what: "it to be gone" });
    await faulty.atomicLong(`${path}/0`).get();
    expect(await operator.children(path)).toEqual([]);
  },
};

describe("a fault at each request", () => {
  let server: EmbeddedZooKeeper;
  let operator: Operator;
  let other: ZooKeeperLocks;
  let paths = 0;
  beforeAll(async () => {
    server = await startEmbeddedZooKeeper();
  });
  afterAll(() => server?.stop());
  beforeEach(async () => {
    operator = new Operator(await operatorSession(server.connectString));
    other = zookeeperLocks({ connect: server.connectString, sessionTimeoutMs });
    await other.ready();
    return () => other.close({ releaseTimeoutMs: 500 });
  });

  async function once(
    operation: (run: Run) => Promise<void>,
    nth: number,
    action: FaultAction,
  ): Promise<{ hit: boolean; error: unknown }> {
    const link: ZooKeeperProxy = await startZooKeeperProxy({ target: server.connectString });
    const faulty = zookeeperLocks({ connect: link.connectString, sessionTimeoutMs });
    try {
      await faulty.ready();
      const fault = link.faults.on({ op: ops as NonNullable<FaultMatch["op"]>, nth }, action);
      const path = `/sweep/n${paths++}`;
      let error: unknown = null;
      try {
        await operation({ path, faulty, other, operator, expires: action.do === "expire" });
      } catch (thrown) {
        error = thrown;
      }
      return { hit: fault.hits.length > 0, error };
    } finally {
      await faulty.close({ releaseTimeoutMs: 500 });
      await link.close();
    }
  }

  for (const [name, operation] of Object.entries(operations)) {
    it(`of ${name} leaves its promises standing`, { timeout: 300_000 }, async () => {
      const kinds = share(`kinds of faults at each request of ${name}`, 1, actions.length);
      const every = 4 / share(`in four of the requests of ${name}`, 1, 4);
      const first = Math.floor(Math.random() * actions.length);
      let points = 0;
      const broken: string[] = [];
      for (const action of [...actions, ...actions].slice(first, first + kinds)) {
        for (let nth = 1 + Math.floor(Math.random() * every); ; nth += every) {
          const { hit, error } = await once(operation, nth, action);
          if (error !== null) {
            const told = error instanceof Error ? error.message : String(error);
            broken.push(`${JSON.stringify(action)} at request ${nth}: ${told.split("\n")[0]}`);
          }
          if (!hit) break;
          points++;
          if (nth > 60) throw new Error("there is no end of requests");
        }
      }
      console.log(`${name}: ${points} points`);
      expect(broken).toEqual([]);
      expect(points).toBeGreaterThanOrEqual(kinds * Math.floor(4 / every));
    });
  }
});
