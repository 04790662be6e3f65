import { onTestFinished } from "vitest";

const everyMs = 10;

/** Measures from now on until the end of the test for how long the event loop of this process stood still, in all. */
export function standstill(): () => number {
  let sumMs = 0;
  let lastMs = performance.now();
  const look = (): void => {
    const nowMs = performance.now();
    sumMs += Math.max(0, nowMs - lastMs - everyMs);
    lastMs = nowMs;
  };
  const timer = setInterval(look, everyMs);
  onTestFinished(() => clearInterval(timer));
  return () => {
    look();
    return sumMs;
  };
}
