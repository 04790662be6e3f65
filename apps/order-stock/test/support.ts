import { readdirSync, readFileSync } from "node:fs";

/** The folder of the built programs, which tests start as processes: Node 20 runs no TypeScript. */
export const programs: URL = new URL("../dist/", import.meta.url);

/** Keeps what is written to a screen. */
export class Paper {
  text = "";
  write(text: string): void {
    this.text += text;
  }
}

/** The process ids and commands of the living children of a process. */
export function childrenOf(parent: number): { pid: number; command: string }[] {
  const found: { pid: number; command: string }[] = [];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      if (stateOf(Number(entry))?.parent !== parent) continue;
      const command = readFileSync(`/proc/${entry}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      found.push({ pid: Number(entry), command });
    } catch (error) {
      // The process ended between the listing and the read.
      if (!["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
  return found;
}

/** Whether the process is gone, or has ended and was not yet reaped by the process that inherited it. */
export function isGone(pid: number): boolean {
  return (stateOf(pid)?.letter ?? "Z") === "Z";
}

/** Whether the process is stopped by SIGSTOP. */
export function isStopped(pid: number): boolean {
  return stateOf(pid)?.letter === "T";
}

function stateOf(pid: number): { letter: string; parent: number } | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return null;
  }
  // The program's name comes first, in parentheses, and may contain anything.
  const [letter = "", parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { letter, parent: Number(parent) };
}
