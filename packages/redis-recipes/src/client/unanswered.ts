import type { Millis, Runtime } from "@holdfast/core";

/**
 * How long an answer may lie unread in the socket when this process itself is late. After this the socket is read before timers
 * run again.
 */
const unreadMs: Millis = 1;

/** Something that was written and is not answered yet. */
export interface Unanswered {
  readonly sentMs: Millis;
  /** The number of words of the command. */
  readonly words: number;
}

interface AnswerWatchOptions<T> {
  readonly limitMs: Millis;
  /** At least `limitMs`; `Infinity`: no silence is too long. */
  readonly silentMs: Millis;
  /** The outcome of `unanswered` is unknown. An answer may still come. */
  late(unanswered: T): void;
  /**
   * The server has been silent for too long. Neither `unanswered`, which was written first, nor anything written after it will be
   * answered.
   */
  dead(unanswered: T): void;
}

/**
 * The unanswered commands of one connection. They are given up when the server has been silent for `limitMs`. A server that still
 * answers earlier commands is busy and not silent, however long its queue has become. If commands were given up for their age
 * alone, they would be sent again, and the queue would grow until no answer came in time. The same holds for one long answer,
 * such as that to a batch of heartbeats: while more of it arrives, it is waited for.
 *
 * A command that was given up may still be answered. If it is not, and no byte comes for `silentMs`, the server counts as dead.
 *
 * One timer serves all commands, and is not set again for each. It rings when the first command can be late, and then checks.
 */
export class AnswerWatch<T extends Unanswered> {
  readonly #runtime: Pick<Runtime, "nowMs" | "setTimer">;
  readonly #options: AnswerWatchOptions<T>;
  /** In the order in which they were written. */
  readonly #waiting = new Set<T>();
  /** Commands that were late and are still unanswered, in the order in which they were written. */
  readonly #missed = new Set<T>();
  #words = 0;
  #heardMs: Millis = -Infinity;
  #cancel: (() => void) | undefined;
  #closed = false;
  /** The limit has passed. The next look, one turn later, decides, after what lies unread in the socket has been read. */
  #lastLook = false;

  constructor(runtime: Pick<Runtime, "nowMs" | "setTimer">, options: AnswerWatchOptions<T>) {
    this.#runtime = runtime;
    this.#options = options;
  }

  /** When the last bytes of the server came. */
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

  /** Called when bytes of the server arrive. A long answer takes time on a slow link, and its server is not silent meanwhile. */
  heard(): void {
    this.#heardMs = this.#runtime.nowMs();
  }

  remove(unanswered: T): void {
    if (this.#waiting.delete(unanswered)) this.#words -= unanswered.words;
    else this.#missed.delete(unanswered);
    if (this.#closed && this.#waiting.size === 0) this.#cancel?.();
  }

  /** Called when nothing more will be written: the timer ends with the last command that is waited for. */
  close(): void {
    this.#closed = true;
    if (this.#waiting.size === 0) this.#cancel?.();
  }

  /** Replaces the timer: a listener that was called during a look may have set it already. */
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
    // Ring no later than `limitMs` from now, when the next command to be written could be late.
    if (this.#deadAtMs < Infinity && !this.#closed) this.#arm(Math.min(limitMs, this.#deadAtMs - nowMs));
  };

  #giveUp(): void {
    const [first] = this.#missed;
    this.#missed.clear();
    if (first !== undefined) this.#options.dead(first);
  }
}
