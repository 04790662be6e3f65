export interface LoopStalls {
  /** The longest that this process worked between two turns of its event loop. */
  readonly longestWorkMs: number;
  /** The longest between two turns by the wall clock, what other processes took included. */
  readonly longestWallMs: number;
}

/**
 * Watches the event loop. What counts is the processor time within one gap, garbage collection included: on a machine that is busy with
 * other things, the wall clock would count those too.
 */
export function watchLoop(): { end(): LoopStalls } {
  let lastMs = performance.now();
  let lastCpu = process.cpuUsage();
  let longestWorkMs = 0;
  let longestWallMs = 0;
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(lastCpu);
    const nowMs = performance.now();
    const wallMs = nowMs - lastMs;
    longestWallMs = Math.max(longestWallMs, wallMs);
    // Helper threads may add up to more than the gap was long.
    longestWorkMs = Math.max(longestWorkMs, Math.min(wallMs, (user + system) / 1_000));
    lastMs = nowMs;
    lastCpu = process.cpuUsage();
  }, 5);
  return {
    end: () => {
      clearInterval(timer);
      return { longestWorkMs, longestWallMs };
    },
  };
}
