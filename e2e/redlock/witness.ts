import { performance } from "node:perf_hooks";
import type { LockHandle } from "@holdfast/core";

interface Span {
  readonly who: string;
  readonly handle: LockHandle;
  readonly fromMs: number;
  untilMs: number;
}

/**
 * Records which client believed to hold one lock, from when to when. All clients live in this process, so one clock shows what
 * came first.
 */
export class Witness {
  readonly #spans: Span[] = [];

  granted(who: string, handle: LockHandle): { releasing(): void } {
    // A late turn of the event loop may read this grant before it serves the timer of another's loss. The read of the state
    // notifies a holder whose own clock says that its lease is over.
    for (const other of this.#spans) if (other.untilMs === Number.POSITIVE_INFINITY) void other.handle.state;
    const span: Span = { who, handle, fromMs: performance.now(), untilMs: Number.POSITIVE_INFINITY };
    const end = (): void => {
      span.untilMs = Math.min(span.untilMs, performance.now());
    };
    this.#spans.push(span);
    handle.lost.addEventListener("abort", end);
    return { releasing: end };
  }

  countSince(fromMs: number, who: string): number {
    return this.#spans.filter((span) => span.who === who && span.fromMs >= fromMs).length;
  }

  /** Pairs of holds, one after the other, that held at one instant; empty when all was well. */
  overlaps(): string[] {
    const spans = [...this.#spans].sort((one, other) => one.fromMs - other.fromMs);
    return spans.slice(1).flatMap((span, index) => {
      const before = spans[index] as Span;
      return before.untilMs > span.fromMs
        ? [
            `${before.who} still for ${Math.round(before.untilMs - span.fromMs)} ms after ${span.who} was granted`,
          ]
        : [];
    });
  }
}
