import { spawn } from "node:child_process";
import { once } from "node:events";

// Wakes the process when the pipe breaks without the word "done": the program that stopped the process has died, and no
// other would wake it.
const alarm = `trap '' HUP INT TERM; read -r word; [ "$word" = done ] || kill -CONT "$1"`;

/** Stops a process by SIGSTOP, like a long pause of its machine. Returns a function that lets it continue (SIGCONT). */
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
