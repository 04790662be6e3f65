import { spawn } from "node:child_process";
import { once } from "node:events";

// Wakes the process when the pipe breaks without a word: the program that stopped it has died then, and no other would wake it.
const alarm = `trap '' HUP INT TERM; read -r word; [ "$word" = done ] || kill -CONT "$1"`;

/** Stops a process as a long pause of its machine would (SIGSTOP). Returns what lets it go on (SIGCONT). */
export async function freeze(pid: number): Promise<() => void> {
  const guard = spawn("/bin/sh", ["-c", alarm, "sh", String(pid)], { stdio: ["pipe", "ignore", "ignore"] });
  await once(guard, "spawn");
  guard.stdin.on("error", () => {}); // the guard was killed
  process.kill(pid, "SIGSTOP");
  let frozen = true;
  return () => {
    if (!frozen) return;
    frozen = false;
    process.kill(pid, "SIGCONT");
    guard.stdin.end("done\n");
  };
}
