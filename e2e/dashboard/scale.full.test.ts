import { eventually, startRedis, startZooKeeper } from "@holdfast/test-servers";
import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import { expect, it } from "vitest";
import type { Clusters, Locks } from "../../apps/dashboard/src/contract/api.js";
import { operatorSession } from "../support/providers.js";
import { share } from "../support/share.js";
import { makeLocks } from "../zookeeper/collector/nodes.js";
import { Browser } from "./support/browser.js";
import { Dashboard } from "./support/dashboard.js";

const locks = share("locks behind the dashboard, on each backend", 10_000, 100_000);
const limitMs = 300;
const asked = 20;

/** Makes holds as Redisson does, with one client for each thousand locks. */
const fill = `
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local owner = string.format('%08x-3b0a-4c5d-9e6f-112233445566:%d', math.floor(i / 1000), i)
  redis.call('HSET', 'order:' .. i, owner, '1')
  redis.call('PEXPIRE', 'order:' .. i, 900000)
end`;

it("gives the first page of many locks on both backends at once, and the page shows it", {
  timeout: 300_000,
}, async () => {
  const [zookeeper, redis] = await Promise.all([startZooKeeper({ heapMb: 1_024 }), startRedis()]);
  try {
    const maker = await operatorSession(zookeeper.connectString);
    const flags = CreateFlags.persistent;
    await maker.request("create", { path: "/locks", data: null, acl: openAcl, flags });
    await makeLocks(maker, "/locks", locks);
    for (let at = 0; at < locks; at += 10_000)
      await redis.command("EVAL", fill, 0, at, Math.min(locks, at + 10_000) - 1);

    const startedMs = performance.now();
    await using dashboard = await Dashboard.start({
      clusters: [
        {
          name: "zoo",
          zookeeper: { connect: zookeeper.connectString, roots: ["/locks"], adminPort: 0, maxNodes: 300_000 },
        },
        { name: "red", redis: { url: redis.url, patterns: ["order:*"] } },
      ],
    });
    const knownMs = new Map<string, number>();
    await eventually(
      async () => {
        const { clusters } = await dashboard.get<Clusters>("clusters");
        for (const { name, locks: known, coverage } of clusters)
          if (known === locks && coverage === 1 && !knownMs.has(name))
            knownMs.set(name, Math.round(performance.now() - startedMs));
        return knownMs.size === 2;
      },
      { what: "all locks known", withinMs: 120_000 },
    );

    const took: Record<string, number[]> = {};
    for (const query of ["", "?sort=hold", "?sort=name", "?q=*9*&sort=name", "?state=held&owner=nobody"]) {
      const times: number[] = [];
      for (let request = 0; request < asked; request++) {
        const askedMs = performance.now();
        const answer = await dashboard.get<Locks>(`locks${query}`);
        times.push(performance.now() - askedMs);
        expect(answer.known).toBe(2 * locks);
        if (query === "") expect([answer.rows.length, answer.total]).toEqual([100, 2 * locks]);
      }
      took[query] = times;
    }
    const told = Object.entries(took).map(([query, times]) => {
      const sorted = times.map(Math.round).sort((a, b) => a - b);
      return `locks${query}: first ${Math.round(times[0] ?? 0)}, median ${sorted[asked >> 1]}, longest ${sorted.at(-1)} ms`;
    });
    console.log(
      `${2 * locks} locks: known after ${JSON.stringify(Object.fromEntries(knownMs))} ms\n${told.join("\n")}`,
    );

    // The printed figure is the one to read, on a quiet machine. The asserted limit must also hold beside other processes.
    for (const [query, times] of Object.entries(took)) {
      const sorted = [...times].sort((a, b) => a - b);
      expect(sorted[asked >> 1], query).toBeLessThan(10 * limitMs);
    }

    await using browser = await Browser.open();
    await using tab = await browser.tab();
    await tab.page.goto(`${dashboard.url}locks`);
    await tab.page.locator("a[data-row]").nth(99).waitFor();
    await tab.page.getByRole("link", { name: "Next page" }).click();
    await tab.page.getByText(/^101 to 200 of /).waitFor();
    expect(tab.trouble()).toEqual([]);
  } finally {
    await Promise.all([zookeeper.stop(), redis.stop()]);
  }
});
