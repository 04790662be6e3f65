import type { AcquireOptions } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import {
  eventually,
  type RedisNode,
  type RedisProxy,
  type RespMatch,
  startRedis,
  startRedisProxy,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { drawn } from "../../support/share.js";

/** Answers of a server that has not executed the request, and may serve it the next time. */
const refusals = [
  "NOREPLICAS Not enough good replicas to write.",
  "OOM command not allowed when used memory > 'maxmemory'.",
  "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
  "BUSY Redis is busy running a script.",
  "LOADING Redis is loading the dataset in memory",
  "CLUSTERDOWN The cluster is down",
  "MOVED 3999 127.0.0.1:6381",
  "TRYAGAIN Multiple keys request during rehashing of slot",
  "READONLY You can't write against a read only replica.",
] as const;
const timesInARow = [1, 3] as const;
/** All commands by which recipes ask a server. A client learns the server's role by other commands. */
const scripts = ["EVALSHA", "EVAL"];
const leaseMs = 6_000;
const waitMs = 15_000;

interface Held {
  confirm(): Promise<void>;
  release(): Promise<string>;
  readonly state: string;
}

interface Run {
  /** Its requests are refused. */
  readonly refused: RedisLocks;
  readonly other: RedisLocks;
  readonly name: string;
}

type Take = (locks: RedisLocks, name: string, options?: AcquireOptions) => Promise<Held>;

const kinds: Readonly<Record<string, Take>> = {
  "a mutex": (locks, name, options) => locks.mutex(name).acquire(options),
  "a fair mutex": (locks, name, options) => locks.fairMutex(name).acquire(options),
  "a spin mutex": (locks, name, options) => locks.spinMutex(name).acquire(options),
  "a read lock": (locks, name, options) => locks.readWriteLock(name).read.acquire(options),
  "a write lock": (locks, name, options) => locks.readWriteLock(name).write.acquire(options),
  "a leadership": (locks, name, options) => locks.leaderElection(name).campaign({ ...options, label: "l" }),
  "a permit": (locks, name, options) => locks.semaphore(name, 1).acquire(options),
  "a plain permit": (locks, name, options) => locks.plainSemaphore(name, 1).acquire(options),
};
/** The kinds of which one hold keeps another out. A read does not keep out another read. */
const excluded = Object.entries(kinds).filter(([kind]) => kind !== "a read lock");

/**
 * Releases `held` once it is not in doubt. A hold is in doubt while a connection to a server that calls itself a replica is
 * replaced.
 */
async function givesBack(held: Held): Promise<void> {
  let state = held.state;
  const known = (): boolean => {
    state = held.state;
    return state !== "uncertain";
  };
  await eventually(known, { what: "contact" });
  expect(state).toBe("held");
  expect(await held.release()).toBe("released");
}

const operations: Record<string, (run: Run) => Promise<void>> = {
  ...Object.fromEntries(
    Object.entries(kinds).map(([kind, take]) => [
      `${kind} that is free`,
      async ({ refused, other, name }: Run) => {
        const held = await take(refused, name, { waitMs });
        if (kind === "a leadership") {
          expect(await other.leaderElection(name).leader()).toMatchObject({ label: "l" });
        }
        await givesBack(held);
        await givesBack(await take(other, name, { waitMs }));
      },
    ]),
  ),
  ...Object.fromEntries(
    excluded.map(([kind, take]) => [
      `${kind} that is waited for`,
      async ({ refused, other, name }: Run) => {
        const first = await take(other, name, { waitMs });
        const waiting = take(refused, name, { waitMs });
        await waits(refused, name, waiting);
        await givesBack(first);
        await givesBack(await waiting);
        await givesBack(await take(other, name, { waitMs }));
      },
    ]),
  ),
  ...Object.fromEntries(
    excluded.map(([kind, take]) => [
      `${kind} that is given back to a waiter`,
      async ({ refused, other, name }: Run) => {
        const first = await take(refused, name, { waitMs });
        const waiting = take(other, name, { waitMs });
        await waits(other, name, waiting);
        await givesBack(first);
        await givesBack(await waiting);
      },
    ]),
  ),
  ...Object.fromEntries(
    excluded.map(([kind, take]) => [
      `${kind} that is not waited for any more`,
      async ({ refused, other, name }: Run) => {
        const first = await take(other, name, { waitMs });
        const enough = new AbortController();
        const waiting = take(refused, name, { waitMs, signal: enough.signal });
        await waits(refused, name, waiting);
        enough.abort();
        await expect(waiting).rejects.toThrow(/abort/);
        await givesBack(first);
        await givesBack(await take(refused, name, { waitMs }));
      },
    ]),
  ),
  "a downgrade": async ({ refused, other, name }) => {
    const write = await refused.readWriteLock(name).write.acquire({ waitMs });
    const read = await write.downgrade();
    await givesBack(await other.readWriteLock(name).read.acquire({ waitMs }));
    await givesBack(read);
    await givesBack(await other.readWriteLock(name).write.acquire({ waitMs }));
  },
  "a limit": async ({ refused, other, name }) => {
    expect(await refused.permitSemaphore(name).trySetLimit(1)).toBe(true);
    await refused.permitSemaphore(name).setLimit(2);
    expect(await other.permitSemaphore(name).limit()).toBe(2);
  },
  "a latch that is waited for": async ({ refused, other, name }) => {
    expect(await other.countDownLatch(name).trySetCount(1)).toBe(true);
    const waiting = refused.countDownLatch(name).wait({ waitMs });
    await waits(refused, name, waiting);
    expect(await other.countDownLatch(name).countDown()).toBe(0);
    await waiting;
  },
  // The client that counts down has no wait of its own. A refusal of a wait may replace the connection, and would leave open
  // whether a count behind it was done.
  "a latch that is counted down": async ({ refused, other, name }) => {
    expect(await refused.countDownLatch(name).trySetCount(2)).toBe(true);
    const waiting = other.countDownLatch(name).wait({ waitMs });
    expect(await refused.countDownLatch(name).countDown()).toBe(1);
    expect(await other.countDownLatch(name).countDown()).toBe(0);
    await waiting;
  },
  "a barrier": async ({ refused, other, name }) => {
    await refused.barrier(name).shut();
    const waiting = refused.barrier(name).wait({ waitMs });
    // Within this time the server has to answer that the barrier is shut.
    await expect(other.barrier(name).wait({ waitMs: 1_000 })).rejects.toMatchObject({
      name: "AcquireTimeoutError",
    });
    await refused.barrier(name).open();
    await waiting;
    await other.barrier(name).wait({ waitMs });
  },
  "a double barrier": async ({ refused, other, name }) => {
    const members = await Promise.all(
      [refused, other].map((locks) => locks.doubleBarrier(name, 2).enter({ waitMs })),
    );
    await Promise.all(members.map((member) => member.leave({ waitMs })));
  },
};

/** Waits until the client has sent a request, or until `granted` has settled. */
async function waits(locks: RedisLocks, name: string, granted: Promise<unknown>): Promise<void> {
  let settled = false;
  granted.then(
    () => (settled = true),
    () => (settled = true),
  );
  const asked = async (): Promise<boolean> => {
    const { requests } = stages.get(locks) as Stage;
    return settled || requests() > 0;
  };
  await eventually(asked, { what: `a request for ${name}` });
}

interface Stage {
  readonly link: RedisProxy;
  requests(): number;
}
const stages = new Map<RedisLocks, Stage>();

let server: RedisNode;
let refused: RedisLocks;
let other: RedisLocks;
let link: RedisProxy;
let names = 0;

async function client(): Promise<{ locks: RedisLocks; link: RedisProxy }> {
  const link = await startRedisProxy({ target: server.address });
  const locks = redisLocks({ url: `redis://${link.connectString}`, leaseMs, heartbeatMs: 100, aliveMs: 800 });
  stages.set(locks, {
    link,
    requests: () => scripts.reduce((sum, each) => sum + (link.counts().byName[each] ?? 0), 0),
  });
  await locks.ready();
  return { locks, link };
}

beforeAll(async () => {
  server = await startRedis();
  ({ locks: refused, link } = await client());
  ({ locks: other } = await client());
});
afterAll(async () => {
  for (const [locks, stage] of stages) {
    await locks.close();
    await stage.link.close();
  }
  await server?.stop();
});

async function runOnce(operation: (run: Run) => Promise<void>): Promise<void> {
  const name = `refused-${++names}`;
  for (const stage of stages.values()) stage.link.reset();
  await operation({ refused, other, name });
  const held = [refused, other].flatMap((locks) => locks.holds()).filter((each) => each.name === name);
  expect(held).toEqual([]);
}

/**
 * The keys that locks have left behind. Tokens and markers of plain permits stay for a while, and numbers of permits for good;
 * they do not count.
 */
async function leftBehind(): Promise<string[]> {
  const keys = ((await server.command("KEYS", "*")) as string[]).filter(
    (key) => !/^redisson_lock_token:|:holdfast_take:|^holdfast_(identity|labels)/.test(key),
  );
  const types = await Promise.all(keys.map(async (key) => [key, await server.command("TYPE", key)]));
  return types.flatMap(([key, type]) => (type === "string" ? [] : [`${key}: ${type}`]));
}

it.each(Object.keys(operations))(
  "%s is served as if nothing had been by a server that refuses a request for the moment",
  async (title) => {
    const operation = operations[title] as (run: Run) => Promise<void>;
    // The first run makes the scripts known. The requests of the second one are counted.
    await runOnce(operation);
    await runOnce(operation);
    const { requests } = stages.get(refused) as Stage;
    const count = Math.min(requests(), 12);
    let hits = 0;
    const points = Array.from({ length: count }, (_, i) => i + 1).flatMap((nth) =>
      refusals.flatMap((answer) => timesInARow.map((times) => ({ nth, answer, times }))),
    );
    const what = ({ nth, answer, times }: (typeof points)[number]): string =>
      `request ${nth} answered ${answer} ${times} times`;
    // Every run sends the first request. A run in which an acquire succeeds at once may not send the last ones.
    const [first, ...later] = points;
    if (first === undefined) throw new Error("the operation asks nothing of the server");
    for (const point of [first, ...drawn(`refusals of ${title}, beside the first`, later, 3, what)]) {
      const match: RespMatch & { answer: string } = { name: scripts, ...point };
      const rule = link.refuseCommand(match);
      try {
        await runOnce(operation);
      } catch (error) {
        throw new Error(`${what(point)}: ${String(error)}`, { cause: error });
      } finally {
        rule.release();
      }
      hits += rule.hits.length;
    }
    expect(hits).toBeGreaterThan(0);
  },
);

it.each(refusals)(
  "no hold is lost by renewals that the server answers three times with %s",
  async (answer) => {
    const held = await Promise.all(
      Object.entries(kinds).map(async ([kind, take]) => {
        const name = `renewed-${kind}-${++names}`;
        return { name, handle: await take(refused, name, { waitMs, leaseMs: 3_000 }) };
      }),
    );
    const renewed = new Set<string>();
    using _renewals = refused.events.on("renewed", ({ name }) => void renewed.add(name));
    // Four scripts renew these kinds, and each is refused three times.
    const rule = link.refuseCommand({ name: scripts, answer, times: 3 * 4 });
    await eventually(() => held.every(({ name, handle }) => renewed.has(name) || handle.state === "lost"), {
      what: "a renewal of each",
    });
    rule.release();
    expect(rule.hits.length).toBeGreaterThan(3);
    expect(held.filter(({ handle }) => handle.state === "lost")).toEqual([]);
    for (const { handle } of held) expect(await handle.release()).toBe("released");
  },
);

it.each([
  "LOADING Redis is loading the dataset in memory",
  "READONLY You can't write against a read only replica.",
])("a subscription that is answered %s is made again, so that a holder hears of a wish", async (answer) => {
  const proxied = await client();
  const name = `refused-${++names}`;
  const rule = proxied.link.refuseCommand({ name: "SUBSCRIBE", answer });
  const held = await proxied.locks.mutex(name).acquire({ revocable: true });
  expect(rule.hits).toHaveLength(1);
  const wished = held.revokeRequested;
  await eventually(() => (proxied.link.counts().byName.SUBSCRIBE ?? 0) > 1, {
    what: "a second subscription",
  });
  await eventually(
    async () => {
      await other.mutex(name).requestRevoke();
      return wished.aborted;
    },
    { what: "the wish to be heard" },
  );
  await held.release();
});

it("nothing is left behind by all of that but tokens, markers of permits and numbers of permits", async () => {
  await expect.poll(leftBehind).toEqual([]);
});
