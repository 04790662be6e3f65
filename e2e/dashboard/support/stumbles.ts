import axe from "axe-core";
import type { Page } from "playwright-core";

/** The accessibility problems that axe finds on a page, one line each. */
export async function stumbles(page: Page): Promise<string[]> {
  // Evaluated by the browser itself: the page's content security policy would refuse a script of the page.
  await page.evaluate(axe.source);
  const found = await page.evaluate<{ id: string; help: string; nodes: { html: string }[] }[]>(
    "axe.run({ runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] } }).then(({ violations }) => violations)",
  );
  return found.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`));
}

/** Waits until the page shows everything: it loads nothing more, and no error is shown. */
export async function filled(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  // The script of a page that is not opened first is loaded after the frame.
  await page.getByRole("heading", { level: 1, name: "Loading" }).waitFor({ state: "detached" });
  await page.locator(".loading, main [aria-busy=true]").waitFor({ state: "detached" });
  await page.getByText("live", { exact: true }).first().waitFor();
  await page.waitForLoadState("load");
}
