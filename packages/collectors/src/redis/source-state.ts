import type { Millis } from "@holdfast/core";
import { ReplyError } from "@holdfast/redis-recipes/internal";
import type { SourceStatus } from "../observe/collector.js";
import { NoConnectionError, noContact } from "./outage.js";

/** How one way of learning things goes. */
export class SourceState {
  readonly #source: string;
  readonly #cost: string;
  readonly #staleAfterMs: Millis;
  #state: SourceStatus["state"] = "starting";
  #message: string | null = null;
  #lastMs: Millis | null = null;
  #nextMs: Millis | null = null;
  coverage = 0;

  constructor(source: string, cost: string, staleAfterMs: Millis) {
    this.#source = source;
    this.#cost = cost;
    this.#staleAfterMs = staleAfterMs;
  }

  /** True when that is news. */
  ok(atMs: Millis, state: "ok" | "syncing" = "ok", message: string | null = null): boolean {
    const news = this.#state !== state || this.#message !== message;
    this.#state = state;
    this.#message = message;
    this.#nextMs = null;
    if (state === "ok") {
      this.#lastMs = atMs;
      this.coverage = 1;
    }
    return news;
  }

  off(message: string): void {
    this.#state = "off";
    this.#message = message;
  }

  /** True when that is news. What was seen before is stale; where nothing ever was, the source is down. */
  failed(error: unknown, nextMs: Millis | null): boolean {
    const denied = error instanceof ReplyError && error.kind === "denied";
    const state = denied ? "denied" : this.#lastMs === null ? "down" : "stale";
    const message = wordsOf(error);
    const news = this.#state !== state || this.#message !== message;
    this.#state = state;
    this.#message = message;
    this.#nextMs = nextMs;
    return news;
  }

  status(nowMs: Millis): SourceStatus {
    const aged = this.#state === "ok" && this.#lastMs !== null && nowMs - this.#lastMs > this.#staleAfterMs;
    return {
      source: this.#source,
      state: aged ? "stale" : this.#state,
      coverage: this.coverage,
      lastSuccessMs: this.#lastMs,
      nextTryMs: this.#nextMs,
      cost: this.#state === "off" ? null : this.#cost,
      message: aged ? "no news for longer than it should take" : this.#message,
    };
  }
}

function wordsOf(error: unknown): string {
  if (error instanceof ReplyError) return error.message;
  return (error instanceof NoConnectionError ? error.refusal : null) ?? noContact;
}
