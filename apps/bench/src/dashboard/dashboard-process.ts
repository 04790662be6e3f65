import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Inside } from "./messages.js";

const startWithinMs = 30_000;

/** The dashboard's own program, started as an operator starts it, and what it reports of its process. */
export class DashboardProcess implements AsyncDisposable {
  /** The address at which it listens, with a slash at the end. */
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #token: string | undefined;

  private constructor(child: ChildProcess, folder: string, url: string, token: string | undefined) {
    this.#child = child;
    this.#folder = folder;
    this.#token = token;
    this.url = url;
  }

  /** `tokens`: those of its viewers. Without any, viewers need no credentials. */
  static async start(config: object, tokens: readonly string[] = []): Promise<DashboardProcess> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-bench-"));
    const file = join(folder, "dashboard.json");
    const bearer = tokens.map((_, at) => ({
      name: `viewer-${at}`,
      role: "viewer",
      token: { env: `BENCH_TOKEN_${at}` },
    }));
    const auth = tokens.length === 0 ? {} : { auth: { bearer } };
    await writeFile(file, JSON.stringify({ listen: { host: "127.0.0.1", port: 0 }, ...auth, ...config }));
    const program = fileURLToPath(new URL("./cli.js", import.meta.resolve("@holdfast/dashboard")));
    const watch = new URL("./watch-loop.js", import.meta.url).href;
    const child = fork(program, ["--config", file], {
      execArgv: ["--import", watch],
      env: { ...process.env, ...Object.fromEntries(tokens.map((token, at) => [`BENCH_TOKEN_${at}`, token])) },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    try {
      return new DashboardProcess(child, folder, await urlOf(child), tokens[0]);
    } catch (error) {
      child.kill("SIGKILL");
      await rm(folder, { recursive: true });
      throw error;
    }
  }

  async get<T>(path: string): Promise<T> {
    const headers = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
    const response = await fetch(`${this.url}${path}`, { headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    const text = await response.text();
    return (response.headers.get("content-type")?.includes("json") === true ? JSON.parse(text) : text) as T;
  }

  /** What the process reports of itself, for the time since the last question. */
  async inside(): Promise<Inside> {
    const answer = once(this.#child, "message");
    this.#child.send("tell");
    const [told] = (await answer) as [Inside];
    return told;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await ended;
    await rm(this.#folder, { recursive: true });
  }
}

function urlOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const late = setTimeout(() => reject(new Error(`the dashboard does not start: ${said}`)), startWithinMs);
    child.stderr?.on("data", (chunk: Buffer) => {
      said = (said + chunk).slice(-4_096);
      const url = /^holdfast-dashboard: (http\S+)$/m.exec(said)?.[1];
      if (url === undefined) return;
      clearTimeout(late);
      resolve(url);
    });
    child.once("exit", (code) => {
      clearTimeout(late);
      reject(new Error(`the dashboard ended with ${code}: ${said}`));
    });
  });
}
