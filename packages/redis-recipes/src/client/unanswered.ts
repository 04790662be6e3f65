import type { Millis, Runtime } from "@holdfast/core";

/** So long an answer may lie unread in the socket of a process that is late itself: it is read before the timers run again. */
const unreadMs: Millis = 1;

/** Something that was written and has no answer yet. */
export interface Unanswered {
  readonly sentMs: Millis;
  /** Words of the command. */
  readonly words: number;
}

interface AnswerWatchOptions<T> {
  readonly limitMs: Millis;
  /** At least `limitMs`; `Infinity`: no silence is too long. */
  readonly silentMs: Millis;
  /** Its outcome is unknown. An answer may still come. */
  late(unanswered: T): void;
  /** The server has been silent for too long: neither this will be answered, which was written first, nor what was written behind it. */
  dead(unanswered: T): void;
}

/**
 * What one connection waits for, until the server has been silent for `limitMs`. A server that is still answering what was asked before is
 * busy and not silent, however long its line has become: if its answers were given up for their age alone, the same would be asked
 * again, and the line would grow until no answer came in time. The same holds for one long answer, such as that to a batch of
 * heartbeats: as long as more of it comes, it is waited for.
 *
 * What was given up so may still be answered. Where it is not, and no byte comes for `silentMs`, the server is dead.
 *
 * One timer serves all, and is not moved by each: it rings at the earliest time at which one can be late, and looks.
 */
export class AnswerWatch<T extends Unanswered> {
  readonly #runtime: Pick<Runtime, "nowMs" | "setTimer">;
  readonly #options: AnswerWatchOptions<T>;
  /** In the order in which they were written. */
  readonly #waiting = new Set<T>();
  /** What was late and has no answer yet, in that order too. */
  readonly #missed = new Set<T>();
  #words = 0;
  #heardMs: Millis = -Infinity;
  #cancel: (() => void) | undefined;
  #closed = false;
  /** The limit has passed, and what lies unread may still be read. */
  #lastLook = false;

  constructor(runtime: Pick<Runtime, "nowMs" | "setTimer">, options: AnswerWatchOptions<T>) {
    this.#runtime = runtime;
    this.#options = options;
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
    if (this.#cancel === undefined) this.#arm(this.#options.limitMs);
  }

  /** Bytes of the server came: a long answer takes its time on a slow link, and its server is not silent meanwhile. */
  heard(): void {
    this.#heardMs = this.#runtime.nowMs();
  }

  remove(unanswered: T): void {
    if (this.#waiting.delete(unanswered)) this.#words -= unanswered.words;
    else this.#missed.delete(unanswered);
    if (this.#closed && this.#waiting.size === 0) this.#cancel?.();
  }

  /** Nothing is written any more: the timer does not outlast what is waited for. */
  close(): void {
    this.#closed = true;
    if (this.#waiting.size === 0) this.#cancel?.();
  }

  /** What is done in a look may have set the timer. */
  #arm(delayMs: Millis): void {
    this.#cancel?.();
    this.#cancel = this.#runtime.setTimer(delayMs, this.#look, { ref: true });
  }

  #silentSinceMs({ sentMs }: T): Millis {
    return Math.max(sentMs, this.#heardMs);
  }

  /** When the server will have been silent for too long. */
  get #deadAtMs(): Millis {
    const [first] = this.#missed;
    return first === undefined ? Infinity : this.#silentSinceMs(first) + this.#options.silentMs;
  }

  readonly #look = (): void => {
    this.#cancel = undefined;
    const { limitMs } = this.#options;
    const nowMs = this.#runtime.nowMs();
    const wasLast = this.#lastLook;
    this.#lastLook = false;
    if (nowMs >= this.#deadAtMs) this.#giveUp();
    for (const oldest of this.#waiting) {
      const silentMs = nowMs - this.#silentSinceMs(oldest);
      if (silentMs >= limitMs && wasLast) {
        this.remove(oldest);
        this.#missed.add(oldest);
        this.#options.late(oldest);
        continue;
      }
      this.#lastLook = silentMs >= limitMs;
      this.#arm(Math.min(this.#lastLook ? unreadMs : limitMs - silentMs, this.#deadAtMs - nowMs));
      return;
    }
    // Never further away than what is written next can be late.
    if (this.#deadAtMs < Infinity && !this.#closed) this.#arm(Math.min(limitMs, this.#deadAtMs - nowMs));
  };

  #giveUp(): void {
    const [first] = this.#missed;
    this.#missed.clear();
    if (first !== undefined) this.#options.dead(first);
  }
}
