import type { Runtime } from "@holdfast/core";
import { afterAll, vi } from "vitest";
import { runtime as system } from "./support.js";

/** What a turn is worth. A round trip to a server in this process takes two or three turns. */
const turnMs = 4;

/**
 * From here on the clock of this process counts its turns instead of time: after each turn of the event loop that took at
 * least a millisecond it is 4 ms later. So a session and its server, both in this process, always have the turns that
 * their time-outs are worth: a machine that is busy with other things slows the clock down with them, and an idle one
 * does not make a test wait for nothing.
 *
 * For a whole file: sessions that outlive a test keep the clock that they were born with. The next file of the process has real time.
 */
export function countTurns(): void {
  const later = globalThis.setTimeout;
  const clearLater = globalThis.clearTimeout;
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"],
  });
  let next: NodeJS.Timeout;
  const turn = (): void => {
    next = later(turn, 1).unref();
    vi.advanceTimersByTime(turnMs);
  };
  next = later(turn, 1).unref();
  afterAll(() => {
    clearLater(next);
    vi.useRealTimers();
  });
}

/** A runtime that can be blocked: time passes while nothing runs, then the timers that have become due come first. */
export function blockable(): { readonly runtime: Runtime; block(forMs: number): void } {
  let blockedMs = 0;
  const armed = new Set<() => void>();
  const runtime: Runtime = {
    ...system,
    nowMs: () => system.nowMs() + blockedMs,
    wallMs: () => system.wallMs() + blockedMs,
    setTimer(delayMs, fn, options) {
      const dueMs = runtime.nowMs() + delayMs;
      let disarm = (): void => {};
      const arm = (): void => {
        disarm();
        const leftMs = Math.max(0, dueMs - runtime.nowMs());
        const due = (): void => {
          armed.delete(arm);
          fn();
        };
        disarm = system.setTimer(leftMs, due, options);
      };
      armed.add(arm);
      arm();
      return () => {
        armed.delete(arm);
        disarm();
      };
    },
  };
  return {
    runtime,
    block(forMs) {
      blockedMs += forMs;
      for (const arm of armed) arm();
      // Long enough that the event loop runs timers before it reads from sockets.
      const since = process.hrtime.bigint();
      while (process.hrtime.bigint() - since < 3_000_000n);
    },
  };
}
