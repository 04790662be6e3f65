import { readdirSync, readFileSync } from "node:fs";
import { runProgram } from "../machine/run-program.js";

/** How many files, including sockets, a process may have open. */
export interface FileLimit {
  readonly soft: number;
  readonly hard: number;
}

/** @throws Error (ENOENT) if there is no such process. */
export function openFileLimit(pid: number): FileLimit {
  const line = /^Max open files\s+(\S+)\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"));
  const number = (text = ""): number => (text === "unlimited" ? Number.POSITIVE_INFINITY : Number(text));
  return { soft: number(line?.[1]), hard: number(line?.[2]) };
}

/** How many files, including sockets, a process has open. */
export function openFilesOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/**
 * Lowers the limit of a running process. Resolves with a function that restores it. Open files stay open; the kernel
 * accepts connections beyond the limit, but they are never answered. Only the soft limit is changed: a lowered hard
 * limit could only be raised again with power over the machine.
 *
 * @throws ProgramError if `prlimit` is missing or not allowed to do this.
 */
export async function limitOpenFiles(pid: number, most: number): Promise<() => Promise<void>> {
  const { soft } = openFileLimit(pid);
  const set = async (limit: number): Promise<void> => {
    const word = limit === Number.POSITIVE_INFINITY ? "unlimited" : String(limit);
    await runProgram("prlimit", ["--pid", String(pid), `--nofile=${word}:`]);
  };
  await set(Math.min(most, soft));
  return () => set(soft);
}
