import { readFile } from "node:fs/promises";
import type { LockProvider } from "@holdfast/core";
import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { Browser, type Tab } from "./support/browser.js";
import { Dashboard } from "./support/dashboard.js";

let server: EmbeddedZooKeeper;
let locks: LockProvider;
let nameless: LockProvider;
let dashboard: Dashboard;
let browser: Browser;
let tab: Tab;

beforeAll(async () => {
  server = await startEmbeddedZooKeeper();
  locks = zookeeperLocks({ connect: server.connectString, identity: true });
  await locks.mutex("/files/orders").acquire({ label: "billing & pay/..?" });
  // The holder of this lock publishes no name.
  nameless = zookeeperLocks({ connect: server.connectString });
  await nameless.mutex("/files/nameless").acquire();
  dashboard = await Dashboard.start({
    clusters: [
      { name: "zoo", zookeeper: { connect: server.connectString, roots: ["/files"], adminPort: 0 } },
    ],
    links: [
      { title: "Ticket", url: "https://tickets.example/new?title={lock}", on: "lock" },
      { title: "Logs", url: "https://logs.example/{label}/of?pid={pid}", on: "owner" },
    ],
  });
  browser = await Browser.open();
  await Promise.all([dashboard.row("/files/orders"), dashboard.row("/files/nameless")]);
}, 300_000);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await dashboard?.[Symbol.asyncDispose]();
  await Promise.all([locks?.close(), nameless?.close()]);
  await server?.stop();
});
beforeEach(async () => {
  tab = await browser.tab();
});
afterEach(() => tab?.[Symbol.asyncDispose]());

it("the list of locks can be saved under the filters of the page, and stays where it is", async () => {
  const { page } = tab;
  await page.goto(`${dashboard.url}locks?q=orders`);
  const saved = async (name: string): Promise<{ file: string; text: string }> => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: `${name} file of the list` }).click(),
    ]);
    return { file: download.suggestedFilename(), text: await readFile(await download.path(), "utf8") };
  };
  const csv = await saved("CSV");
  expect(csv.file).toMatch(/^holdfast-locks-all-\d{8}T\d{6}Z\.csv$/);
  expect(csv.text.split("\r\n").map((line) => line.split(",")[2])).toEqual([
    "name",
    "/files/orders",
    undefined,
  ]);
  const json = await saved("JSON");
  expect(JSON.parse(json.text).rows.map(({ key }: { key: string }) => key)).toEqual(["/files/orders"]);
  expect(new URL(page.url()).search).toBe("?q=orders");
  expect(tab.trouble()).toEqual([]);
});

it.each(["sessions", "findings", "waits", "audit"])("the page of %s has both files as well", async (list) => {
  const { page } = tab;
  await page.goto(`${dashboard.url}${list}`);
  for (const format of ["csv", "json"]) {
    const link = page.getByRole("link", { name: `${format.toUpperCase()} file of the list` });
    const href = (await link.getAttribute("href")) ?? "";
    const answer = await fetch(new URL(href, dashboard.url));
    expect([answer.status, href]).toEqual([200, expect.stringContaining(`export/${list}?`)]);
    await answer.body?.cancel();
  }
});

it("the page of a lock has the links of the configuration, without those whose values are not known", async () => {
  const { page } = tab;
  await page.goto(await dashboard.urlOf("/files/orders"));
  const ticket = page.getByRole("link", { name: "Ticket" });
  await ticket.waitFor();
  expect(await ticket.getAttribute("href")).toBe("https://tickets.example/new?title=%2Ffiles%2Forders");
  const logs = page.getByRole("link", { name: "Logs" });
  expect(await logs.getAttribute("href")).toBe(
    `https://logs.example/billing%20%26%20pay%2F..%3F/of?pid=${process.pid}`,
  );
  for (const link of [ticket, logs]) {
    expect(await link.getAttribute("rel")).toBe("noopener noreferrer");
    expect(await link.getAttribute("target")).toBe("_blank");
  }
  await page.goto(await dashboard.urlOf("/files/nameless"));
  await page.getByRole("heading", { level: 1, name: "/files/nameless" }).waitFor();
  await ticket.waitFor();
  expect(await logs.count()).toBe(0);
  expect(tab.trouble()).toEqual([]);
});
