import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { eventually } from "../../src/index.js";

/** Whether a process runs. A zombie, which only waits until its parent reads its end, does not. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
  } catch {
    return false;
  }
}

export async function isGone(pid: number, withinMs = 30_000): Promise<void> {
  await eventually(() => !isRunning(pid), { what: `process ${pid} to be gone`, withinMs });
}

/** Process ids of the running children of a process. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}

export interface RunningModule {
  pid: number;
  /** The values in its first line of output. */
  said: Record<string, string | number>;
  /** Resolves when it has ended, in whatever way. */
  ended: Promise<unknown>;
}

/** Runs a module given as text, as the leader of a process group. Waits for its first line of output, which is JSON. */
export async function runModule(source: string): Promise<RunningModule> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const ended = once(child, "exit");
  let output = "";
  let errors = "";
  child.stdout.on("data", (bytes) => {
    output += bytes;
  });
  child.stderr.on("data", (bytes) => {
    errors += bytes;
  });
  // The child may start a server in Java, which takes many seconds where other processes do the same.
  const withinMs = 60_000;
  const spoke = () => output.includes("\n");
  await eventually(() => spoke() || child.exitCode !== null || child.signalCode !== null, {
    what: "the first line of a child process",
    withinMs,
    detail: () => errors,
  });
  // Output may arrive after the end of the process was noticed.
  await eventually(spoke, {
    what: "a line of a child process that has ended",
    withinMs,
    detail: () => errors,
  });
  return { pid: child.pid ?? 0, said: JSON.parse(output.slice(0, output.indexOf("\n"))), ended };
}
