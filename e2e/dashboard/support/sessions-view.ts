import type { Page } from "playwright-core";

/** A row of the page's table, with the texts that it shows. */
export interface ShownSession {
  readonly name: string;
  readonly address: string;
  readonly server: string;
  readonly state: string;
  readonly timeout: string;
  readonly established: string;
  readonly lastSeen: string;
  readonly holds: string;
  readonly waits: string;
}

/** The page of sessions, read as an operator reads it. */
export class SessionsView {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Opens the page with the sessions of one cluster only. */
  async open(url: string, cluster: string): Promise<void> {
    await this.page.goto(`${url}sessions?cluster=${cluster}`);
    await this.page.locator("tbody tr").first().waitFor();
  }

  /** The shown sessions by their ids. */
  async rows(): Promise<Map<string, ShownSession>> {
    const rows = await this.page.locator("tbody tr").evaluateAll((all) =>
      all.map((row) => ({
        id: row.querySelector("th a")?.getAttribute("title") ?? "",
        cells: [...row.querySelectorAll("td")].map((cell) => cell.textContent?.trim() ?? ""),
      })),
    );
    return new Map(
      rows.map(({ id, cells }) => {
        const [name = "", address = "", server = "", state = "", timeout = "", ...rest] = cells;
        const [established = "", lastSeen = "", holds = "", waits = ""] = rest;
        return [id, { name, address, server, state, timeout, established, lastSeen, holds, waits }];
      }),
    );
  }

  async notices(): Promise<string[]> {
    return this.page.locator("main p.notice").allTextContents();
  }
}
