import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { eventually } from "@holdfast/test-servers";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Overview, Waits } from "../../apps/dashboard/src/contract/api.js";
import { share } from "../support/share.js";
import type { Theme } from "./support/browser.js";
import { type LiveWorld, startLiveWorld } from "./support/live-world.js";
import { LockView } from "./support/lock-view.js";
import { pageNames as pages, playScene, type Scene } from "./support/scene.js";
import { filled, stumbles } from "./support/stumbles.js";

const screenshots = fileURLToPath(new URL("../../apps/dashboard/docs/screenshots/", import.meta.url));
const photographed = process.env.HOLDFAST_SCREENSHOTS === "1";
const themes: readonly Theme[] = ["light", "dark"];

let world: LiveWorld;
let scene: Scene;

beforeAll(async () => {
  world = await startLiveWorld({ longHoldMs: 10_000 });
  scene = await playScene(world);
  // Pictures need charts with some points in them.
  if (photographed)
    await eventually(async () => (await world.dashboard.get<Overview>("overview")).series.length > 6, {
      what: "some points for the charts",
      withinMs: 60_000,
    });
}, 300_000);
afterAll(async () => {
  await scene?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

async function picture(page: Page, name: string): Promise<void> {
  if (!photographed) return;
  await mkdir(screenshots, { recursive: true });
  await page.screenshot({ path: `${screenshots}${name}.png` });
}

it("a deadlock's circle names, for each in it, the lock at which he waits, which the next one holds", async () => {
  await using tab = await world.browser.tab();
  await tab.page.goto(`${world.dashboard.url}waits`);
  const circle = tab.page.locator(".cycle", { hasText: "possible deadlock" });
  await circle.waitFor();
  const { cycles, edges } = await world.dashboard.get<Waits>("waits");
  const [found] = cycles;
  expect(cycles).toHaveLength(1);
  expect(new Set(found?.actors).size).toBe(2);
  for (const [at, from] of found?.actors.entries() ?? []) {
    const to = found?.actors[(at + 1) % 2];
    expect(edges).toContainEqual(expect.objectContaining({ from, to, lockId: found?.lockIds[at] }));
  }
  const shown = await circle.locator("li a").allTextContents();
  expect(shown.sort()).toEqual(["/live/accounts/117", "/live/accounts/204"]);
});

describe.each(themes)("in the %s theme", (theme) => {
  // A run of a share checks each page in one of the two themes only.
  const shown = share(`pages in the ${theme} theme`, Math.floor(pages.length / 2), pages.length);
  const looked = pages.filter(
    (_, at) => shown === pages.length || photographed || at % 2 === themes.indexOf(theme),
  );
  it.each(looked)("the page %s is accessible and reports no errors", async (name) => {
    await using tab = await world.browser.tab(theme);
    await tab.page.goto(`${world.dashboard.url}${scene.pages[name] ?? "none"}`);
    await filled(tab.page);
    expect(await tab.page.evaluate(`matchMedia("(prefers-color-scheme: ${theme})").matches`)).toBe(true);
    expect(await stumbles(tab.page)).toEqual([]);
    await picture(tab.page, `${name}-${theme}`);
    if (photographed && name === "overview") {
      await tab.page.setViewportSize({ width: 390, height: 844 });
      await picture(tab.page, `phone-${theme}`);
    }
    expect(tab.trouble()).toEqual([]);
  });

  it("the dialog that asks before a forced release is accessible", async () => {
    await using tab = await world.browser.tab(theme);
    const view = new LockView(tab.page);
    await view.open(`${world.dashboard.url}${scene.contended}`);
    await view.ask("Force release");
    await view.dialog.locator(".effects li").first().waitFor();
    expect(await stumbles(tab.page)).toEqual([]);
    await picture(tab.page, `force-release-${theme}`);
    expect(tab.trouble()).toEqual([]);
  });
});
