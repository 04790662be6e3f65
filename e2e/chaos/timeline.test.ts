import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { historiesFolder } from "../../apps/chaos/src/checkers/self-test/hand-made.js";
import { simulate } from "../../apps/chaos/src/checkers/self-test/simulated-recipe.js";
import { HistoryWriter } from "../../apps/chaos/src/history/writer.js";
import { writeTimeline } from "../../apps/chaos/src/report/timeline/write-timeline.js";
import { Browser, type Tab, type Theme } from "../dashboard/support/browser.js";
import { drawn } from "../support/share.js";

let folder: string;
let browser: Browser;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-timeline-"));
  for (const name of ["two-holders", "paused-beyond-its-deadline", "served-after-the-fault"])
    await writeTimeline(join(historiesFolder, `${name}.jsonl`), join(folder, `${name}.html`));
  // Five keys, six workers, faults, and two hundred overlaps at one of the keys.
  const history = join(folder, "crowded.jsonl");
  const writer = new HistoryWriter(history);
  for (const record of simulate(1, "look again after waking")) writer.write(record);
  await writer.close();
  await writeTimeline(history, join(folder, "crowded.html"));
  browser = await Browser.open();
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

interface Opened extends AsyncDisposable {
  readonly page: Page;
  readonly tab: Tab;
  /** The URLs of all requests besides the one for the file itself. */
  readonly requests: string[];
}

/** Opens a page from the disk, without any network. */
async function open(name: string, theme: Theme = "light"): Promise<Opened> {
  const tab = await browser.tab(theme);
  const { page } = tab;
  const url = pathToFileURL(join(folder, `${name}.html`)).href;
  const requests: string[] = [];
  page.on("request", (request) => {
    if (request.url() !== url) requests.push(request.url());
  });
  await page.context().setOffline(true);
  await page.goto(url);
  await page.locator("#chart[data-drawn]").waitFor();
  return { page, tab, requests, [Symbol.asyncDispose]: () => tab[Symbol.asyncDispose]() };
}

/** The start and the end of the time that the chart shows, in ms. */
async function shown(page: Page): Promise<[number, number]> {
  const text = (await page.locator("#chart").getAttribute("data-drawn")) ?? "";
  const [from = 0, to = 0] = text.split(" ").map((us) => Number(us) / 1_000);
  return [from, to];
}

/** Runs `act`, waits until the chart shows another time, and returns that. */
async function after(page: Page, act: () => Promise<unknown>): Promise<[number, number]> {
  const before = await shown(page);
  await act();
  await expect.poll(() => shown(page)).not.toEqual(before);
  return await shown(page);
}

const colorOf = (page: Page, selector: string, property: string): Promise<string> =>
  page.evaluate(
    `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).getPropertyValue(${JSON.stringify(property)})`,
  );
const isRed = (color: string): boolean => {
  const [red = 0, green = 0, blue = 0] = (color.match(/\d+/g) ?? []).map(Number);
  return red > green + 60 && red > blue + 60;
};
const width = ([from, to]: readonly [number, number]): number => to - from;

describe("the timeline of two holders at once, opened from the disk without a network", () => {
  it.each(["light", "dark"] as const)("shows both holds in red with their names, %s", async (theme) => {
    await using opened = await open("two-holders", theme);
    const { page, requests, tab } = opened;
    const holds = page.locator(".lane.keys .item.hold.clash");
    await expect.poll(() => holds.count()).toBe(2);
    expect(await holds.locator("text").allTextContents()).toEqual(["a#0", "b#0"]);
    expect(await holds.nth(0).getAttribute("aria-label")).toContain(
      "a#0 holds k, 0.010000 s to 0.020000 s (10.0 ms), ended by release",
    );
    for (const part of [".lane.keys .item.hold.clash .bar", ".lane.keys .item.overlap .bar"])
      expect(isRed(await colorOf(page, part, "stroke")), part).toBe(true);
    expect(await page.locator(".lane.keys .item.overlap text").textContent()).toBe("a#0 + b#0: 5.000 ms");
    const [first, second, overlap] = await Promise.all(
      [holds.nth(0), holds.nth(1), page.locator(".item.overlap")].map((each) =>
        each.locator(".bar").boundingBox(),
      ),
    );
    if (!first || !second || !overlap) throw new Error("something has no place on the screen");
    // The overlap is drawn at the time that both holds share, and below them.
    expect(overlap.x).toBeCloseTo(second.x, 0);
    expect(overlap.x + overlap.width).toBeCloseTo(first.x + first.width, 0);
    expect(overlap.y).toBeGreaterThan(second.y);
    expect(second.y).toBeGreaterThan(first.y);
    expect(requests).toEqual([]);
    expect(tab.trouble()).toEqual([]);
  });

  it("shows the raw records of what is clicked", async () => {
    await using opened = await open("two-holders");
    const { page } = opened;
    await page.locator(".lane.keys .item.hold.clash").nth(1).click();
    const records = page.locator("#records li");
    await expect
      .poll(() => records.evaluateAll((all) => all.map((each) => each.getAttribute("data-i"))))
      .toEqual(["3", "4", "7"]);
    expect(JSON.parse((await records.nth(1).textContent()) ?? "")).toMatchObject({
      i: 4,
      type: "ok",
      p: "b#0",
    });
    expect(await page.locator("#chosen").textContent()).toContain("b#0 holds k");
  });

  it("goes to the overlap from the list of findings", async () => {
    await using opened = await open("two-holders");
    const { page } = opened;
    const [from, to] = await after(page, () =>
      page.getByRole("button", { name: "a#0 and b#0 both held k for 5.000 ms" }).click(),
    );
    expect([from, to]).toEqual([expect.closeTo(7.5), expect.closeTo(27.5)]);
    await expect.poll(() => page.locator("#records li").count()).toBe(6);
  });
});

describe("the chart", () => {
  it("zooms and moves by buttons, wheel, pointer and keys, and stays within the run", async () => {
    await using opened = await open("crowded");
    const { page } = opened;
    const whole = await shown(page);
    expect(whole).toEqual([0, 17_000]);
    const zoomed = await after(page, () => page.getByRole("button", { name: "Zoom in" }).click());
    expect(width(zoomed)).toBeCloseTo(width(whole) / 2);
    const later = await after(page, () => page.getByRole("button", { name: "Later" }).click());
    expect(later[0]).toBeGreaterThan(zoomed[0]);
    expect(await after(page, () => page.getByRole("button", { name: "Whole run" }).click())).toEqual(whole);

    const box = await page.locator("svg.lanes").boundingBox();
    if (box === null) throw new Error("the chart has no place on the screen");
    await page.mouse.move(box.x + 128 + (box.width - 142) / 4, box.y + 60);
    await page.keyboard.down("Control");
    const wheeled = await after(page, () => page.mouse.wheel(0, -600));
    await page.keyboard.up("Control");
    expect(width(wheeled)).toBeLessThan(width(whole) / 2);
    // The time that was under the pointer, a quarter of the run, is still there.
    const quarter = wheeled[0] + width(wheeled) / 4;
    expect(Math.abs(quarter - 17_000 / 4)).toBeLessThan(50);

    const dragged = await after(page, async () => {
      await page.mouse.down();
      await page.mouse.move(box.x + 128 + (box.width - 142) / 4 + 100, box.y + 60, { steps: 4 });
      await page.mouse.up();
    });
    expect(dragged[0]).toBeLessThan(wheeled[0]);
    expect(width(dragged)).toBeCloseTo(width(wheeled));

    await page.locator("#chart").focus();
    const right = await after(page, () => page.keyboard.press("ArrowRight"));
    expect(right[0]).toBeGreaterThan(dragged[0]);
    expect(width(await after(page, () => page.keyboard.press("-")))).toBeCloseTo(2 * width(right));
    expect((await after(page, () => page.keyboard.press("End")))[1]).toBe(17_000);
    expect((await after(page, () => page.keyboard.press("Home")))[0]).toBe(0);
    expect(await after(page, () => page.keyboard.press("0"))).toEqual(whole);
  });

  it("draws many operations as few shapes first, and each of them when it is zoomed in", async () => {
    await using opened = await open("crowded");
    const { page } = opened;
    expect(await page.locator(".lane.keys .bin").count()).toBeGreaterThan(50);
    expect(await page.locator(".lane.keys .bin.bad").count()).toBeGreaterThan(10);
    expect(await page.locator(".lane.workers .item.hold").count()).toBe(0);
    await after(page, () => page.getByRole("button", { name: "Next overlap" }).click());
    expect(await page.locator(".bin").count()).toBe(0);
    expect(await page.locator(".lane.keys .item.hold.clash").count()).toBeGreaterThanOrEqual(2);
    expect(await page.locator(".lane.workers .item.hold.clash").count()).toBeGreaterThanOrEqual(2);
    const [first] = await shown(page);
    const [second] = await after(page, () => page.getByRole("button", { name: "Next overlap" }).click());
    expect(second).toBeGreaterThan(first);
    expect(await after(page, () => page.getByRole("button", { name: "Previous overlap" }).click())).toEqual([
      first,
      expect.any(Number),
    ]);
  });

  it("shows one key alone when it is chosen, and all again", async () => {
    await using opened = await open("crowded");
    const { page } = opened;
    const keys = page.locator(".lane.keys");
    await expect.poll(() => keys.count()).toBe(5);
    await page.getByLabel("Key").selectOption({ label: "permits (semaphore)" });
    await expect.poll(() => keys.count()).toBe(1);
    expect(await page.locator(".names .name").allTextContents()).toEqual(
      expect.arrayContaining([expect.stringContaining("permits")]),
    );
    expect(await page.locator(".item.overlap, .bin.bad").count()).toBe(0);
    await page.getByLabel("Key").selectOption({ index: 0 });
    await expect.poll(() => keys.count()).toBe(5);
  });

  it("can be walked through by the keyboard alone", async () => {
    await using opened = await open("paused-beyond-its-deadline");
    const { page } = opened;
    const focused = (): Promise<string> =>
      page.evaluate(`document.activeElement.getAttribute("aria-label") ?? ""`);
    await page.locator("#chart").focus();
    await page.keyboard.press("Enter");
    expect(await focused()).toContain("a#0 holds k");
    await page.keyboard.press("ArrowRight");
    expect(await focused()).toContain("b#0 holds k");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator("#chosen").textContent()).toContain("b#0 holds k");
    await page.keyboard.press("ArrowDown");
    expect(await focused()).toContain("Token 2 granted to b#0");
    // A new drawing keeps the focus where it was.
    await after(page, () => page.keyboard.press("+"));
    await page.keyboard.press("Escape");
    expect(await focused()).toBe("Lanes over time");
  });

  it("shows servers with their roles, and when they were down", async () => {
    await using opened = await open("served-after-the-fault");
    const { page } = opened;
    const labels = await page
      .locator(".lane.servers .item")
      .evaluateAll((all) => all.map((each) => each.getAttribute("aria-label")?.split(",")[0]));
    expect(labels).toEqual(
      expect.arrayContaining(["zk1 is leader", "zk1 down", "zk2 is follower", "zk3 is follower"]),
    );
    expect(await page.locator(".bands rect").count()).toBe(1);
  });
});

describe("the page", () => {
  it.each(drawn("themes of the timeline", ["light", "dark"] as const, 1, String))(
    "gives no reader trouble that axe knows of, %s",
    async (theme) => {
      for (const name of ["two-holders", "crowded", "served-after-the-fault"]) {
        await using opened = await open(name, theme);
        const { page, tab } = opened;
        await page.evaluate(axe.source);
        const found = await page.evaluate<{ id: string; help: string; nodes: { html: string }[] }[]>(
          "axe.run({ runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] } }).then(({ violations }) => violations)",
        );
        expect(found.map(({ id, help, nodes }) => `${name}: ${id}: ${help}: ${nodes[0]?.html}`)).toEqual([]);
        expect(tab.trouble()).toEqual([]);
      }
    },
  );

  it("changes its colours with the chosen theme", async () => {
    await using opened = await open("two-holders", "light");
    const { page } = opened;
    const ground = (): Promise<string> => colorOf(page, "body", "background-color");
    const light = await ground();
    await page.getByLabel("Theme").selectOption("dark");
    expect(await ground()).not.toBe(light);
    await page.getByLabel("Theme").selectOption("system");
    expect(await ground()).toBe(light);
  });
});
