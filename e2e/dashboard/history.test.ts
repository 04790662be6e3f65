import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { redisLocks } from "@holdfast/redis-recipes";
import { eventually, startEmbeddedZooKeeper, startRedis } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { expect, it, onTestFinished } from "vitest";
import type { ClusterRow, LockRow } from "../../apps/dashboard/src/contract/api.js";
import type { Ranking, Story } from "../../apps/dashboard/src/contract/history.js";
import { Browser } from "./support/browser.js";
import { Dashboard } from "./support/dashboard.js";
import { stumbles } from "./support/stumbles.js";

const holder = fileURLToPath(new URL("support/history-holder.mjs", import.meta.url));

async function inFolder(work: (file: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-history-"));
  try {
    await work(join(folder, "history.db"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

it("leads in three clicks to what a lock did yesterday and to who holds most and longest, on a phone without a scroll to the side", async () => {
  await inFolder(async (file) => {
    await using server = await startEmbeddedZooKeeper();
    await using locks = zookeeperLocks({ connect: server.connectString, identity: true });
    const zookeeper = { connect: server.connectString, roots: ["/order"], adminPort: 0 };
    await using dashboard = await Dashboard.start({
      clusters: [{ name: "zoo", zookeeper }],
      history: { file },
    });
    const first = await locks.mutex("/order/17").acquire({ label: "billing" });
    await using others = zookeeperLocks({ connect: server.connectString, identity: true });
    const next = others.mutex("/order/17").acquire({ label: "shipping" });
    const { id } = await dashboard.row("/order/17", ({ state }) => state === "contended");
    // The name of a holder is read from its node, which goes with the hold.
    await eventually(
      async () => (await dashboard.get<Story>(`locks/${id}/story`)).open[0]?.identity?.label === "billing",
      { what: "the name of the first holder", withinMs: 30_000 },
    );
    await first.release();
    const handle = await next;
    const waiting = locks.mutex("/order/17").acquire();
    const row: LockRow = await dashboard.row("/order/17", ({ state }) => state === "contended");
    await eventually(
      async () => {
        const { holds, open } = await dashboard.get<Story>(`locks/${row.id}/story`);
        return holds[0]?.identity?.label === "billing" && open[0]?.identity?.label === "shipping";
      },
      { what: "the story of the lock", withinMs: 30_000 },
    );
    await eventually(async () => (await dashboard.get<Ranking>("ranking?by=owner")).rows.length === 2, {
      ...{ what: "the ranking of owners", withinMs: 30_000 },
    });

    await using browser = await Browser.open();
    await using tab = await browser.tab();
    const { page } = tab;
    let clicks = 0;
    const click = async (name: string | RegExp): Promise<void> => {
      clicks += 1;
      await page.getByRole("link", { name }).first().click();
    };
    const fits = async (): Promise<void> =>
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);

    await page.goto(dashboard.url);
    await click(/order\/17/);
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await page.getByRole("table", { name: /Holds/ }).getByText("billing").first().waitFor();
    expect(await stumbles(page)).toEqual([]);
    await click("Earlier");
    await page.getByText("Nothing of this lock is known in this time.").waitFor();
    expect(clicks).toBeLessThanOrEqual(3);

    await page.goto(dashboard.url);
    clicks = 0;
    await click("Ranking");
    await click("Owners");
    await page.getByRole("table").getByText("shipping").waitFor();
    await page.getByRole("columnheader", { name: "Longest hold" }).waitFor();
    expect(clicks).toBeLessThanOrEqual(3);
    expect(await stumbles(page)).toEqual([]);
    await click("Groups");
    await click("order/*");
    await page.getByRole("table").getByText("/order/17").waitFor();

    await page.setViewportSize({ width: 390, height: 844 });
    await fits();
    await page.goto(`${dashboard.url}locks/${row.id}`);
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await page.getByRole("table", { name: /Holds/ }).getByText("billing").first().waitFor();
    await fits();
    expect(tab.trouble()).toEqual([]);
    await handle.release();
    await (await waiting).release();
  });
});

it("shows a hold's age over a restart of the dashboard, and the page is as before where no history is kept", async () => {
  await inFolder(async (file) => {
    await using server = await startEmbeddedZooKeeper();
    await using locks = zookeeperLocks({ connect: server.connectString });
    const zookeeper = { connect: server.connectString, roots: ["/order"], adminPort: 0 };
    const clusters = [{ name: "zoo", zookeeper }];
    const handle = await locks.mutex("/order/18").acquire();
    let firstSeenMs: number | null = null;
    {
      await using dashboard = await Dashboard.start({ clusters, history: { file } });
      const row = await dashboard.row("/order/18", ({ state }) => state === "held");
      firstSeenMs = row.oldestHold.atMs;
      await eventually(async () => (await dashboard.get<Story>(`locks/${row.id}/story`)).open.length === 1, {
        ...{ what: "the hold in the history", withinMs: 30_000 },
      });
    }
    {
      await using dashboard = await Dashboard.start({ clusters, history: { file } });
      const row = await dashboard.row("/order/18", ({ state }) => state === "held");
      expect(row.oldestHold).toEqual({ atMs: firstSeenMs, provenance: "at-least" });
    }
    await using dashboard = await Dashboard.start({ clusters });
    const row = await dashboard.row("/order/18", ({ state }) => state === "held");
    expect(row.oldestHold.atMs).toBeGreaterThan(firstSeenMs ?? 0);
    await using browser = await Browser.open();
    await using tab = await browser.tab();
    await tab.page.goto(`${dashboard.url}locks/${row.id}`);
    await tab.page.getByRole("heading", { name: "Hold times" }).waitFor();
    expect(await tab.page.getByRole("heading", { name: "Timeline" }).count()).toBe(0);
    expect(await tab.page.getByRole("link", { name: "Ranking" }).count()).toBe(0);
    await handle.release();
  });
});

it("says why holds ended, on both backends: released, forced from here, at the end of a killed client's session, and by expiry", async () => {
  await inFolder(async (file) => {
    const [server, redis] = await Promise.all([startEmbeddedZooKeeper({ words: "all" }), startRedis()]);
    await using _server = server;
    await using _redis = redis;
    await using locks = zookeeperLocks({ connect: server.connectString, identity: true });
    await using onRedis = redisLocks({ url: redis.url, identity: true });
    const zookeeper = { connect: server.connectString, roots: ["/end"], adminPort: 0 };
    await using dashboard = await Dashboard.start({
      clusters: [
        { name: "zoo", zookeeper },
        { name: "red", redis: { url: redis.url, patterns: ["end:*"] } },
      ],
      history: { file },
    });
    // The dashboard must have read everything first: a hold that exists before that is found, but its grant is not counted.
    await eventually(
      async () =>
        (await dashboard.get<{ clusters: ClusterRow[] }>("clusters")).clusters.every(
          ({ coverage }) => coverage === 1,
        ),
      { what: "everything looked for once", withinMs: 30_000 },
    );
    const held = async (address: string, key: string): Promise<ChildProcess> => {
      const child = spawn(process.execPath, [holder, address, key], { stdio: ["ignore", "pipe", "inherit"] });
      onTestFinished(() => void child.kill("SIGKILL"));
      await once(child.stdout, "data");
      return child;
    };
    const killed = await Promise.all([
      held(server.connectString, "/end/killed"),
      held(redis.url, "end:killed"),
    ]);
    const handles = {
      "/end/released": await locks.mutex("/end/released").acquire(),
      "/end/forced": await locks.mutex("/end/forced").acquire(),
      "end:released": await onRedis.mutex("end:released").acquire(),
      "end:forced": await onRedis.mutex("end:forced").acquire(),
    };
    const identified = async (key: string): Promise<string> => {
      const { id } = await dashboard.row(key, ({ state }) => state === "held");
      await eventually(
        async () => (await dashboard.get<Story>(`locks/${id}/story`)).open[0]?.session != null,
        { what: `the holder of ${key} identified`, withinMs: 30_000 },
      );
      return id;
    };
    const ids = new Map<string, string>();
    for (const key of [...Object.keys(handles), "/end/killed", "end:killed"])
      ids.set(key, await identified(key));
    // The dashboard must have seen a renewal of its lease. Only then can it see that the renewals stop.
    await dashboard.row("end:killed", ({ holders }) => holders[0]?.lease === "renewing");
    for (const child of killed) child.kill("SIGKILL");
    await Promise.all([handles["/end/released"].release(), handles["end:released"].release()]);
    for (const key of ["/end/forced", "end:forced"] as const) {
      const id = ids.get(key) ?? "";
      const { lock } = await dashboard.detail(id);
      await dashboard.act(id, {
        ...{ action: "force-release", entry: lock.holders[0]?.entry ?? null },
        ...{ confirmation: key, reason: "a test" },
      });
    }
    const reasons: Readonly<Record<string, string>> = {
      "/end/killed": "session-ended",
      "end:killed": "expired",
    };
    for (const [key, id] of ids) {
      const reason = reasons[key] ?? key.split(/[/:]/).at(-1);
      let seen: Story | undefined;
      await eventually(
        async () => {
          seen = await dashboard.get<Story>(`locks/${id}/story`);
          return seen.holds[0]?.reason === reason;
        },
        {
          what: `an end of ${key} that is ${reason}`,
          withinMs: 60_000,
          // The dashboard answers one caller 600 times a minute.
          everyMs: 200,
          detail: () => JSON.stringify(seen?.holds),
        },
      );
    }
    const { rows } = await dashboard.get<Ranking>("ranking?by=owner&cluster=red");
    const counts = rows.map(({ name, grants, ends, lost }) => [
      name === basename(holder),
      grants,
      ends,
      lost,
    ]);
    expect(counts.toSorted()).toEqual([
      [false, 2, 2, 1],
      [true, 1, 1, 1],
    ]);
    await Promise.allSettled([handles["/end/forced"].release(), handles["end:forced"].release()]);
  });
});
