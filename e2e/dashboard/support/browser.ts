import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireChromium } from "@holdfast/test-servers";
import { type BrowserContext, chromium, type Page } from "playwright-core";

export type Theme = "light" | "dark";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];
/** Allows for the delays of a loaded machine. It is no limit for what the page may take. */
const patienceMs = 30_000;

/** A Chromium with its own profile. */
export class Browser implements AsyncDisposable {
  readonly #context: BrowserContext;
  readonly #profile: string;

  private constructor(context: BrowserContext, profile: string) {
    this.#context = context;
    this.#profile = profile;
  }

  static async open(): Promise<Browser> {
    const profile = await mkdtemp(join(tmpdir(), "holdfast-browser-"));
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: requireChromium(),
      args: flags,
      headless: true,
      viewport: { width: 1280, height: 800 },
      timezoneId: "UTC",
      locale: "en-GB",
      reducedMotion: "reduce",
    });
    context.setDefaultTimeout(patienceMs);
    return new Browser(context, profile);
  }

  /** Opens a tab, which collects its errors. */
  async tab(theme: Theme = "light"): Promise<Tab> {
    const page = await this.#context.newPage();
    await page.emulateMedia({ colorScheme: theme });
    return new Tab(page);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
    await rm(this.#profile, { recursive: true, force: true });
  }
}

export class Tab implements AsyncDisposable {
  readonly page: Page;
  readonly #trouble: string[] = [];

  constructor(page: Page) {
    this.page = page;
    page.on("pageerror", (error) => this.#trouble.push(`script: ${error.message}`));
    page.on("console", (message) => {
      // A failed load is recorded below, with its address.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        this.#trouble.push(`console: ${message.text()}`);
    });
    page.on("response", (response) => {
      if (response.status() >= 400) this.#trouble.push(`${response.status()} ${response.url()}`);
    });
    page.on("dialog", (dialog) => {
      this.#trouble.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  /**
   * Errors of scripts and of the content security policy, dialogs, and answers with an error status. Leaves out those that match
   * `expected`.
   */
  trouble(expected = /^404 .*\/api\/v1\/locks\/[^/]+(\/history)?$/): string[] {
    return this.#trouble.filter((each) => !expected.test(each));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.close();
  }
}
