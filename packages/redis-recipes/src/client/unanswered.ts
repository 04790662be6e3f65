import type { Millis, Runtime } from "@holdfast/core";

/** So long an answer may lie unread in the socket of a process that is late itself: it is read before the timers run again. */
const unreadMs: Millis = 1;

/** Something that was written and has no answer yet. */
export interface Unanswered {
  readonly sentMs: Millis;
  /** Words of the command. */
  readonly words: number;
}

/**
 * What one connection waits for, until the server has been silent for `limitMs`. A server that is still answering what was asked before is
 * busy and not silent, however long its line has become: if its answers were given up for their age alone, the same would be asked
 * again, and the line would grow until no answer came in time. The same holds for one long answer, such as that to a batch of
 * heartbeats: as long as more of it comes, it is waited for.
 *
 * One timer serves all, and is not moved by each: it rings at the earliest time at which one can be late, and looks.
 */
export class AnswerWatch<T extends Unanswered> {
  readonly #runtime: Pick<Runtime, "nowMs" | "setTimer">;
  readonly #limitMs: Millis;
  readonly #late: (unanswered: T) => void;
  /** In the order in which they were written. */
  readonly #waiting = new Set<T>();
  #words = 0;
  #heardMs: Millis = -Infinity;
  #cancel: (() => void) | undefined;
  #closed = false;
  /** The limit has passed, and what lies unread may still be read. */
  #lastLook = false;

  constructor(runtime: Pick<Runtime, "nowMs" | "setTimer">, limitMs: Millis, late: (unanswered: T) => void) {
    this.#runtime = runtime;
    this.#limitMs = limitMs;
    this.#late = late;
  }

  /** When bytes of the server last came. */
  get heardMs(): Millis {
    return this.#heardMs;
  }

  /** The words of all commands that it waits for. */
  get words(): number {
    return this.#words;
  }

  add(unanswered: T): void {
    this.#waiting.add(unanswered);
    this.#words += unanswered.words;
    if (this.#cancel === undefined) this.#arm(this.#limitMs);
  }

  /** Bytes of the server came: a long answer takes its time on a slow link, and its server is not silent meanwhile. */
  heard(): void {
    this.#heardMs = this.#runtime.nowMs();
  }

  remove(unanswered: T): void {
    if (this.#waiting.delete(unanswered)) this.#words -= unanswered.words;
    if (this.#closed && this.#waiting.size === 0) this.#cancel?.();
  }

  /** Nothing is written any more: the timer does not outlast what is waited for. */
  close(): void {
    this.#closed = true;
    if (this.#waiting.size === 0) this.#cancel?.();
  }

  #arm(delayMs: Millis): void {
    this.#cancel = this.#runtime.setTimer(delayMs, this.#look, { ref: true });
  }

  readonly #look = (): void => {
    this.#cancel = undefined;
    const nowMs = this.#runtime.nowMs();
    const wasLast = this.#lastLook;
    this.#lastLook = false;
    for (const oldest of this.#waiting) {
      const silentMs = nowMs - Math.max(oldest.sentMs, this.#heardMs);
      if (silentMs >= this.#limitMs && wasLast) {
        this.remove(oldest);
        this.#late(oldest);
        continue;
      }
      this.#lastLook = silentMs >= this.#limitMs;
      this.#arm(this.#lastLook ? unreadMs : this.#limitMs - silentMs);
      return;
    }
  };
}
