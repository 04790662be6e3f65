import type { Millis, Runtime } from "@holdfast/core";
import type { RedisLine } from "../client/redis-line.js";
import { ReplyShapeError, type Script } from "../scripts/script.js";

/** A batch script with what one call of ours gives it. One object for each script: what is asked by the same one goes together. */
export interface BatchKind<E, R> {
  readonly script: Script<readonly R[]>;
  /** Asked when the call is made. */
  args(entries: readonly E[], keys: readonly string[]): (string | number)[];
  /** Entries in one call at most, so that no call keeps the server busy for more than a few milliseconds. */
  readonly limit: number;
}

export interface BatchAnswer<R> {
  readonly reply: R;
  readonly sentMs: Millis;
  readonly answeredMs: Millis;
  readonly runId: string;
}

interface Item {
  readonly keys: readonly string[];
  readonly entry: unknown;
  resolve(answer: BatchAnswer<never>): void;
  reject(error: Error): void;
}

type AnyKind = BatchKind<unknown, unknown>;

/**
 * Puts what is asked in one turn of the event loop, or within the delay that the askers grant, into as few calls as there are slots. Renewals and
 * heartbeats of ten thousand locks are some dozens of calls then.
 */
export class Batches {
  readonly #line: RedisLine;
  readonly #runtime: Runtime;
  readonly #pending = new Map<AnyKind, Item[]>();
  #dueMs: Millis = Infinity;
  #cancelTimer: (() => void) | undefined;

  constructor(line: RedisLine, runtime: Runtime) {
    this.#line = line;
    this.#runtime = runtime;
  }

  /** Rejects as `RedisLine.run` does. `withinMs`: how long it may wait for company; default 0, the end of this turn. */
  ask<E, R>(
    kind: BatchKind<E, R>,
    keys: readonly string[],
    entry: E,
    withinMs: Millis = 0,
  ): Promise<BatchAnswer<R>> {
    return new Promise((resolve, reject) => {
      const items = this.#pending.get(kind as unknown as AnyKind);
      const item: Item = { keys, entry, resolve: resolve as Item["resolve"], reject };
      if (items === undefined) this.#pending.set(kind as unknown as AnyKind, [item]);
      else items.push(item);
      this.#flushWithin(withinMs);
    });
  }

  #flushWithin(withinMs: Millis): void {
    const dueMs = this.#runtime.nowMs() + withinMs;
    if (dueMs >= this.#dueMs) return;
    this.#dueMs = dueMs;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (withinMs <= 0) queueMicrotask(this.#flush);
    else this.#cancelTimer = this.#runtime.setTimer(withinMs, this.#flush);
  }

  readonly #flush = (): void => {
    this.#dueMs = Infinity;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const pending = [...this.#pending];
    this.#pending.clear();
    for (const [kind, items] of pending) void this.#send(kind, items);
  };

  async #send(kind: AnyKind, items: readonly Item[]): Promise<void> {
    const chunks = chunksOf(items, kind.limit, (item) => this.#line.slotOf(item.keys[0] as string));
    const runs = chunks.map((chunk) => {
      const keys = chunk.flatMap((item) => item.keys);
      return {
        keys,
        args: kind.args(
          chunk.map((item) => item.entry),
          keys,
        ),
      };
    });
    const answers = await this.#line.runAll(kind.script, runs);
    chunks.forEach((chunk, index) => {
      const answer = answers[index];
      if (answer === undefined || answer instanceof Error) {
        for (const item of chunk)
          item.reject(answer ?? new ReplyShapeError(kind.script.name, "nothing", answer));
        return;
      }
      const { reply, sentMs, answeredMs, runId } = answer;
      chunk.forEach((item, place) => {
        const own = reply[place];
        if (own === undefined) item.reject(new ReplyShapeError(kind.script.name, "too little", reply));
        else item.resolve({ reply: own as never, sentMs, answeredMs, runId });
      });
    });
  }
}

function chunksOf(items: readonly Item[], limit: number, slotOf: (item: Item) => number | null): Item[][] {
  const bySlot = new Map<number | null, Item[][]>();
  for (const item of items) {
    const slot = slotOf(item);
    const chunks = bySlot.get(slot);
    const last = chunks?.at(-1);
    if (chunks === undefined) bySlot.set(slot, [[item]]);
    else if (last === undefined || last.length >= limit) chunks.push([item]);
    else last.push(item);
  }
  return [...bySlot.values()].flat();
}
