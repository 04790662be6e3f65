import { eventually } from "@holdfast/test-servers";
import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { operatorSession } from "../support/providers.js";
import { drawn } from "../support/share.js";
import type { Tab } from "./support/browser.js";
import { Dashboard } from "./support/dashboard.js";
import { type LiveWorld, startLiveWorld } from "./support/live-world.js";
import { LockView } from "./support/lock-view.js";

let world: LiveWorld;
let tab: Tab;

beforeAll(async () => {
  world = await startLiveWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  tab = await world.browser.tab();
});
afterEach(() => tab?.[Symbol.asyncDispose]());

describe("below a base path", () => {
  it.each(drawn("base paths", ["/", "/a/", "/a/b/"], 1, String))(
    "%s every page is reached by its link, and by its address after that",
    async (basePath) => {
      const key = "/live/based";
      await using held = await (await world.zookeeperClient()).mutex(key).acquire();
      await using dashboard = await Dashboard.start({
        basePath,
        clusters: [
          {
            name: "zoo",
            zookeeper: { connect: world.zookeeper.connectString, roots: ["/live"], adminPort: 0 },
          },
        ],
      });
      expect(new URL(dashboard.url).pathname).toBe(basePath);
      const { id } = await dashboard.row(key);
      const { page } = tab;
      await page.goto(dashboard.url);
      const menu = page.getByRole("navigation").first();
      const names = ["Locks", "Sessions", "Backends", "Findings", "Waits", "Audit", "Overview"];
      for (const name of names) {
        await menu.getByRole("link", { name }).click();
        await page.getByRole("heading", { level: 1, name }).waitFor();
        const path = name === "Overview" ? "" : name.toLowerCase();
        expect(new URL(page.url()).pathname).toBe(basePath + path);
      }
      await menu.getByRole("link", { name: "Locks" }).click();
      await page.locator(`a[data-row][title="${key}"]`).click();
      await page.getByRole("heading", { level: 1, name: key }).waitFor();
      expect(new URL(page.url()).pathname).toBe(`${basePath}locks/${id}`);
      await page.reload();
      await page.getByRole("heading", { level: 1, name: key }).waitFor();
      await page.locator(".holder-card dl a").click();
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(new URL(page.url()).pathname).toMatch(new RegExp(`^${basePath}sessions/0x[0-9a-f]+$`));
      await page.reload();
      await page.getByRole("link", { name: key }).first().waitFor();
      expect(held.state).toBe("held");
      expect(tab.trouble()).toEqual([]);
    },
  );
});

describe("hostile names and data", () => {
  it("stand there as they are, and do nothing", async () => {
    const evil = `<img src=x onerror="document.title='owned'">`;
    const key = `/live/${evil.replaceAll("/", "")}`;
    const session = await operatorSession(world.zookeeper.connectString);
    const make = (path: string, flags: number, data: string | null) =>
      session.request("create", {
        path,
        flags,
        acl: openAcl,
        data: data === null ? null : Buffer.from(data),
      });
    const { children } = await session.request("getChildren", { path: "/", watch: false });
    if (!children.includes("live")) await make("/live", CreateFlags.persistent, null);
    await make(key, CreateFlags.persistent, null);
    const contender = `${key}/_c_00000000-0000-4000-8000-000000000001-lock-`;
    await make(contender, CreateFlags.ephemeralSequential, evil);
    await make(contender.replace("01-lock", "02-lock"), CreateFlags.ephemeralSequential, `</script>${evil}`);
    const redisKey = `live:${evil}<script>document.title='owned'</script>`;
    const client = await world.redisClient();
    await using held = await client.mutex(redisKey).acquire({ label: evil });

    const { page } = tab;
    const inert = async (): Promise<void> => {
      expect(await page.evaluate("document.querySelectorAll('img, body script').length")).toBe(0);
      expect(await page.title()).not.toBe("owned");
    };
    await world.dashboard.row(redisKey);
    const zoo = await world.dashboard.row(key, ({ waiterCount }) => waiterCount === 1);
    await page.goto(`${world.dashboard.url}locks`);
    await page.getByRole("link", { name: key, exact: true }).waitFor();
    await page.locator("td.holder", { hasText: evil }).first().waitFor();
    await inert();
    await page.goto(`${world.dashboard.url}locks/${zoo.id}`);
    await page.getByRole("heading", { level: 1, name: key }).waitFor();
    await page.locator(".holder-card", { hasText: evil }).waitFor();
    await page
      .getByRole("row")
      .filter({ hasText: `</script>${evil}` })
      .waitFor();
    await inert();
    await page.goto(await world.dashboard.urlOf(redisKey));
    await page.getByRole("heading", { level: 1, name: redisKey }).waitFor();
    await inert();
    await page.goto(`${world.dashboard.url}locks?q=${encodeURIComponent(`${evil}nothing`)}`);
    await page.getByRole("heading", { name: "The filters hide all" }).waitFor();
    await inert();
    expect(held.state).toBe("held");
    expect(tab.trouble()).toEqual([]);
  });
});

describe("a name with what cannot be seen", () => {
  it("is shown with it written out in list, title and dialog, and is confirmed by words that can be typed", async () => {
    const key = "live:\u202egnp.exe\nline";
    const shown = "live:\\u{202e}gnp.exe\\u{a}line";
    const client = await world.redisClient();
    await using held = await client.mutex(key).acquire();
    const lost = new Promise((resolve) => held.lost.addEventListener("abort", resolve));
    const { page } = tab;
    await world.dashboard.row(key);
    await page.goto(`${world.dashboard.url}locks?q=gnp`);
    await page.getByRole("link", { name: shown, exact: true }).waitFor();
    await page.goto(await world.dashboard.urlOf(key));
    await page.getByRole("heading", { level: 1, name: shown }).waitFor();
    expect(await page.title()).toContain(shown);
    const view = new LockView(page);
    await view.ask("Force release");
    await view.dialog.locator(".effects li").first().waitFor();
    await view.fill({ typed: "release lock", reason: "the name is odd" });
    await view.dialog.getByRole("button", { name: "Release by force" }).click();
    await view.dialog.getByText("Done.").waitFor();
    await lost;
    expect(await page.locator("body").textContent()).not.toContain("\u202e");
    expect(tab.trouble()).toEqual([]);
  });
});

describe("a keyboard alone", () => {
  const focused = (): Promise<string | null> =>
    tab.page.evaluate(
      "document.activeElement?.title || document.activeElement?.id || document.activeElement?.tagName",
    );

  it("finds, walks, opens and goes anywhere, and never while the user writes in a field", async () => {
    const client = await world.zookeeperClient();
    await using one = await client.mutex("/live/keys/one").acquire();
    await using two = await client.mutex("/live/keys/two").acquire();
    await Promise.all(["one", "two"].map((name) => world.dashboard.row(`/live/keys/${name}`)));
    const { page } = tab;
    const { keyboard } = page;
    await page.goto(`${world.dashboard.url}locks?q=/live/keys/&sort=name`);
    await page.locator("a[data-row]").nth(1).waitFor();
    await keyboard.press("j");
    expect(await focused()).toBe("/live/keys/one");
    await keyboard.press("j");
    expect(await focused()).toBe("/live/keys/two");
    await keyboard.press("k");
    await keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "/live/keys/one" }).waitFor();
    // The second key counts within 1.5 s of the first.
    await eventually(
      async () => {
        await keyboard.press("g");
        await keyboard.press("f");
        return await page.getByRole("heading", { level: 1, name: "Findings" }).isVisible();
      },
      { what: "the page Findings", everyMs: 500 },
    );
    await keyboard.press("/");
    const field = (await focused()) ?? "";
    expect(field).not.toBe("BODY");
    // Outside of a field, each of these letters is a command.
    await keyboard.type("gp?jk");
    expect(await page.locator(`#${field}`).inputValue()).toBe("gp?jk");
    expect(await page.locator("dialog[open]").count()).toBe(0);
    await page.locator(`#${field}`).blur();
    await keyboard.press("p");
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await keyboard.press("p");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keyboard" });
    await help.waitFor();
    await help.getByRole("checkbox").press("Space");
    await keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    await keyboard.press("?");
    await keyboard.press("g");
    await keyboard.press("l");
    expect(await page.locator("dialog[open]").count()).toBe(0);
    await page.getByRole("heading", { level: 1, name: "Findings" }).waitFor();
    expect([one.state, two.state]).toEqual(["held", "held"]);
    expect(tab.trouble()).toEqual([]);
    await page.evaluate("localStorage.clear()");
  });

  it("opens the dialog of an action, stays in it, and is back where it was after Escape", async () => {
    const client = await world.zookeeperClient();
    await using held = await client.mutex("/live/keys/dialog").acquire();
    const { page } = tab;
    await page.goto(await world.dashboard.urlOf("/live/keys/dialog"));
    const button = page.locator(".holder-card").getByRole("button", { name: "Force release" });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.locator("dialog[open] .effects li").first().waitFor();
    for (let presses = 0; presses < 12; presses++) {
      await page.keyboard.press("Tab");
      const inside =
        "document.activeElement === document.body || document.activeElement.closest('dialog') !== null";
      expect(await page.evaluate(inside), `after ${presses + 1} tabs`).toBe(true);
    }
    await page.keyboard.press("Escape");
    await page.locator("dialog[open]").waitFor({ state: "detached" });
    expect(await button.evaluate((each) => each === each.ownerDocument.activeElement)).toBe(true);
    expect(held.state).toBe("held");
  });
});

describe("where there is nothing", () => {
  const shows = async (dashboard: Dashboard, heading: string, query = ""): Promise<void> => {
    await tab.page.goto(`${dashboard.url}locks${query}`);
    await tab.page.getByRole("heading", { name: heading }).waitFor();
    expect(tab.trouble()).toEqual([]);
  };

  it("the page says that no cluster is configured", async () => {
    await using dashboard = await Dashboard.start({ clusters: [] });
    await shows(dashboard, "No cluster is configured");
  });

  it("the page says that no roots and no key patterns are configured, and proposes places", async () => {
    await using held = await (await world.zookeeperClient()).mutex("/live/found").acquire();
    const { connectString: connect } = world.zookeeper;
    await using dashboard = await Dashboard.start({
      clusters: [{ name: "zoo", zookeeper: { connect, roots: [], adminPort: 0 } }],
    });
    await shows(dashboard, "No roots and no key patterns are configured");
    await tab.page.getByRole("link", { name: "Discover in zoo" }).click();
    await tab.page.getByRole("button", { name: "Look through once" }).click();
    await tab.page.getByRole("rowheader", { name: "/live", exact: true }).waitFor();
    expect(held.state).toBe("held");
  });

  it("places are proposed to those alone who may look for them", async () => {
    await using dashboard = await Dashboard.start({
      auth: { anonymous: "viewer" },
      clusters: [
        { name: "zoo", zookeeper: { connect: world.zookeeper.connectString, roots: [], adminPort: 0 } },
      ],
    });
    await shows(dashboard, "No roots and no key patterns are configured");
    await tab.page.getByText("Looking for places requires the role operator.").waitFor();
    expect(await tab.page.getByText("Discover").count()).toBe(0);
    await tab.page.goto(`${dashboard.url}backends?discover=zoo`);
    await tab.page
      .getByText("not asked yet")
      .or(tab.page.getByText("off", { exact: true }))
      .first()
      .waitFor();
    expect(await tab.page.getByText("Discover").count()).toBe(0);
  });

  it("the page says that there are no locks, and that filters hide those that there are", async () => {
    await using dashboard = await Dashboard.start({
      clusters: [{ name: "red", redis: { url: world.redis.url, patterns: ["nobody:*"] } }],
    });
    await shows(dashboard, "There are no locks");
    await using held = await (await world.redisClient()).mutex("nobody:1").acquire();
    await dashboard.row("nobody:1");
    await shows(dashboard, "The filters hide all", "?q=somebody");
    expect(held.state).toBe("held");
  });
});

it("the overview of one cluster has its figures, and what was lost in it", async () => {
  await using zoo = await (await world.zookeeperClient()).mutex("/live/one").acquire();
  await using red = await (await world.redisClient()).mutex("one:red").acquire();
  await using dashboard = await Dashboard.start({
    clusters: [
      {
        name: "zoo",
        zookeeper: { connect: world.zookeeper.connectString, roots: ["/live/one"], adminPort: 0 },
      },
      { name: "red", redis: { url: world.redis.url, patterns: ["one:*"] } },
    ],
  });
  await Promise.all([dashboard.row("/live/one"), dashboard.row("one:red")]);
  const held = tab.page.locator(".tile", { hasText: "Held" }).locator(".tile-value");
  await tab.page.goto(dashboard.url);
  await held.getByText("2", { exact: true }).waitFor();
  await tab.page.getByText("No lock has waiters").waitFor();
  await tab.page
    .locator(".tile", { hasText: "Lost in the last hour" })
    .getByText("0", { exact: true })
    .waitFor();
  await tab.page.goto(`${dashboard.url}?cluster=red`);
  await tab.page.getByText("Cluster red only.").waitFor();
  await held.getByText("1", { exact: true }).waitFor();
  await tab.page.goto(`${dashboard.url}backends`);
  await tab.page.getByText("not due yet").waitFor();
  expect([zoo.state, red.state]).toEqual(["held", "held"]);
  expect(tab.trouble()).toEqual([]);
});

describe("a backend that goes away while a page is open", () => {
  it("is named in a line of the page, what was known stays, and the other backend goes on", async () => {
    const key = "live:kept";
    const redis = await world.redisClient();
    const zookeeper = await world.zookeeperClient();
    // Not released at the end: this lock is lost with the killed server.
    const held = await redis.mutex(key).acquire();
    const before = await zookeeper.mutex("/live/before").acquire();
    await world.dashboard.row(key);
    await world.dashboard.row("/live/before");
    const { page } = tab;
    const row = (name: string) => page.locator("tr", { has: page.locator(`a[data-row][title="${name}"]`) });
    await page.goto(`${world.dashboard.url}locks?q=live`);
    await row(key).waitFor();
    await row("/live/before").waitFor();
    await world.redis.kill();
    const line = page
      .getByRole("status")
      .filter({ hasText: /redis red: stale. no contact with Redis: connecting again\./ });
    await line.waitFor();
    await row(key)
      .filter({ hasText: /as of \d+ s ago/ })
      .waitFor();
    expect(await row("/live/before").getAttribute("class")).not.toContain("stale");
    const after = await zookeeper.mutex("/live/after").acquire();
    await row("/live/after").waitFor();
    await before.release();
    await row("/live/before").filter({ hasText: "idle" }).waitFor();
    expect(await row(key).count()).toBe(1);
    await page.goto(`${world.dashboard.url}backends`);
    await page.getByRole("table").filter({ hasText: "no contact with Redis" }).first().waitFor();
    await world.redis.restart();
    await page.goto(`${world.dashboard.url}locks?q=live`);
    await line.waitFor({ state: "detached" });
    await after.release();
    expect(held.name).toBe(key);
    expect(tab.trouble()).toEqual([]);
  });

  it("is the dashboard itself: the page says so, keeps what it has, and goes on when it is back", async () => {
    const key = "/live/outlives";
    await using held = await (await world.zookeeperClient()).mutex(key).acquire();
    await world.dashboard.row(key);
    const { page } = tab;
    const row = page.locator(`a[data-row][title="${key}"]`);
    await page.goto(`${world.dashboard.url}locks?q=${encodeURIComponent(key)}`);
    await row.waitFor();
    await page.getByText("live", { exact: true }).first().waitFor();
    await page.context().setOffline(true);
    // An open stream stays open while the browser is offline. So Pause and Resume make the page open a new one.
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("reconnecting", { exact: true }).waitFor();
    expect(await row.count()).toBe(1);
    await page.context().setOffline(false);
    await page.getByText("live", { exact: true }).first().waitFor();
    expect(await row.count()).toBe(1);
    expect(held.state).toBe("held");
  });
});
