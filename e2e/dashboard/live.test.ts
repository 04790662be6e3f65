import { once } from "node:events";
import type { LockLostError, LockProvider } from "@holdfast/core";
import { saysNoNode } from "@holdfast/zk-recipes/internal";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type CuratorClient,
  curatorVersions,
  type JavaPeer,
  startJavaPeer,
} from "../support/curator/java-peer.js";
import { operatorSession } from "../support/providers.js";
import type { RedissonClient } from "../support/redisson/redisson-client.js";
import { type RedissonPeer, startRedissonPeer } from "../support/redisson/redisson-peer.js";
import { redissonVersions } from "../support/redisson/redisson-versions.js";
import { drawn } from "../support/share.js";
import type { Tab } from "./support/browser.js";
import { type LiveWorld, startLiveWorld } from "./support/live-world.js";
import { LockView, type Standing } from "./support/lock-view.js";

const curator = (await curatorVersions()).at(-1);
const [redisson] = (await redissonVersions()).filter(({ missing }) => missing === null);
/** A visible row must follow within 1 s. On a loaded machine single rows may be late; if all are late, the page is slow. */
const latestMs = 1_000;
const handOffs = 5;
/** While none was in time, further ones are looked at, up to this number. A page that is slow shows none of them in time. */
const mostHandOffs = 25;

let world: LiveWorld;
let tab: Tab;
let view: LockView;

beforeAll(async () => {
  world = await startLiveWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  tab = await world.browser.tab();
  view = new LockView(tab.page);
});
afterEach(() => tab?.[Symbol.asyncDispose]());

describe("the page of a lock on ZooKeeper that Curator and we contend for", () => {
  let peer: JavaPeer;
  let java: [CuratorClient, CuratorClient];
  beforeAll(async () => {
    if (curator === undefined) throw new Error("this machine has no Curator");
    peer = await startJavaPeer({ curator });
    const connect = world.zookeeper.connectString;
    java = [await peer.connect({ connect }), await peer.connect({ connect })];
  });
  afterAll(() => peer?.close());

  it("shows the holder and the queue as the server has them, after each hand-off", async () => {
    const key = "/live/orders/export";
    const session = await operatorSession(world.zookeeper.connectString);
    const truth = async (): Promise<Standing> => {
      const listing = session.request("getChildren", { path: key, watch: false });
      // The server deletes the parent of a lock some time after its last child.
      const { children } = await listing.catch((error) =>
        saysNoNode(error) ? { children: [] } : Promise.reject(error),
      );
      const [holder, ...queue] = children.sort((one, other) => sequence(one) - sequence(other));
      return { holders: holder === undefined ? [] : [holder], queue };
    };
    const standing = async (contenders: number): Promise<Standing> => {
      const shown = await view.shows(truth);
      expect([...shown.holders, ...shown.queue]).toHaveLength(contenders);
      return shown;
    };
    const [first, third] = [await java[0].mutex(key), await java[1].mutex(key)];
    const ours = [await world.zookeeperClient(), await world.zookeeperClient()] as const;
    const held = await first.acquire();
    const second = ours[0].mutex(key).acquire();
    await world.dashboard.row(key, ({ waiterCount }) => waiterCount === 1);
    const thirds = third.acquire({ waitMs: 60_000 });
    await world.dashboard.row(key, ({ waiterCount }) => waiterCount === 2);
    const fourth = ours[1].mutex(key).acquire();
    await world.dashboard.row(key, ({ waiterCount }) => waiterCount === 3);
    await view.open(await world.dashboard.urlOf(key));

    const all = await standing(4);
    expect(held?.path.endsWith(all.holders[0] ?? "none")).toBe(true);
    const { id } = await java[0].session();
    expect(await view.fact("Session").textContent()).toBe(`0x${id.toString(16)}`);
    await first.release();
    expect((await standing(3)).holders).toEqual(all.queue.slice(0, 1));
    await (await second).release();
    expect((await standing(2)).holders).toEqual(all.queue.slice(1, 2));
    await thirds;
    await third.release();
    expect((await standing(1)).holders).toEqual(all.queue.slice(2));
    await (await fourth).release();
    await standing(0);
    expect(tab.trouble()).toEqual([]);
  });

  it("asks a revocable holder of Curator's to leave, who hears it", async () => {
    const key = "/live/orders/revocable";
    const lock = await java[0].mutex(key);
    const { revoked } = await lock.makeRevocable();
    await lock.acquire();
    await view.open(await world.dashboard.urlOf(key));
    await view.ask("Ask to release");
    await view.fill({ reason: "maintenance at noon" });
    await view.dialog.getByRole("button", { name: "Send the request" }).click();
    await view.dialog.getByText("Done.").waitFor();
    await revoked;
    expect(await lock.holding()).toBe(true);
    await lock.release();
  });
});

describe("the page of a lock on Redis that Redisson and we contend for", () => {
  let peer: RedissonPeer;
  let java: [RedissonClient, RedissonClient];
  beforeAll(async () => {
    if (redisson === undefined) throw new Error("this machine has no Redisson");
    peer = await startRedissonPeer({ redisson: redisson.version });
    const servers = { mode: "single", address: world.redis.url } as const;
    java = [
      await peer.connect({ servers, lockWatchdogTimeoutMs: 10_000 }),
      await peer.connect({ servers, lockWatchdogTimeoutMs: 10_000 }),
    ];
  });
  afterAll(() => peer?.close());

  const list = async (...command: [string, ...string[]]): Promise<string[]> => {
    const answer = await world.redis.command(...command);
    return Array.isArray(answer) ? answer.map(String) : [];
  };

  it("shows the holder and the fair queue as the server has them, after each hand-off", async () => {
    const key = "live:orders:fair";
    const truth = async (): Promise<Standing> => ({
      holders: await list("HKEYS", key),
      queue: await list("LRANGE", `redisson_lock_queue:{${key}}`, "0", "-1"),
    });
    const [first, third] = [await java[0].lock(key, "fair"), await java[1].lock(key, "fair")];
    const ours = [await world.redisClient(), await world.redisClient()] as const;
    const queued = async (count: number): Promise<void> => {
      await world.dashboard.row(key, ({ waiterCount }) => waiterCount === count);
    };
    await first.lock();
    const second = ours[0].fairMutex(key).acquire();
    await queued(1);
    const thirds = third.tryLock({ waitMs: 60_000 });
    await queued(2);
    const fourth = ours[1].fairMutex(key).acquire();
    await queued(3);
    await view.open(await world.dashboard.urlOf(key));

    const all = await view.shows(truth);
    expect([all.holders, all.queue.length]).toEqual([[await first.owner()], 3]);
    await first.unlock();
    await second;
    expect((await view.shows(truth)).holders).toEqual(all.queue.slice(0, 1));
    await (await second).release();
    expect(await thirds).toBe(true);
    expect((await view.shows(truth)).holders).toEqual(all.queue.slice(1, 2));
    await third.unlock();
    await fourth;
    expect((await view.shows(truth)).holders).toEqual(all.queue.slice(2));
    await (await fourth).release();
    // Redis has no key for a lock without holder and waiters.
    await view.page.getByText("The lock is gone: no holder, no waiters.").waitFor();
    expect(tab.trouble()).toEqual([]);
  });

  it("shows who waits for a plain lock of Redisson's as connections, for more is not in the backend", async () => {
    const key = "live:orders:plain";
    const [first, second] = [await java[0].lock(key), await java[1].lock(key)];
    await first.lock();
    const waiting = second.tryLock({ waitMs: 60_000 });
    await view.open(await world.dashboard.urlOf(key));
    await view.page.getByRole("heading", { name: "Queue (at least 1)" }).waitFor();
    const truth = async (): Promise<Standing> => ({ holders: await list("HKEYS", key), queue: [] });
    expect((await view.shows(truth)).holders).toEqual([await first.owner()]);
    await first.unlock();
    expect(await waiting).toBe(true);
    expect((await view.shows(truth)).holders).toEqual([await second.owner()]);
    await second.unlock();
    expect(tab.trouble()).toEqual([]);
  });
});

interface Side {
  readonly key: (name: string) => string;
  client(): Promise<LockProvider>;
  /** The text by which the page shows a token of our client. */
  token(token: bigint | null): string;
}

const sides: Readonly<Record<string, Side>> = {
  ZooKeeper: {
    key: (name) => `/live/acts/${name}`,
    client: () => world.zookeeperClient(),
    token: (token) => `0x${token?.toString(16)}`,
  },
  Redis: {
    key: (name) => `live:acts:${name}`,
    client: () => world.redisClient(),
    token: (token) => `${token}`,
  },
};

describe.each(drawn("backends before the page", Object.entries(sides), 1, ([title]) => title))(
  "the page before a lock of ours on %s",
  (_title, side) => {
    let one: ReturnType<LockProvider["mutex"]>;
    let two: ReturnType<LockProvider["mutex"]>;
    let clients: [LockProvider, LockProvider];
    beforeAll(async () => {
      clients = [await side.client(), await side.client()];
    });
    function mutexes(name: string): string {
      const key = side.key(name);
      [one, two] = [clients[0].mutex(key), clients[1].mutex(key)];
      return key;
    }

    it("shows a hand-off of a visible row within a second", async () => {
      const key = mutexes("hand-off");
      let held = await one.acquire();
      await tab.page.goto(`${world.dashboard.url}locks?q=${encodeURIComponent(key)}`);
      const token = tab.page.locator("tr", { has: tab.page.locator(`a[data-row][title="${key}"]`) });
      const shown = (of: bigint | null) => token.locator(`td span.key[title="${side.token(of)}"]`).waitFor();
      await shown(held.token);
      const tookMs: number[] = [];
      const inTime = () => Math.min(...tookMs) < latestMs;
      for (let round = 0; round < handOffs || (!inTime() && round < mostHandOffs); round++) {
        const next = (round % 2 === 0 ? two : one).acquire();
        await world.dashboard.row(key, ({ waiterCount }) => waiterCount === 1);
        await held.release();
        held = await next;
        const grantedMs = performance.now();
        await shown(held.token);
        tookMs.push(performance.now() - grantedMs);
      }
      await held.release();
      console.log(`hand-offs of a visible row: ${tookMs.map((each) => Math.round(each)).join(", ")} ms`);
      expect(Math.min(...tookMs)).toBeLessThan(latestMs);
      expect(Math.max(...tookMs)).toBeLessThan(10 * latestMs);
      expect(tab.trouble()).toEqual([]);
    });

    it("forces a release once its name is typed and a reason given, and our holder hears that it was stolen", async () => {
      const key = mutexes("forced");
      const held = await one.acquire();
      const lost = once(held.lost, "abort");
      await view.open(await world.dashboard.urlOf(key));
      await view.ask("Force release");
      const button = view.dialog.getByRole("button", { name: "Release by force" });
      await view.dialog.locator(".effects li").first().waitFor();
      await view.fill({ typed: key.slice(0, -1), reason: "stuck since noon" });
      await view.dialog.getByText("The confirmation is not typed yet, or differs.").waitFor();
      expect(await button.isDisabled()).toBe(true);
      await view.fill({ typed: key, reason: "stuck since noon" });
      await button.click();
      await view.dialog.getByText("Done.").waitFor();
      await lost;
      expect((held.lost.reason as LockLostError).reason).toBe("stolen");
      await view.dialog.getByRole("link", { name: /Audit row/ }).click();
      await view.page.getByText("stuck since noon").first().waitFor();
      expect(tab.trouble()).toEqual([]);
    });

    it("does nothing and shows the old and the new holder when the lock was handed over meanwhile", async () => {
      const key = mutexes("conflict");
      const held = await one.acquire();
      const next = two.acquire();
      await world.dashboard.row(key, ({ waiterCount }) => waiterCount === 1);
      await view.open(await world.dashboard.urlOf(key));
      const before = side.token(held.token);
      await view.fact("Token").filter({ hasText: before }).waitFor();
      // The lock changes hands after the click and before the request arrives. The page cannot know that.
      await tab.page.route("**/actions", async (route) => {
        await held.release();
        await next;
        await route.continue();
      });
      await view.ask("Force release");
      await view.fill({ typed: key, reason: "stuck since noon" });
      const answered = tab.page.waitForResponse((response) => response.url().endsWith("/actions"));
      await view.dialog.getByRole("button", { name: "Release by force" }).click();
      expect((await answered).status()).toBe(409);
      await tab.page.unroute("**/actions");
      await view.dialog.getByText("Nothing was done: the lock is not what it was when you looked.").waitFor();
      const holders = await view.dialog.locator(".result .compare").allTextContents();
      expect(holders).toHaveLength(2);
      expect(holders[0]).toMatch(/^When you looked/);
      expect(holders[0]).toContain(before);
      expect(holders[1]).toMatch(/^Now/);
      const now = await next;
      expect(holders[1]).toContain(side.token(now.token));
      expect(now.state).toBe("held");
      // The browser's log has the refusal itself, and no other error.
      expect(tab.trouble(/^409 .*actions$/)).toEqual([]);
      await now.release();
    });

    it("asks a holder of ours to leave, who hears it and still holds", async () => {
      const key = mutexes("asked");
      const held = await one.acquire({ revocable: true });
      const asked = once(held.revokeRequested, "abort");
      await view.open(await world.dashboard.urlOf(key));
      await view.ask("Ask to release");
      await view.fill({ reason: "maintenance at noon" });
      await view.dialog.getByRole("button", { name: "Send the request" }).click();
      await view.dialog.getByText("Done.").waitFor();
      await asked;
      expect(held.state).toBe("held");
      expect(await held.release()).toBe("released");
      expect(tab.trouble()).toEqual([]);
    });
  },
);

function sequence(name: string): number {
  return Number(name.slice(-10));
}
