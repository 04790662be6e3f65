import type { RedisLocksOptions } from "@holdfast/redis-recipes";
import { buildPackages, emit } from "../process/emit.js";
import { LineProcess } from "../process/line-process.js";
import type {
  RedissonExclusive,
  RedissonReadWriteContention,
  RedissonSemaphoreContention,
  TurnsHad,
} from "./redisson-contention.js";
import type { OurContention } from "./redisson-our-turns.js";

const answerWithinMs = 30_000;

export type OurReadWriteContention = RedissonReadWriteContention;
export type OurSemaphoreContention = RedissonSemaphoreContention & {
  readonly kind: "semaphore" | "permitSemaphore";
};

export interface HoldWanted {
  readonly kind: RedissonExclusive | "read" | "permitSemaphore";
  readonly name: string;
  readonly waitMs: number;
}

/** Starts a Node.js process that holds locks through the built packages, as an installed service would. */
export async function startOurProcess(options: RedisLocksOptions): Promise<OurProcess> {
  await buildPackages("@holdfast/redis-recipes", "@holdfast/multi-lock");
  await using emitted = await emit("support/redisson/redisson-contender");
  const lines = new LineProcess(process.execPath, [emitted.file]);
  const ours = new OurProcess(lines);
  try {
    // Once the process answers, it has loaded the program and needs the folder no longer.
    await ours.ask("connect", options, answerWithinMs);
  } catch (error) {
    await lines.kill();
    throw error;
  }
  return ours;
}

export class OurProcess implements AsyncDisposable {
  readonly #lines: LineProcess;

  constructor(lines: LineProcess) {
    this.#lines = lines;
  }

  contend(contention: OurContention, withinMs: number): Promise<TurnsHad> {
    return this.ask("contend", contention, withinMs);
  }

  contendReadWrite(
    contention: OurReadWriteContention,
    withinMs: number,
  ): Promise<{ readonly writes: number; readonly mostReaders: number }> {
    return this.ask("contendReadWrite", contention, withinMs);
  }

  contendSemaphore(
    contention: OurSemaphoreContention,
    withinMs: number,
  ): Promise<{ readonly mostHolders: number }> {
    return this.ask("contendSemaphore", contention, withinMs);
  }

  /** Takes the lock and keeps it, renewed, for as long as the process lives. */
  hold(wanted: HoldWanted): Promise<{ readonly permitIds: readonly string[] }> {
    return this.ask("hold", wanted, wanted.waitMs + answerWithinMs);
  }

  /** Counts down `times` times, one after the other. */
  async countDown(name: string, times: number, withinMs: number): Promise<void> {
    await this.ask("countDown", { name, times }, withinMs);
  }

  /** Sends SIGKILL. What the process holds stays until the lease is over. */
  kill(): Promise<void> {
    return this.#lines.kill();
  }

  async close(): Promise<void> {
    try {
      await this.ask("close", null, answerWithinMs);
    } finally {
      await this.#lines.end(5_000);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** See `redisson-contender.ts`. */
  async ask<T>(command: string, given: unknown, withinMs: number): Promise<T> {
    const [answer = "null"] = await this.#lines.request(command, [JSON.stringify(given)], withinMs);
    return JSON.parse(answer) as T;
  }
}
