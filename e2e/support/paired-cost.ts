import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Mutex } from "@holdfast/core";
import { onTestFinished } from "vitest";

const windowMs = 600;

/**
 * Starts a program of the built packages in a process of its own, and waits for its first output. It is killed with the test.
 */
export async function startWatcher(
  cwd: string,
  program: string,
  args: readonly string[],
): Promise<{ readonly child: ChildProcess; readonly said: string }> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, ...args], {
    cwd,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  return { child, said: String(said) };
}

/**
 * Measures what the process takes from the locks. It counts pairs of acquire and release in windows, with the process running
 * and stopped in turns. The result is the median of the ratios of both counts; 1 means that the process costs nothing.
 */
export async function pairedRatio(
  locks: readonly Mutex[],
  child: ChildProcess,
  rounds: number,
): Promise<number> {
  const window = async (): Promise<number> => {
    const endMs = performance.now() + windowMs;
    let pairs = 0;
    await Promise.all(
      locks.map(async (lock) => {
        while (performance.now() < endMs) {
          await (await lock.acquire()).release();
          pairs++;
        }
      }),
    );
    return pairs;
  };
  await window();
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const figures: Record<string, number> = {};
    // The order of the two states changes with each round.
    for (const state of round % 2 === 0 ? ["going", "still"] : ["still", "going"]) {
      child.kill(state === "going" ? "SIGCONT" : "SIGSTOP");
      figures[state] = await window();
    }
    ratios.push((figures.going ?? 0) / (figures.still ?? 1));
  }
  child.kill("SIGCONT");
  const sorted = ratios.sort((one, other) => one - other);
  return ((sorted[Math.floor((rounds - 1) / 2)] ?? 0) + (sorted[Math.ceil((rounds - 1) / 2)] ?? 0)) / 2;
}

export function percent(ratio: number): string {
  return `${((1 - ratio) * 100).toFixed(1)} %`;
}
