import type { Random } from "../engine/random.js";
import type { WorkerGroup } from "../engine/scenario.js";
import type { Held } from "./held.js";
import { pass } from "./pass.js";
import type { WorkerKey } from "./protocol.js";
import type { RecordedCalls } from "./recorded-calls.js";

export interface ContenderOptions {
  readonly calls: RecordedCalls;
  readonly group: WorkerGroup;
  readonly keys: readonly WorkerKey[];
  readonly random: Random;
  /** Its name among the contenders of its process. It is also the logical thread of re-entrant holds. */
  readonly name: string;
  /** When it aborts, the contender begins no new turn. */
  readonly stop: AbortSignal;
}

/**
 * Takes turns at its keys until it is stopped. The options of a group:
 * - `heeds` (default true): after the notice of a loss it stops working and writes nothing.
 * - `tries`: the share of acquires that ask only once.
 * - `reads` (default 0.5): the share of reads.
 * - `downgrades` (default 0.25): the share of writes that are downgraded.
 * - `turns` (default 1): the number of turns in a row at one key.
 * - `restMs` (default 0): the longest rest before them.
 * - `aborts` (default 0): the share of limited waits that end by an abort signal instead of a limit.
 * - `permits` (default 1): the most permits at a time.
 * - `depth` (default 2): the number of nested acquires.
 */
export class Contender {
  readonly #options: ContenderOptions;

  constructor(options: ContenderOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { group, keys, random, stop } = this.#options;
    const [first, ...others] = keys;
    if (first === undefined) return;
    const turns = this.#number("turns", 1);
    const restMs = this.#number("restMs", 0);
    while (!stop.aborted) {
      // Rest before the first turns, too, so that not all contenders begin at once.
      if (restMs > 0) await pass(random.between(0, restMs), stop);
      const key = random.pick([first, ...others]);
      for (let turn = 0; turn < turns && !stop.aborted; turn++) {
        const granted = await this.#turn(key);
        const [least, most] = group.pauseMs ?? [0, 5];
        // A contender that was refused or failed does not ask again at once. `handover` knows its longest rest.
        await pass(granted ? random.between(least, most) : random.between(50, 150), stop);
      }
    }
  }

  async #turn(key: WorkerKey): Promise<boolean> {
    switch (key.kind) {
      case "read-write":
        return await this.#shared(key);
      case "reentrant":
        return await this.#nested(key, this.#number("depth", 2));
      case "semaphore":
        return await this.#simple(key, this.#options.random.between(1, this.#number("permits", 1)));
      default:
        return await this.#simple(key, 1);
    }
  }

  async #simple(key: WorkerKey, permits: number): Promise<boolean> {
    const held = await this.#options.calls.acquire(key, {
      permits,
      once: this.#chance("tries", 0),
      ...this.#wait,
    });
    if (held === null) return false;
    if (key.kind === "semaphore") await this.#linger(held);
    else await this.#work(held);
    await this.#options.calls.release(held);
    return true;
  }

  async #shared(key: WorkerKey): Promise<boolean> {
    const { calls, name } = this.#options;
    const mode = this.#chance("reads", 0.5) ? "read" : "write";
    const held = await calls.acquire(key, { mode, thread: name, ...this.#wait });
    if (held === null) return false;
    if (mode === "read") {
      await this.#linger(held);
      await calls.release(held);
      return true;
    }
    await this.#work(held);
    if (held.grant.downgrade === undefined || !this.#chance("downgrades", 0.25)) {
      await calls.release(held);
      return true;
    }
    const read = await calls.downgrade(held);
    if (read === null) await held.grant.release();
    else {
      await this.#linger(read);
      await calls.release(read);
    }
    return true;
  }

  async #nested(key: WorkerKey, depth: number): Promise<boolean> {
    const { calls, name } = this.#options;
    const outer = await calls.acquire(key, { thread: name, ...this.#wait });
    if (outer === null) return false;
    if (depth > 1) await this.#nested(key, depth - 1);
    else await this.#work(outer);
    await calls.release(outer);
    return true;
  }

  /** Does a read-modify-write over the whole hold. */
  async #work(held: Held): Promise<void> {
    const { calls, group } = this.#options;
    const read = group.writes === undefined ? null : await calls.read(held);
    await this.#linger(held);
    if (read === null || (this.#heeds && held.grant.lost?.aborted === true)) return;
    await calls.write(held, read);
  }

  async #linger(held: Held): Promise<void> {
    const { group, random } = this.#options;
    const [least, most] = group.holdMs;
    await pass(random.between(least, most), this.#heeds ? held.grant.lost : null);
  }

  get #heeds(): boolean {
    return this.#options.group.options?.heeds !== false;
  }

  get #wait(): { waitMs?: number; aborts?: boolean } {
    const { waitMs } = this.#options.group;
    return waitMs === undefined ? {} : { waitMs, aborts: this.#chance("aborts", 0) };
  }

  #chance(option: string, share: number): boolean {
    return this.#options.random.next() < this.#number(option, share);
  }

  #number(option: string, otherwise: number): number {
    const value = this.#options.group.options?.[option];
    return typeof value === "number" ? value : otherwise;
  }
}
