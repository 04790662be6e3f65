export interface LoopStalls {
  /** The longest time for which this process worked between two turns of its event loop. */
  readonly longestWorkMs: number;
  /** The longest elapsed time between two turns, including the time that other processes took. */
  readonly longestWallMs: number;
}

/**
 * Watches the event loop. It measures the processor time within each gap, garbage collection included. On a busy machine, elapsed
 * time would include the work of other processes.
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
    // Helper threads may use more processor time than the gap was long.
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
