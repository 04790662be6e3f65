import type { LockHandle, LockProvider } from "@holdfast/core";
import { redLocks } from "@holdfast/multi-lock";
import {
  eventually,
  type RedisNode,
  type RedisProxy,
  startRedis,
  startRedisProxy,
} from "@holdfast/test-servers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { share } from "../support/share.js";
import { leaseMs, seasoned, urlsOf } from "./masters.js";

/**
 * How the third of five masters comes back. Before that, A has taken the votes of the first three, and the other two know
 * nothing of it.
 */
interface Relapse {
  readonly title: string;
  /** Runs before A's votes. */
  prepare(third: RedisNode): Promise<RedisNode | null>;
  /** Runs after A's votes. Resolves to the server that is the third master from now on. */
  comeBack(third: RedisNode, spare: RedisNode | null): Promise<RedisNode>;
}

const relapses: readonly Relapse[] = [
  {
    title: "empty, having no persistence",
    prepare: async () => null,
    async comeBack(third) {
      await third.restart();
      return third;
    },
  },
  {
    title: "with its last snapshot",
    async prepare(third) {
      await third.command("SAVE");
      return null;
    },
    async comeBack(third) {
      await third.restart();
      return third;
    },
  },
  {
    title: "as a replica that had missed the last writes",
    async prepare(third) {
      const replica = await startRedis();
      await replica.command("REPLICAOF", "127.0.0.1", third.port);
      await eventually(async () => (await replica.role()).link === "connected", {
        withinMs: 10_000,
        what: "the replica to follow",
      });
      const behind = await third.command("WAIT", 1, 5_000);
      expect(Number(behind)).toBe(1);
      // From here on the replica misses all writes.
      await replica.command("REPLICAOF", "NO", "ONE");
      return replica;
    },
    async comeBack(_third, replica) {
      return replica as RedisNode;
    },
  },
];

const drawn = share("ways in which a master comes back", 1, relapses.length);
const first = Math.floor(Math.random() * relapses.length);
const chosen = [...relapses, ...relapses].slice(first, first + drawn);
const runs = share("relapses of a master", 1, 5);
/** Both holds have to be seen within one lease, in which a server is started. A busy machine may need seconds for that. */
const unguardedLeaseMs = 20_000;

describe.each(chosen)("one of five masters comes back $title", ({ prepare, comeBack }) => {
  let masters: RedisNode[];
  const opened: { close(): Promise<unknown> }[] = [];
  const extra: RedisNode[] = [];
  beforeAll(async () => {
    masters = await Promise.all(Array.from({ length: 5 }, () => startRedis()));
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((each) => each.close()));
  });
  afterAll(() => Promise.all([...masters, ...extra].map((node) => node.stop())));

  async function client(nodes: readonly RedisNode[], restartGuard: boolean) {
    const links = await Promise.all(
      nodes.map(({ port }) => startRedisProxy({ target: { host: "127.0.0.1", port } })),
    );
    const locks = redLocks({
      nodes: urlsOf(links),
      leaseMs: restartGuard ? leaseMs : unguardedLeaseMs,
      nodeTimeoutMs: 400,
      restartGuard,
      releaseTimeoutMs: 100,
    });
    opened.push({ close: async () => Promise.all([locks.close(), ...links.map((link) => link.close())]) });
    return { locks, links };
  }

  /** A holds by the first three masters, and receives nothing from then on. The third master comes back, and B asks all. */
  async function relapse(name: string, restartGuard: boolean): Promise<{ a: LockHandle; b: LockProvider }> {
    const third = masters[2] as RedisNode;
    await seasoned(masters, leaseMs);
    const spare = await prepare(third);
    if (spare !== null) extra.push(spare);
    const { locks, links } = await client(masters, restartGuard);
    await locks.ready();
    for (const link of links.slice(3)) await link.setMode("reset");
    const a = await locks.mutex(name).acquire({ renew: false, waitMs: 5_000 });
    await Promise.all(links.map((link: RedisProxy) => link.setMode("hole")));
    const back = await comeBack(third, spare);
    const { locks: b } = await client(
      masters.map((node, index) => (index === 2 ? back : node)),
      restartGuard,
    );
    return { a, b };
  }

  it(`without the guard two clients hold at once, in ${runs} of ${runs} runs`, async () => {
    for (let run = 0; run < runs; run++) {
      const { a, b } = await relapse(`unguarded-${run}`, false);
      const second = await b.mutex(`unguarded-${run}`).acquire({ waitMs: unguardedLeaseMs / 2 });
      a.assertHeld();
      second.assertHeld();
      await second.release();
    }
  });

  it(`with the guard the second waits until the first's lease is over, in ${runs} of ${runs} runs`, async () => {
    for (let run = 0; run < runs; run++) {
      const { a, b } = await relapse(`guarded-${run}`, true);
      const second = await b.mutex(`guarded-${run}`).acquire({ waitMs: 10 * leaseMs });
      expect(() => a.assertHeld()).toThrow("lost");
      second.assertHeld();
      await second.release();
    }
  });
});
