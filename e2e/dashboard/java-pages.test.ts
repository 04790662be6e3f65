import { eventually } from "@holdfast/test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { operatorSession } from "../support/providers.js";
import type { Tab } from "./support/browser.js";
import { type JavaScene, playJavaScene } from "./support/java-scene.js";
import { type LiveWorld, startLiveWorld } from "./support/live-world.js";
import { SessionsView } from "./support/sessions-view.js";

let world: LiveWorld;
let scene: JavaScene;
let tab: Tab;

beforeAll(async () => {
  world = await startLiveWorld();
  scene = await playJavaScene(world);
});
afterAll(async () => {
  await scene?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  tab = await world.browser.tab();
});
afterEach(() => tab?.[Symbol.asyncDispose]());

interface Truth {
  readonly key: string;
  /** A session of ZooKeeper, or an owner of Redisson. */
  readonly holder: string;
  /** In queue order. Empty for a plain lock of Redisson, whose waiters are not known. */
  readonly waiters: readonly string[];
  /** The number of waiters, as the page shows it. */
  readonly count: string;
}

/** Reads holders and waiters from the servers, without any code of the dashboard. */
async function truth(): Promise<Truth[]> {
  const session = await operatorSession(world.zookeeper.connectString);
  const owner = async (path: string): Promise<string> => {
    const { stat } = await session.request("getData", { path, watch: false });
    return `0x${stat.ephemeralOwner.toString(16)}`;
  };
  const onZooKeeper = scene.paths.map(async (key): Promise<Truth> => {
    const { children } = await session.request("getChildren", { path: key, watch: false });
    const names = children.sort((one, other) => Number(one.slice(-10)) - Number(other.slice(-10)));
    const [holder = "", ...waiters] = await Promise.all(names.map((name) => owner(`${key}/${name}`)));
    return { key, holder, waiters, count: `${waiters.length}` };
  });
  const list = async (...command: [string, ...string[]]): Promise<string[]> =>
    ((await world.redis.command(...command)) as unknown[]).map(String);
  const onRedis = [...scene.keys, scene.plain].map(async (key): Promise<Truth> => {
    const [holder = ""] = await list("HKEYS", key);
    const waiters = await list("LRANGE", `redisson_lock_queue:{${key}}`, "0", "-1");
    const [, connections] = await list("PUBSUB", "NUMSUB", `redisson_lock__channel:{${key}}`);
    return {
      key,
      holder,
      waiters,
      count: key === scene.plain ? `at least ${connections}` : `${waiters.length}`,
    };
  });
  return await Promise.all([...onZooKeeper, ...onRedis]);
}

/** The holders at the start of the scene. */
async function asPlayed(): Promise<string[]> {
  const sessions = await Promise.all(scene.curator.map((each) => each.session()));
  return [...sessions.map(({ id }) => `0x${id.toString(16)}`), ...scene.redisson.map(({ id }) => id)];
}

const at = (path: string): string => `${world.dashboard.url}${path}`;
const uuidOf = (owner: string): string => owner.replace(/:\d+$/, "");

/** The rows of a table of locks. `holder` is the tooltip's text. */
async function lockRows(table: string): Promise<{ key: string; holder: string; count: string }[]> {
  const rows = tab.page.getByRole("table", { name: table }).locator("tbody tr");
  await rows.nth(4).waitFor();
  return await rows.evaluateAll((all) =>
    all.map((row) => ({
      key: row.querySelector("a[data-row]")?.getAttribute("title") ?? "",
      holder: row.querySelector("td.holder .who")?.getAttribute("title") ?? "",
      count: row.querySelector("td.number")?.textContent ?? "",
    })),
  );
}

/** True if the page shows this holder. A page abbreviates UUIDs. */
function namesHolder(shown: string, holder: string): boolean {
  return shown.includes(holder) || shown.includes(holder.replace(/^([0-9a-f]{8})-[0-9a-f-]+/, "$1…"));
}

function matches(shown: readonly { key: string; holder: string; count: string }[], real: readonly Truth[]) {
  expect(shown.map(({ key }) => key).sort()).toEqual(real.map(({ key }) => key).sort());
  for (const { key, holder, count } of real) {
    const row = shown.find((each) => each.key === key);
    expect(row?.count, key).toBe(count);
    expect(namesHolder(row?.holder ?? "", holder), `${row?.holder} names ${holder}`).toBe(true);
  }
}

describe("while Curator and Redisson alone contend", () => {
  it("the overview counts what the servers have, and names who holds the hot locks", async () => {
    await tab.page.goto(at(""));
    const real = await truth();
    matches(await lockRows("Hot locks"), real);
    const tiles = await tab.page
      .locator(".tile")
      .evaluateAll((all) =>
        all.map((tile) => [
          tile.querySelector(".tile-label")?.textContent ?? "",
          tile.querySelector(".tile-value")?.textContent ?? "",
        ]),
      );
    expect(Object.fromEntries(tiles)).toMatchObject({
      Held: `${real.length}`,
      Contended: `${real.length}`,
      Waiters: `${real.reduce((sum, { count }) => sum + Number.parseInt(count.replace("at least ", ""), 10), 0)}`,
    });
    expect(tab.trouble()).toEqual([]);
  });

  it("the list of locks has each of them with holder and waiters", async () => {
    await tab.page.goto(at("locks?q=java"));
    matches(await lockRows("Locks"), await truth());
    expect(tab.trouble()).toEqual([]);
  });

  it("the page of waits has each circle, and who waits for whom beside it", async () => {
    const circles = tab.page.locator(".cycle");
    await tab.page.goto(at("waits"));
    // A circle counts only when it was seen twice, some seconds apart.
    await circles.nth(1).waitFor();
    const shown = await circles.evaluateAll((all) =>
      all.map((circle) => ({
        actors: [...circle.querySelectorAll(".who")].map((who) => who.getAttribute("title") ?? ""),
        keys: [...circle.querySelectorAll("li a")].map((link) => link.textContent ?? ""),
      })),
    );
    const real = (await truth()).filter(({ key }) => key !== scene.plain);
    for (const pair of [scene.paths, scene.keys]) {
      const circle = shown.find(({ keys }) => keys.some((key) => pair.includes(key)));
      expect([...(circle?.keys ?? [])].sort()).toEqual([...pair]);
      // The waiter of each line waits for a lock that the actor of the next line holds.
      for (const [line, key] of (circle?.keys ?? []).entries()) {
        const { holder = "", waiters = [] } = real.find((each) => each.key === key) ?? {};
        expect(circle?.actors[line]).toContain(waiters[0]);
        expect(circle?.actors[(line + 1) % 2]).toContain(holder);
      }
    }
    expect(tab.trouble()).toEqual([]);
  });

  it("the findings name both circles", async () => {
    await tab.page.goto(at("findings"));
    const cards = tab.page.locator("li.card, tbody tr").filter({ hasText: "Deadlock suspected" });
    const found = await eventually(
      async () => {
        const texts = await cards.allTextContents();
        return texts.length === 2 ? texts : undefined;
      },
      { what: "two deadlocks among the findings" },
    );
    for (const pair of [scene.paths, scene.keys])
      expect(found.some((text) => pair.some((key) => text.includes(key)))).toBe(true);
    expect(tab.trouble()).toEqual([]);
  });

  it("the sessions hold and wait as the servers have it, and each has a page", async () => {
    const real = await truth();
    const view = new SessionsView(tab.page);
    for (const [cluster, ids] of [
      ["zoo", (await asPlayed()).slice(0, 2)],
      ["red", (await asPlayed()).slice(2)],
    ] as const) {
      await view.open(world.dashboard.url, cluster);
      const rows = await view.rows();
      for (const id of ids) {
        const holds = real.filter(({ holder }) => uuidOf(holder) === id).map(({ key }) => key);
        const waits = real.filter(({ waiters }) => waiters.some((each) => uuidOf(each) === id));
        expect(rows.get(id), id).toMatchObject({ holds: `${holds.length}`, waits: `${waits.length}` });
        await tab.page.goto(at(`sessions/${id}?of=${cluster}`));
        const lists = tab.page.locator("section ul.plain-list");
        await lists.nth(1).waitFor();
        const shown = await Promise.all([0, 1].map((one) => lists.nth(one).locator("a").allTextContents()));
        expect(shown.map((keys) => keys.sort())).toEqual([holds.sort(), waits.map(({ key }) => key).sort()]);
      }
    }
    expect(tab.trouble()).toEqual([]);
  });

  it("the backends and the page about the dashboard count their locks", async () => {
    const count = (cluster: string): string => `${cluster === "zoo" ? scene.paths.length : 3} locks`;
    for (const path of ["backends", "about"]) {
      await tab.page.goto(at(path));
      for (const cluster of ["zoo", "red"]) {
        const place = tab.page.locator("section.cluster .page-head, main li").filter({ hasText: cluster });
        await place
          .filter({ hasText: count(cluster) })
          .first()
          .waitFor();
      }
    }
    expect(tab.trouble()).toEqual([]);
  });

  it("the audit log has what was tried on their locks, and who held", async () => {
    for (const key of [scene.paths[0], scene.keys[0]]) {
      const { id } = await world.dashboard.row(key);
      const { lock } = await world.dashboard.detail(id);
      const entry = lock.holders[0]?.entry ?? null;
      const reason = `what would happen to ${key}`;
      await world.dashboard.act(id, {
        action: "force-release",
        entry,
        confirmation: key,
        reason,
        dryRun: true,
      });
      await tab.page.goto(at("audit"));
      const row = tab.page.getByRole("row").filter({ hasText: reason });
      await row.getByText("dry run: would do").waitFor();
      expect(await row.textContent()).toContain(key);
    }
    expect((await truth()).map(({ holder }) => uuidOf(holder)).sort()).toEqual(
      [...(await asPlayed()), scene.redisson[0].id].sort(),
    );
    expect(tab.trouble()).toEqual([]);
  });
});
