import type { HoldfastError } from "@holdfast/core";
import { saysNoNode } from "../../session/errors.js";
import type { Outcome, RequestError, WatchHandle, WatchListener } from "../../session/types.js";
import { isFinal } from "../session/failures.js";
import type { SessionContext } from "../session-context.js";

export interface ReadingParts<T> {
  arm(listener: WatchListener<T>): WatchHandle;
  /** Throws a `HoldfastError` for an answer that is not a number of this kind. */
  valueOf(answer: T): number;
  /** The value if there is no node; `null` if the node must exist. */
  readonly whenAbsent: number | null;
  failure(error: RequestError): HoldfastError;
}

export interface ReadingListener {
  known(): void;
  changed(): void;
  failed(error: HoldfastError): void;
}

/** One number in the tree, with a watch on it for as long as it matters. */
export class PermitReading<T> {
  /** The number; `null` while it is not known. */
  value: number | null = null;
  readonly #context: SessionContext;
  readonly #parts: ReadingParts<T>;
  readonly #listener: ReadingListener;
  #handle: WatchHandle | null = null;
  /** There is no node, so there can be no watch. */
  #absent = false;
  #stopped = false;

  constructor(context: SessionContext, listener: ReadingListener, parts: ReadingParts<T>) {
    this.#context = context;
    this.#parts = parts;
    this.#listener = listener;
  }

  /** Takes an answer to a read of the caller, which sets no watch. If the answer is an error, `look()` finds it again later. */
  take(outcome: Outcome<T>): void {
    if (!outcome.ok) {
      if (saysNoNode(outcome.error)) this.value = this.#parts.whenAbsent;
      return;
    }
    try {
      this.value = this.#parts.valueOf(outcome.value);
    } catch {
      this.value = null;
    }
  }

  /** Forgets the value; `look()` then reads it again. */
  forget(): void {
    this.value = null;
    this.#absent = false;
    this.#handle?.drop();
    this.#handle = null;
  }

  /** Whether the number may change without an event. */
  get loose(): boolean {
    return this.#handle === null && !this.#absent;
  }

  /** Reads the number with a watch, unless that was done already. */
  look(): void {
    if (!this.loose || this.#stopped) return;
    this.value = null;
    this.#handle = this.#parts.arm({
      answered: (outcome) => {
        if (this.#stopped) return;
        if (outcome.ok) this.#read(outcome.value);
        else this.#unread(outcome.error);
      },
      fired: () => {
        this.#handle = null;
        this.value = null;
        if (!this.#stopped) this.#listener.changed();
      },
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#handle?.drop();
    this.#handle = null;
  }

  #read(answer: T): void {
    try {
      this.value = this.#parts.valueOf(answer);
    } catch (error) {
      return this.#listener.failed(error as HoldfastError);
    }
    this.#listener.known();
  }

  #unread(error: RequestError): void {
    this.#handle = null;
    if (!isFinal(error)) this.#context.again(error, () => this.look());
    else if (saysNoNode(error) && this.#parts.whenAbsent !== null) {
      this.#absent = true;
      this.value = this.#parts.whenAbsent;
      this.#listener.known();
    } else this.#listener.failed(this.#parts.failure(error));
  }
}
