import { type ChildProcess, spawn } from "node:child_process";
import { Enforcer, monotonicMs } from "./limits.js";
import type { Order, Report } from "./messages.js";
import { ProcessGroup } from "./process-group.js";

const ignored = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGTSTP", "SIGUSR1", "SIGUSR2"] as const;

/**
 * The process between the lock client and the command. It does nothing but keep time, so that no work of the lock client can hold it up:
 * it ends the command's group at the limits that the lock client moves on, and at once when the lock client is gone. It ends when the
 * group is gone.
 */
export function supervise(): void {
  let running: Running | undefined;
  // The command and the lock client have their own copies of what a service manager or a terminal sends to all processes.
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
    // Node.js throws what it does not count among the usual failures, such as a path through a file, or a program that is being written.
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

/** What the command has left in its group is asked to end, and killed when it does not. The limits of the lock apply as before. */
export async function endRest(group: ProcessGroup, killAfterMs: number): Promise<void> {
  if (group.gone()) return;
  const nowMs = monotonicMs();
  const rest = new Enforcer(group, { termAtMs: nowMs, killAtMs: nowMs + killAfterMs });
  await group.untilGone();
  rest.stop();
}

/** The lock client may be gone: the group is then killed, and there is none to report to. */
function report(said: Report): void {
  if (process.connected) process.send?.(said, undefined, {}, () => {});
}
