import { buildPackages, emit } from "../process/emit.js";
import { LineProcess } from "../process/line-process.js";

const answerWithinMs = 30_000;

/** A process of its own that takes re-entrant mutexes on Redis through the built packages. See `redis-owner.ts`. */
export class RedisOwnerProcess {
  readonly #lines: LineProcess;

  private constructor(lines: LineProcess) {
    this.#lines = lines;
  }

  /** Starts `count` such processes. The program is built once for all of them. */
  static async start(
    count: number,
    url: string,
    options: { readonly leaseMs: number },
  ): Promise<RedisOwnerProcess[]> {
    await buildPackages("@holdfast/redis-recipes");
    await using emitted = await emit("support/redis/redis-owner");
    const all = Array.from({ length: count }, () => new LineProcess(process.execPath, [emitted.file]));
    try {
      await Promise.all(
        all.map((lines) => lines.request("connect", [url, String(options.leaseMs)], answerWithinMs)),
      );
    } catch (error) {
      await Promise.all(all.map((lines) => lines.kill()));
      throw error;
    }
    return all.map((lines) => new RedisOwnerProcess(lines));
  }

  /** The token; `null` when the lock was not granted. */
  async take(name: string, owner: string, waitMs = 0): Promise<bigint | null> {
    const [token] = await this.#lines.request("take", [name, owner, String(waitMs)], waitMs + answerWithinMs);
    return token === undefined ? null : BigInt(token);
  }

  async release(name: string): Promise<string> {
    const [outcome = ""] = await this.#lines.request("release", [name], answerWithinMs);
    return outcome;
  }

  /** Sends SIGKILL. */
  kill(): Promise<void> {
    return this.#lines.kill();
  }

  async close(): Promise<void> {
    try {
      await this.#lines.request("close", [], answerWithinMs);
    } finally {
      await this.#lines.end(5_000);
    }
  }
}
