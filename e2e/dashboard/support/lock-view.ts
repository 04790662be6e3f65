import { eventually } from "@holdfast/test-servers";
import type { Locator, Page } from "playwright-core";

/** Holders and waiters by the names that the backend gives them. The first of the queue is next. */
export interface Standing {
  readonly holders: readonly string[];
  readonly queue: readonly string[];
}

/** A lock's page, read as an operator reads it. */
export class LockView {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  get #cards(): Locator {
    return this.page.locator(".holder-card");
  }

  /** The dialog that asks for confirmation of an action. */
  get dialog(): Locator {
    return this.page.locator("dialog[open]");
  }

  async open(url: string): Promise<void> {
    await this.page.goto(url);
    await this.page.getByRole("heading", { level: 1 }).waitFor();
  }

  /** A fact of the first holder. */
  fact(name: string): Locator {
    return this.#cards
      .first()
      .locator("dl.facts > div")
      .filter({ has: this.page.locator("dt", { hasText: new RegExp(`^${name}$`) }) })
      .locator("dd");
  }

  async standing(): Promise<Standing> {
    const holders = await this.page
      .locator(".holder-card dl.facts > div")
      .filter({ has: this.page.locator("dt", { hasText: /^Entry$/ }) })
      .locator("dd")
      .allTextContents();
    const queue = await this.page
      .getByRole("table", { name: "Queue, next first" })
      .locator("tbody td span.key[title]")
      .evaluateAll((cells) => cells.map((cell) => cell.getAttribute("title") ?? ""));
    return { holders, queue };
  }

  /** The mode of each holder and waiter, in the order of `standing()`: `shared` or `exclusive`. */
  async modes(): Promise<Standing> {
    const cards = await this.#cards.allTextContents();
    const cells = this.page.getByRole("table", { name: "Queue, next first" }).locator("tbody td.mode");
    return {
      holders: cards.map((text) => (text.includes("shared (read)") ? "shared" : "exclusive")),
      queue: (await cells.allTextContents()).map((text) => text.trim()),
    };
  }

  async queueHeading(): Promise<string> {
    return (await this.page.getByRole("heading", { name: /^Queue/ }).textContent()) ?? "";
  }

  /** Waits until the page shows what `truth` returns. Both are read again for each comparison. */
  async shows(truth: () => Promise<Standing>): Promise<Standing> {
    let seen: unknown;
    return await eventually(
      async () => {
        const [shown, real] = [await this.standing(), await truth()];
        seen = { shown, real };
        return JSON.stringify(shown) === JSON.stringify(real) ? real : undefined;
      },
      { what: "the page to show the truth", withinMs: 30_000, detail: () => JSON.stringify(seen) },
    );
  }

  /** Opens the dialog of an action of the first holder. */
  async ask(action: string): Promise<void> {
    await this.page.locator(".holder-card").getByRole("button", { name: action }).first().click();
    await this.dialog.waitFor();
    // The effects of the action, as just read from the backend.
    await this.dialog.locator(".effects li").first().waitFor();
  }

  async fill({ typed, reason }: { typed?: string; reason: string }): Promise<void> {
    if (typed !== undefined) await this.dialog.getByLabel(/^Type/).fill(typed);
    await this.dialog.getByLabel(/Reason/).fill(reason);
  }
}
