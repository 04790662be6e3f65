import { BackendError, type Millis, type Runtime } from "@holdfast/core";
import { EarliestTimer, inSlices, SlicedWork } from "@holdfast/core/internal";
import { ReplyError } from "../../client/errors.js";
import type { Answer, RedisLine } from "../../client/redis-line.js";
import type { RedissonPublish } from "../../layout/channels.js";
import { ReplyShapeError, type Script } from "../../scripts/script.js";
import { conflictIn } from "./foreign-key.js";
import type { RecipeSettings } from "./settings.js";

/**
 * A batch script, and what our calls of it need. There is one object for each script: all entries that are asked with the same
 * object go together.
 */
export interface BatchKind<E, R> {
  readonly script: Script<readonly R[]>;
  /** Called when the call is made. */
  args(entries: readonly E[], keys: readonly string[], context: BatchContext): (string | number)[];
  /** The most entries in one call, so that no call keeps the server busy for more than a few milliseconds. */
  readonly limit: number;
  /** How much an entry counts towards `limit`. Default 1. An entry above the limit goes in a call of its own. */
  weightOf?(entry: E): number;
}

/** The source of a script's arguments besides the lock and its owner. */
export interface BatchContext {
  readonly settings: RecipeSettings;
  /** The command that reaches Java, and our own clients, on Redisson's channels. */
  readonly publish: RedissonPublish;
  /** Server time after which a request for this key does nothing; `null` where no bound of the server's clock is known. */
  notAfterMs(key: string): number | null;
  /** `serverMs` is 0 for an answer without the server's time. */
  noteClock(serverMs: number, heard: Heard): void;
}

/** The parts of a provider's requests that `Batches` uses. */
type Asking = BatchContext & { readonly line: RedisLine; readonly runtime: Runtime };

/** Requests in a batch do not wait for replicas. */
export type BatchAnswer<R> = Omit<Answer<R>, "acknowledged">;

/** The part of an answer that a reading of the server's clock needs. */
export type Heard = Pick<Answer<unknown>, "sentMs" | "answeredMs" | "runId">;

export interface Patience {
  /** How long the request may wait for others to go with it. Default 0, the end of this turn. */
  readonly withinMs?: Millis;
  /**
   * Read when the call is made. A request whose answer is no longer wanted then is not sent, and rejects. Default: always wanted.
   */
  wanted?(): boolean;
}

interface Item {
  readonly keys: readonly string[];
  readonly entry: unknown;
  readonly wanted: (() => boolean) | undefined;
  resolve(answer: BatchAnswer<never>): void;
  reject(error: Error): void;
}

type AnyKind = BatchKind<unknown, { readonly serverMs: number }>;

/** The requests that wait for one slot; without slots, all of them. */
interface Waiting {
  dueMs: Millis;
  readonly items: Map<AnyKind, Item[]>;
}

/** In a cluster, slots that are due within this time of each other leave together, in one flight for each node. */
const flightMs: Millis = 20;
/** How many calls are encoded at once. */
const flightSize = 8;

/**
 * Puts the requests of one turn of the event loop, or of the delay that they allow, into as few calls as there are slots. So
 * renewals and heartbeats of ten thousand locks take some dozens of calls. The request that is due first takes along all that
 * wait for the same slot.
 */
export class Batches {
  readonly #context: Asking;
  readonly #waiting = new Map<number | null, Waiting>();
  /** Answers that are still to be delivered: those to very many calls may come together. */
  readonly #answers: SlicedWork;
  readonly #timer: EarliestTimer;
  /** A flush is queued for the end of this turn. */
  #flushing = false;

  constructor(context: Asking) {
    this.#context = context;
    this.#timer = new EarliestTimer(context.runtime, this.#flush);
    this.#answers = new SlicedWork(context.runtime);
  }

  /** Rejects as `RedisLine.run` does. The server's time in the answer is noted. */
  ask<E, R extends { readonly serverMs: number }>(
    kind: BatchKind<E, R>,
    keys: readonly string[],
    entry: E,
    { withinMs = 0, wanted }: Patience = {},
  ): Promise<BatchAnswer<R>> {
    return new Promise((resolve, reject) => {
      const item: Item = { keys, entry, wanted, resolve: resolve as Item["resolve"], reject };
      this.#add(kind as unknown as AnyKind, item, this.#context.runtime.nowMs() + withinMs);
      this.#flushWithin(withinMs);
    });
  }

  #add(kind: AnyKind, item: Item, dueMs: Millis): void {
    const slot = this.#context.line.slotOf(item.keys[0] as string);
    const waiting = this.#waiting.get(slot) ?? { dueMs, items: new Map<AnyKind, Item[]>() };
    this.#waiting.set(slot, waiting);
    waiting.dueMs = Math.min(waiting.dueMs, dueMs);
    const items = waiting.items.get(kind) ?? [];
    waiting.items.set(kind, items);
    items.push(item);
  }

  #flushWithin(withinMs: Millis): void {
    if (withinMs > 0) this.#timer.ringBy(this.#context.runtime.nowMs() + withinMs);
    else if (!this.#flushing) {
      this.#flushing = true;
      queueMicrotask(this.#flush);
    }
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    this.#timer.clear();
    const nowMs = this.#context.runtime.nowMs();
    const calls = new Map<AnyKind, Item[][]>();
    let nextMs: Millis = Infinity;
    for (const [slot, { dueMs, items }] of this.#waiting) {
      if (dueMs > nowMs + flightMs) {
        nextMs = Math.min(nextMs, dueMs);
        continue;
      }
      this.#waiting.delete(slot);
      for (const [kind, all] of items) {
        const { limit, weightOf = () => 1 } = kind;
        const chunks = chunksOf(all.filter(stillWanted), limit, ({ entry }) => weightOf(entry));
        calls.set(kind, [...(calls.get(kind) ?? []), ...chunks]);
      }
    }
    if (nextMs < Infinity) this.#flushWithin(nextMs - nowMs);
    for (const [kind, chunks] of calls) {
      const flights = chunksOf(chunks, flightSize, () => 1);
      inSlices(this.#context.runtime, flights, (flight) => this.#send(kind, flight));
    }
  };

  #send(kind: AnyKind, chunks: readonly (readonly Item[])[]): void {
    const runs = chunks.map((chunk) => {
      const keys = chunk.flatMap((item) => item.keys);
      const entries = chunk.map((item) => item.entry);
      return { keys, args: kind.args(entries, keys, this.#context) };
    });
    const answers = this.#context.line.runAll(kind.script, runs);
    // Each answer is handed out as soon as it is there, so that a slow master does not delay the answers of the others.
    chunks.forEach(async (chunk, index) => {
      const answer = await answers[index];
      if (isOfSome(answer) && chunk.length > 1) {
        // Ask for each entry alone, so that the others do not fail too. Asking again does no harm.
        const alone = chunk.map((item) => [item]);
        this.#send(kind, alone);
        return;
      }
      if (answer === undefined || answer instanceof Error) {
        const error = answer ?? new ReplyShapeError(kind.script.name, "nothing", answer);
        for (const item of chunk) this.#answers.add(() => item.reject(conflictIn(item.keys, error) as Error));
        return;
      }
      const { reply, ...rest } = answer;
      if (reply[0] !== undefined) this.#context.noteClock(reply[0].serverMs, answer);
      chunk.forEach((item, place) => {
        const own = reply[place];
        if (own === undefined) item.reject(new ReplyShapeError(kind.script.name, "too little", reply));
        else this.#answers.add(() => item.resolve({ ...rest, reply: own as never }));
      });
    });
  }
}

/**
 * Whether the error may concern only some entries. Examples: an entry with foreign data beside its lock, an entry whose answer
 * cannot be read, or, while a slot is being moved, locks that have already moved or have not moved yet.
 */
export function isOfSome(answer: unknown): boolean {
  if (answer instanceof ReplyShapeError) return true;
  return answer instanceof ReplyError && (!answer.retryable || answer.kind === "try-again");
}

function stillWanted(item: Item): boolean {
  if (item.wanted === undefined || item.wanted()) return true;
  item.reject(new BackendError("the answer is not wanted any more", { backend: "redis" }));
  return false;
}

/** Splits the items, in order, into as few chunks as possible, none with more weight than `limit`. */
export function chunksOf<T>(items: readonly T[], limit: number, weightOf: (item: T) => number): T[][] {
  const chunks: T[][] = [];
  let leftOver = 0;
  for (const item of items) {
    const weight = weightOf(item);
    if (weight > leftOver) {
      chunks.push([]);
      leftOver = limit;
    }
    chunks.at(-1)?.push(item);
    leftOver -= weight;
  }
  return chunks;
}
