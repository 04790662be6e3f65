import { type DashboardConfig, type RunningDashboard, startDashboard } from "@holdfast/dashboard";
import { eventually } from "@holdfast/test-servers";
import { inject } from "vitest";
import type {
  ActionAnswer,
  ActionBody,
  LockDetail,
  LockRow,
  Locks,
  Me,
} from "../../../apps/dashboard/src/contract/api.js";

/** The dashboard on a free port, with the page of this tree. Every request from this machine has all rights. */
export class Dashboard implements AsyncDisposable {
  readonly #running: RunningDashboard;

  private constructor(running: RunningDashboard) {
    this.#running = running;
  }

  static async start(
    config: Omit<DashboardConfig, "listen">,
    options: Parameters<typeof startDashboard>[1] = {},
  ): Promise<Dashboard> {
    const listen = { host: "127.0.0.1", port: 0 };
    return new Dashboard(
      await startDashboard(
        { actions: true, ...config, listen },
        { pageDirectory: inject("pageDirectory"), ...options },
      ),
    );
  }

  get url(): string {
    return this.#running.url;
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.url}api/v1/${path}`);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Waits until the row of a lock is as `wished`. Without `cluster`, the row may be of any cluster. */
  async row(key: string, wished: (row: LockRow) => boolean = () => true, cluster?: string): Promise<LockRow> {
    let seen: LockRow | undefined;
    return await eventually(
      async () => {
        const { rows } = await this.get<Locks>(`locks?q=${encodeURIComponent(key)}`);
        seen = rows.find((each) => each.key === key && (cluster ?? each.cluster) === each.cluster);
        return seen !== undefined && wished(seen) ? seen : undefined;
      },
      { what: `the row of ${key}`, withinMs: 30_000, everyMs: 50, detail: () => JSON.stringify(seen) },
    );
  }

  /** Requests an action in the same way as the page. */
  async act(id: string, body: Omit<ActionBody, "expectedVersion">): Promise<ActionAnswer> {
    const [me, { lock }] = await Promise.all([this.get<Me>("me"), this.detail(id)]);
    const response = await fetch(`${this.url}api/v1/locks/${id}/actions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "sec-fetch-site": "same-origin",
        "x-csrf-token": me.csrfToken,
      },
      body: JSON.stringify({ ...body, expectedVersion: lock.version }),
    });
    if (!response.ok) throw new Error(`${body.action}: ${response.status} ${await response.text()}`);
    return (await response.json()) as ActionAnswer;
  }

  async urlOf(key: string): Promise<string> {
    return `${this.url}locks/${(await this.row(key)).id}`;
  }

  detail(id: string): Promise<LockDetail> {
    return this.get(`locks/${id}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#running.close();
  }
}
