import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Findings } from "../../apps/dashboard/src/contract/api.js";
import { drawn } from "../support/share.js";
import type { Tab, Theme } from "./support/browser.js";
import { type LiveWorld, startLiveWorld } from "./support/live-world.js";
import { LockView } from "./support/lock-view.js";
import { pageNames as pages, playScene, type Scene } from "./support/scene.js";
import { filled, stumbles } from "./support/stumbles.js";

const long = `/live/${"a-segment-that-does-not-end-".repeat(6)}end`;
const hostile = "live:<b>\u202egnp.exe\nline</b>";
const themes: readonly Theme[] = ["light", "dark"];

let world: LiveWorld;
let scene: Scene;
let tab: Tab;

beforeAll(async () => {
  world = await startLiveWorld({ longHoldMs: 2_000 });
  scene = await playScene(world);
  const [zookeeper, redis] = await Promise.all([world.zookeeperClient(), world.redisClient()]);
  await zookeeper
    .mutex(long)
    .acquire({ label: "a label that is as long as labels of programs are at times" });
  await redis.mutex(hostile).acquire();
  await Promise.all([world.dashboard.row(long), world.dashboard.row(hostile)]);
}, 300_000);
afterAll(async () => {
  await scene?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  tab = await world.browser.tab();
});
afterEach(() => tab?.[Symbol.asyncDispose]());

async function open(name: string, width = 390, height = 844): Promise<Page> {
  const { page } = tab;
  await page.setViewportSize({ width, height });
  await page.goto(`${world.dashboard.url}${scene.pages[name] ?? name}`);
  await filled(page);
  return page;
}

/** The texts of ids that take more than one line. */
const brokenIds = `[...document.querySelectorAll(".id")].filter((each) => each.offsetParent !== null &&
  each.getBoundingClientRect().height > 1.8 * Number.parseFloat(getComputedStyle(each).fontSize)).map((each) => each.textContent)`;

describe("at the width of a phone", () => {
  it.each(drawn("pages at 390 px", pages, 5, String))(
    "the page %s does not scroll sideways, has its head in one row and no id in two lines",
    async (name) => {
      const page = await open(name);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
      const head = await page.locator("header.top").boundingBox();
      expect(head?.height).toBeLessThan(60);
      expect(await page.evaluate(brokenIds)).toEqual([]);
      expect(tab.trouble()).toEqual([]);
    },
  );

  it("no id is in two lines at 1024 px either, and no page scrolls sideways", async () => {
    for (const name of ["sessions", "locks", "lock"]) {
      const page = await open(name, 1024, 768);
      expect(await page.evaluate(brokenIds), name).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth"), name).toBe(1024);
    }
  });

  it("each lock shows its state, its holder and its waiters within the window, however long its name", async () => {
    const page = await open(`locks?q=${encodeURIComponent("live")}`);
    const rows = page.locator("table.locks tbody tr");
    const inside = async (what: string, row: number): Promise<void> => {
      const box = await rows.nth(row).locator(what).first().boundingBox();
      expect(box, `${what} of row ${row}`).not.toBeNull();
      expect(Math.round((box?.x ?? 0) + (box?.width ?? 0)), `${what} of row ${row}`).toBeLessThanOrEqual(390);
    };
    await rows.nth(6).waitFor();
    const count = await rows.count();
    for (let row = 0; row < count; row++)
      for (const what of [".mark", ".holder", ".waiters"]) await inside(what, row);
    const export_ = rows.filter({ hasText: "/live/orders/export" });
    await export_.getByText("contended").waitFor();
    await export_.locator(".holder", { hasText: "nightly export" }).waitFor();
    await export_.locator(".waiters", { hasText: /^3/ }).waitFor();
  });

  it("findings show what to do and can be muted, and the badge counts what the page counts", async () => {
    const page = await open("findings");
    const cards = page.locator("li.card");
    await cards.first().waitFor();
    const { rows } = await world.dashboard.get<Findings>("findings");
    const problems = rows.filter(({ severity, muted }) => severity !== "info" && muted === null);
    expect(problems.length).toBeGreaterThan(1);
    await page.locator(".pages-button .count", { hasText: new RegExp(`^${problems.length}\\b`) }).waitFor();
    expect(await page.locator(".coverage strong").textContent()).toBe(`${problems.length}`);
    for (const part of [
      cards.first().locator(".advice"),
      cards.first().getByRole("button", { name: "Mute" }),
    ]) {
      const box = await part.boundingBox();
      expect((box?.x ?? 390) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
    }
  });

  it("findings can be muted where actions are switched off, which is about locks alone", async () => {
    await tab.page.route("**/api/v1/me", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), actions: false } });
    });
    const page = await open("findings");
    await page.locator("li.card").first().getByRole("button", { name: "Mute" }).waitFor();
    expect(tab.trouble()).toEqual([]);
  });

  it("the pages lie behind one button, which keyboard and finger open", async () => {
    const page = await open("overview");
    await page.locator(".pages-button").focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Locks" }).waitFor();
    await page.locator(".pages-button").click();
    await page.keyboard.press("Escape");
    expect(await page.locator(".pages-button").getAttribute("aria-expanded")).toBe("false");
    expect(await page.locator("#pages").isVisible()).toBe(false);
  });

  it.each(themes)(
    "nothing is in the way of other eyes and hands in the %s theme, with the pages open too",
    async (theme) => {
      await tab.page.emulateMedia({ colorScheme: theme });
      for (const name of ["overview", "locks", "findings"]) {
        const page = await open(name);
        expect(await stumbles(page), name).toEqual([]);
      }
      await tab.page.locator(".pages-button").click();
      expect(await stumbles(tab.page)).toEqual([]);
    },
  );
});

describe("the first screen", () => {
  it("shows every critical problem at 1440 x 900 without scrolling, in a sentence that names people, with two next steps", async () => {
    const page = await open("overview", 1440, 900);
    const critical = page.locator(".problem-list > .critical");
    await critical.first().waitFor();
    const { rows } = await world.dashboard.get<Findings>("findings");
    expect(await critical.count()).toBe(rows.filter(({ severity }) => severity === "critical").length);
    for (const each of await critical.all()) {
      const box = await each.boundingBox();
      expect((box?.y ?? 900) + (box?.height ?? 0)).toBeLessThanOrEqual(900);
      expect(await each.locator(".steps a").count()).toBe(2);
    }
    const sentence = critical.filter({ hasText: "/live/orders/export" });
    await sentence
      .getByText(/Held for \d+ (s|min) by nightly export \(\S+ pid \d+\); 3 waiting, longest \d+ (s|min)\./)
      .waitFor();
  });

  it("is two clicks away from who blocks a lock, and one from asking the holder to release it", async () => {
    const page = await open("overview", 1440, 900);
    const problem = page.locator(".problem-list > li", { hasText: "/live/orders/export" });
    let clicks = 0;
    const click = async (name: string): Promise<void> => {
      await problem.getByRole("link", { name }).click();
      clicks += 1;
    };
    await click("Open the lock");
    await page.locator(".holder-card", { hasText: "nightly export" }).waitFor();
    await page.getByRole("table", { name: "Queue, next first" }).locator("tbody tr").nth(2).waitFor();
    expect(clicks).toBeLessThanOrEqual(3);
    await page.goBack();
    await click("Ask the holder to release");
    await new LockView(page).dialog.getByRole("heading", { name: "Ask the holder to release" }).waitFor();
    expect(new URL(page.url()).search).toBe("");
  });
});

describe("a keyboard alone", () => {
  it("forces a release: the first focus is on what has to be typed, and a name with a line break is confirmed by words", async () => {
    const key = "live:by keyboard\nonly";
    const held = await (await world.redisClient()).mutex(key).acquire();
    const lost = new Promise((resolve) => held.lost.addEventListener("abort", resolve));
    await world.dashboard.row(key);
    const { page } = tab;
    await page.goto(await world.dashboard.urlOf(key));
    await page.locator(".holder-card").getByRole("button", { name: "Force release" }).focus();
    await page.keyboard.press("Enter");
    const { dialog } = new LockView(page);
    await dialog.locator(".effects li").first().waitFor();
    expect(await dialog.locator(".effects li").first().textContent()).toMatch(/^Holder .+ pid \d+/);
    await page.keyboard.type("release lock");
    await page.keyboard.press("Tab");
    await page.keyboard.type("by keyboard alone");
    await dialog.getByText("Ready.").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await dialog.getByText("Done.").waitFor();
    await lost;
    expect(tab.trouble()).toEqual([]);
  });
});
