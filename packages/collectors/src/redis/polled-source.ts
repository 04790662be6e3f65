import type { Millis } from "@holdfast/core";
import { ReplyError } from "@holdfast/redis-recipes/internal";
import { SourceState } from "../kit/source-state.js";
import type { SourceStatus } from "../observe/collector.js";
import { NoConnectionError, noContact } from "./outage.js";

/** A source that is asked again and again. After `staleAfterMs` without an answer, it counts as stale. */
export class PolledSource extends SourceState {
  readonly #staleAfterMs: Millis;
  /** The time of the last answer. A whole success may take many answers. */
  #heardMs: Millis = Number.NEGATIVE_INFINITY;

  constructor(source: string, cost: string, staleAfterMs: Millis) {
    super(source, cost);
    this.#staleAfterMs = staleAfterMs;
  }

  /**
   * Records an answer. Returns true when viewers should be notified. `atMs`: the time of what is known now; `heardMs`: of
   * the last answer.
   */
  ok(
    atMs: Millis,
    state: "ok" | "syncing" = "ok",
    message: string | null = null,
    heardMs: Millis = atMs,
  ): boolean {
    this.#heardMs = heardMs;
    const answered = state === "ok" ? { lastSuccessMs: atMs, coverage: 1 } : {};
    return this.set({ state, message, nextTryMs: null, ...answered });
  }

  off(message: string): void {
    this.set({ state: "off", message, cost: null });
  }

  /** Records a failure. Returns true when viewers should be notified. */
  failed(error: unknown, nextTryMs: Millis): boolean {
    const message = wordsOf(error);
    const denied = error instanceof ReplyError && error.kind === "denied";
    return denied ? this.set({ state: "denied", message, nextTryMs }) : this.lost(message, nextTryMs);
  }

  status(nowMs: Millis): SourceStatus {
    const { now } = this;
    const aged = now.state === "ok" && nowMs - this.#heardMs > this.#staleAfterMs;
    return aged ? { ...now, state: "stale", message: "no news for longer than it should take" } : now;
  }
}

function wordsOf(error: unknown): string {
  if (error instanceof ReplyError) return error.message;
  return (error instanceof NoConnectionError ? error.refusal : null) ?? noContact;
}
