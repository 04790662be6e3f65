import type { LineProcess } from "../process/line-process.js";

export const answerWithinMs = 30_000;
const foreverMs = 60_000;

/** How long Redisson waits. Without it Redisson waits for ever, and the request fails after 60 s. */
export interface RedissonWait {
  readonly waitMs?: number;
}

/** One of Redisson's objects in the JVM; see `RedissonObjects.java`. */
export class RedissonObject {
  /** The name by which the JVM knows it. */
  readonly remoteName: string;
  readonly #lines: LineProcess;
  readonly #kind: string;

  constructor(lines: LineProcess, kind: string, remoteName: string) {
    this.#lines = lines;
    this.#kind = kind;
    this.remoteName = remoteName;
  }

  protected ask(verb: string, args: readonly unknown[] = [], withinMs = answerWithinMs): Promise<string[]> {
    return this.#lines.request(`${this.#kind}.${verb}`, [this.remoteName, ...args.map(String)], withinMs);
  }

  /** Sends a request that may take as long as `waitMs`, or for ever when that is negative. */
  protected askLong(verb: string, waitMs: number, args: readonly unknown[]): Promise<string[]> {
    return this.ask(verb, args, waitMs < 0 ? foreverMs : waitMs + answerWithinMs);
  }

  protected async askWhether(verb: string, args: readonly unknown[] = []): Promise<boolean> {
    return (await this.ask(verb, args))[0] === "true";
  }

  protected async askNumber(verb: string, args: readonly unknown[] = []): Promise<number> {
    return Number((await this.ask(verb, args))[0]);
  }
}
