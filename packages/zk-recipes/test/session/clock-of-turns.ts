import type { Runtime } from "@holdfast/core";
import { afterAll, vi } from "vitest";
import { runtime as system } from "./support.js";

/** The time that a turn counts for. A round trip to a server in this process takes two or three turns. */
const turnMs = 4;

/**
 * From here on the clock of this process counts turns of the event loop instead of time. After each turn that took at least a
 * millisecond, the clock is 4 ms later. So a session and its server, both in this process, always get the turns that their
 * time-outs are worth. A machine that is busy with other things slows down the clock too, and on an idle one no test waits for
 * nothing.
 *
 * Call it for a whole file: sessions that outlive a test keep the clock with which they were made. The next file of the process
 * has real time.
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

/** A runtime that can be blocked. Time passes while nothing runs, and then the timers that are due run first. */
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
      // This takes so long that the event loop runs timers before it reads from sockets.
      const since = process.hrtime.bigint();
      while (process.hrtime.bigint() - since < 3_000_000n);
    },
  };
}
