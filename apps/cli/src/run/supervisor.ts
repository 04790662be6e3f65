import { type ChildProcess, spawn } from "node:child_process";
import { Enforcer, monotonicMs } from "./limits.js";
import type { Order, Report } from "./messages.js";
import { ProcessGroup } from "./process-group.js";

const ignored = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGTSTP", "SIGUSR1", "SIGUSR2"] as const;

/**
 * The process between the lock client and the command. It only keeps time, so no work of the lock client can hold it
 * up. It ends the command's group at its limits, which the lock client moves on, and at once when the lock client is
 * gone. It ends when the group is gone.
 */
export function supervise(): void {
  let running: Running | undefined;
  // A service manager or a terminal sends these signals to all processes. The command and the lock client get their own copies.
  for (const name of ignored) process.on(name, () => {});
  process.on("message", (order: Order) => {
    if (order.do === "start") running ??= start(order);
    else if (order.do === "move") running?.enforcer.move(order.limits);
    else running?.group.signal(order.name);
  });
  process.on("disconnect", () => {
    running?.enforcer.kill();
    if (running === undefined) process.exit(0);
  });
}

interface Running {
  readonly group: ProcessGroup;
  readonly enforcer: Enforcer;
}

function start({ command, args, env, limits, killAfterMs }: Order & { do: "start" }): Running | undefined {
  if (monotonicMs() >= limits.killAtMs) {
    report({ said: "ended", code: null, signal: null, sent: "SIGKILL" });
    return undefined;
  }
  const environment = { ...process.env };
  for (const [name, value] of Object.entries(env)) {
    if (value === null) delete environment[name];
    else environment[name] = value;
  }
  let child: ChildProcess;
  try {
    child = spawn(command, args, { stdio: "inherit", env: environment, detached: true });
  } catch (error) {
    // Node.js throws errors that it does not count among the usual ones, such as a path through a file, or a program
    // that is being written.
    const { code = "", message } = error as NodeJS.ErrnoException;
    report({ said: "refused", code, message });
    return undefined;
  }
  child.on("error", (error: NodeJS.ErrnoException) => {
    if (child.pid === undefined) report({ said: "refused", code: error.code ?? "", message: error.message });
  });
  if (child.pid === undefined) return undefined;
  const group = new ProcessGroup(child.pid);
  report({ said: "started", pid: child.pid });
  const enforcer = new Enforcer(group, limits);
  child.on("exit", async (code, signal) => {
    const { sent } = enforcer;
    await endRest(group, killAfterMs);
    enforcer.stop();
    report({ said: "ended", code, signal, sent });
    if (process.connected) process.disconnect();
  });
  return { group, enforcer };
}

/**
 * Asks the processes that the command has left in its group to end, and kills them after `killAfterMs`. The limits of
 * the lock still apply.
 */
export async function endRest(group: ProcessGroup, killAfterMs: number): Promise<void> {
  if (group.gone()) return;
  const nowMs = monotonicMs();
  const rest = new Enforcer(group, { termAtMs: nowMs, killAtMs: nowMs + killAfterMs });
  await group.untilGone();
  rest.stop();
}

/** The lock client may be gone. The group is then killed, and there is no process to report to. */
function report(said: Report): void {
  if (process.connected) process.send?.(said, undefined, {}, () => {});
}
