import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const lookEveryMs = 10;
const mostBetweenLooksMs = 200;

/** A command and what it has started, as far as that stayed in its process group. */
export class ProcessGroup {
  /** The process id of the command, which leads the group. */
  readonly id: number;

  constructor(id: number) {
    this.id = id;
  }

  /** To all members. A group that is gone is left alone. */
  signal(name: NodeJS.Signals): void {
    try {
      process.kill(-this.id, name);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // EPERM: no member may be signalled, since a set-uid program has become another user's.
      if (code !== "ESRCH" && code !== "EPERM") throw error;
    }
  }

  /**
   * There is no member that could still do something. A dead process that its parent has not asked for yet is none, although the kernel
   * keeps it in the group: a parent that stands still, or an init process that collects no orphans, leaves such processes for ever.
   */
  gone(): boolean {
    try {
      process.kill(-this.id, 0);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "ESRCH";
    }
    return process.platform === "linux" && !this.#lives();
  }

  /** Waits for as long as a member lives: one that waits in the kernel, for a disk that hangs, cannot be ended by anything. */
  async untilGone(): Promise<void> {
    for (let pauseMs = lookEveryMs; !this.gone(); pauseMs = Math.min(2 * pauseMs, mostBetweenLooksMs))
      await sleep(pauseMs);
  }

  #lives(): boolean {
    return readdirSync("/proc").some((name) => {
      if (!/^\d+$/.test(name)) return false;
      const stat = statOf(name);
      return stat !== null && stat.group === this.id && stat.state !== "Z" && stat.state !== "X";
    });
  }
}

/** `null` for a process that is gone. */
function statOf(pid: string): { state: string; group: number } | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return null;
  }
  // The second field is the name of the program in brackets, and may have blanks and brackets in it.
  const [state = "", , group = ""] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state, group: Number(group) };
}
