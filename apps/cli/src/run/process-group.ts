import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const lookEveryMs = 10;
const mostBetweenLooksMs = 200;

/** A command and the processes that it has started, as far as they stayed in its process group. */
export class ProcessGroup {
  /** The process id of the command, which leads the group. */
  readonly id: number;

  constructor(id: number) {
    this.id = id;
  }

  /** Sends the signal to all members. Does nothing if the group is gone. */
  signal(name: NodeJS.Signals): void {
    try {
      process.kill(-this.id, name);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // EPERM: no member may be signalled, because a set-uid program now runs as another user.
      if (code !== "ESRCH" && code !== "EPERM") throw error;
    }
  }

  /**
   * Whether no member is left that could still do something. A zombie process does not count, although the kernel keeps
   * it in the group until its parent collects it. A parent that stands still, or an init process that collects no
   * orphans, keeps such processes for ever.
   */
  gone(): boolean {
    try {
      process.kill(-this.id, 0);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "ESRCH";
    }
    return process.platform === "linux" && !this.#lives();
  }

  /**
   * Waits until no member lives. This may last for ever: a process that waits in the kernel for a disk that hangs
   * cannot be ended.
   */
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

/** Reads the state and group of a process; `null` if it is gone. */
function statOf(pid: string): { state: string; group: number } | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return null;
  }
  // The second field is the name of the program in brackets. The name may contain blanks and brackets.
  const [state = "", , group = ""] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state, group: Number(group) };
}
