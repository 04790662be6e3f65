// Loaded into the dashboard's process before its own program. It reports the memory of the process, and for how long
// its event loop stood still.
import { openSync, readSync } from "node:fs";
import { monitorEventLoopDelay, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { Inside } from "./messages.js";

const everyMs = 5;

/**
 * Processor time of the main thread in ms. On a busy machine the wall clock would also count the time of other
 * processes. Linux has this time for each thread. Elsewhere it is that of the whole process, which includes helpers of
 * the garbage collector and of the compiler.
 */
function workClock(): () => number {
  try {
    const file = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
    const bytes = Buffer.alloc(64);
    return () => Number.parseInt(bytes.toString("latin1", 0, readSync(file, bytes, 0, 64, 0)), 10) / 1e6;
  } catch {
    return () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e3;
    };
  }
}

const workMs = workClock();
const delays = monitorEventLoopDelay({ resolution: everyMs });
delays.enable();
let lastMs = performance.now();
let lastWorkMs = workMs();
let longestWallMs = 0;
let longestWorkMs = 0;
let over20 = 0;
let highestBytes = 0;
let rounds = 0;
let longestGcMs = 0;
let cpu = process.cpuUsage();
let sinceMs = performance.now();

new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) longestGcMs = Math.max(longestGcMs, duration);
}).observe({ entryTypes: ["gc"] });

setInterval(() => {
  const nowMs = performance.now();
  const nowWorkMs = workMs();
  const wallMs = nowMs - lastMs;
  const work = Math.min(wallMs, nowWorkMs - lastWorkMs);
  longestWallMs = Math.max(longestWallMs, wallMs);
  longestWorkMs = Math.max(longestWorkMs, work);
  if (work >= 20) over20 += 1;
  if (++rounds % 10 === 0) highestBytes = Math.max(highestBytes, process.memoryUsage.rss());
  lastMs = performance.now();
  lastWorkMs = workMs();
}, everyMs).unref();

process.on("message", () => {
  const used = process.cpuUsage(cpu);
  cpu = process.cpuUsage();
  const forMs = performance.now() - sinceMs;
  sinceMs = performance.now();
  const told: Inside = {
    rssBytes: process.memoryUsage.rss(),
    highestBytes,
    heapBytes: getHeapStatistics().used_heap_size,
    externalBytes: process.memoryUsage().external,
    longestWorkMs,
    longestWallMs,
    delayMs: delays.max / 1e6,
    over20,
    longestGcMs,
    cpuMs: (used.user + used.system) / 1_000,
    forMs,
  };
  process.send?.(told);
  delays.reset();
  longestWallMs = 0;
  longestWorkMs = 0;
  over20 = 0;
  longestGcMs = 0;
  highestBytes = 0;
});
process.channel?.unref();
