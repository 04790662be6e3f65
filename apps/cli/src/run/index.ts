import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { LockProvider } from "@holdfast/core";
import { Handle } from "@holdfast/core/internal";
import { type Command, exits, type Given, type Io, UsageError } from "../command.js";
import { openLocks } from "../open-locks.js";
import { type Hold, obtain, Watch } from "./holding.js";
import { monotonicMs } from "./limits.js";
import { type Paces, type Plan, pacesOf, planOf } from "./plan.js";
import { type End, Supervisor } from "./supervised.js";

const usage = `Usage: holdfast run [options] -- COMMAND [ARGUMENT...]

Waits for a lock, runs the command while it holds it, and ends with the exit code of the command. When the lock is about to be lost, all
processes of the command are ended before another client can have it.

  --lock NAME             default: the name of the command, without its folder
  --wait TIME             how long to wait for the lock; default: for ever while a server answers. Without one the wait ends
                          10s after that is noticed, on ZooKeeper not before the session ends
  --try                   do not wait
  -E, --conflict-exit-code N
                          when it was not obtained in time; default 1
  --semaphore N           one of N permits instead of a lock
  --lead                  leader election: runs the command while this process leads
  --at-least TIME         keeps the lock for this long after its grant, also when the command ends earlier: for jobs that several
                          hosts start by clocks that differ; SIGINT and SIGTERM end that too (not with --lead)
  --lease TIME            how long the lock stays taken when this machine is gone: Redis the lease, ZooKeeper the session time-out;
                          default 30s
  --margin TIME           how long before the end of the lease the command is killed; default a sixth of the lease, at most 2s
  --kill-after TIME       from SIGTERM to SIGKILL; default as long as the margin, at most 2s. Without this option SIGTERM is
                          sent as soon as the lock is in doubt; with it a doubt that passes in time ends nothing

A TIME is 500ms, 30s, 5m or 1h; without a unit it is seconds. The command finds its fencing token in $HOLDFAST_TOKEN and the name of the
lock in $HOLDFAST_LOCK.
`;

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
type Forwarded = (typeof forwarded)[number];
/** While no command runs yet, these signals end the wait. The other signals mean nothing to `holdfast` itself. */
const endsWait: ReadonlySet<NodeJS.Signals> = new Set(["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]);

const closeWithinMs = 5_000;

/** Passes the signals that `holdfast` gets to `on`, which changes while `run` goes on. */
class Signals implements Disposable {
  on: (name: Forwarded) => void;
  readonly #listeners = new Map<NodeJS.Signals, () => void>();

  constructor(on: (name: Forwarded) => void) {
    this.on = on;
    for (const name of forwarded) this.#listeners.set(name, () => this.on(name));
    // A terminal would stop this process with its foreground group. The command is in another group and would go on,
    // but without renewals it would be ended.
    this.#listeners.set("SIGTSTP", () => {});
    for (const [name, listener] of this.#listeners) process.on(name, listener);
  }

  [Symbol.dispose](): void {
    for (const [name, listener] of this.#listeners) process.off(name, listener);
  }
}

async function run(given: Given, io: Io): Promise<number> {
  const plan = planOf(given);
  if (process.platform === "win32")
    throw new UsageError("holdfast run needs process groups and signals, which Windows does not have");
  const { leaseMs } = plan;
  const locks = await openLocks(given.settings, { leaseMs, identity: true, releaseTimeoutMs: closeWithinMs });
  let grantedLeaseMs = leaseMs;
  using _session = locks.events.on("session-state", ({ timeoutMs }) => {
    if (timeoutMs > 0) grantedLeaseMs = Math.min(timeoutMs, leaseMs);
  });
  let supervisor: Supervisor | undefined;
  const stop = new AbortController();
  let interrupted: Forwarded | undefined;
  using signals = new Signals((name) => {
    if (!endsWait.has(name)) return;
    interrupted ??= name;
    stop.abort(name);
  });
  // A signal may have arrived before these listeners existed.
  if (io.signal.aborted) signals.on(io.signal.reason as Forwarded);
  try {
    supervisor = new Supervisor();
    const hold = await obtain(locks, plan, stop.signal);
    if (hold === null) return plan.conflictExit;
    const grantedAtMs = monotonicMs();
    let code: number;
    let worked = false;
    try {
      // Redis first hands a lock over with a short lease; this round trip claims the full lease.
      await hold.confirm({ signal: stop.signal });
      // A machine that is short of memory may have killed the idle supervisor during a long wait. From here on nothing is
      // awaited until the order to start.
      if (supervisor.isGone) supervisor = new Supervisor();
      const guard = supervisor;
      const paces = pacesOf(plan, grantedLeaseMs);
      let asked = false;
      signals.on = (name) => {
        asked ||= name === "SIGINT" || name === "SIGTERM";
        guard.signal(name);
      };
      const end = await underLock(hold, locks.events, plan, paces, guard);
      // A command that could not be started may run on another host, so the lock is not kept for it. Nor is it kept
      // after SIGINT or SIGTERM: the user does not want to wait.
      const restMs = plan.atLeastMs - (monotonicMs() - grantedAtMs);
      const stays = end.kind === "ended" && !asked && restMs > 0;
      const stopped = new AbortController();
      if (stays) {
        signals.on = (name) => {
          if (endsWait.has(name)) stopped.abort();
        };
        await proveEnd(hold, stopped.signal);
      }
      code = exitOf(end, hold, plan, io);
      worked = end.kind === "ended" && !stays;
      if (stays) await stay(restMs, AbortSignal.any([stopped.signal, hold.lost]));
    } finally {
      await giveBack(hold, plan, io);
    }
    // The command may have ended before a renewal could find the lock gone.
    if (!worked || code === exits.lost || !(hold instanceof Handle) || !Handle.foundGone(hold)) return code;
    io.err(
      `holdfast: the lock ${JSON.stringify(plan.lock)} was gone when it was given back: another client may have had it\n`,
    );
    return exits.lost;
  } catch (error) {
    if (interrupted !== undefined) return codeOf(interrupted);
    throw error;
  } finally {
    supervisor?.close();
    // Do not wait longer for the answer of a server that is not there.
    await locks.close({ releaseTimeoutMs: closeWithinMs });
  }
}

/** Runs the command to its end, within limits that follow the hold. */
async function underLock(
  hold: Hold,
  events: LockProvider["events"],
  plan: Plan,
  paces: Paces,
  supervisor: Supervisor,
): Promise<End> {
  const rides = plan.killAfterMs !== undefined;
  using watch = new Watch(hold, events, paces, rides, (limits) => supervisor.move(limits));
  const { command, args, lock } = plan;
  const env = { HOLDFAST_LOCK: lock, HOLDFAST_TOKEN: hold.token?.toString() ?? null };
  return await supervisor.run({ command, args, env, killAfterMs: paces.killAfterMs }, watch.limits);
}

/** The exit code of `holdfast`. Prints a message if something other than the command caused the end. */
function exitOf(end: End, hold: Hold, { lock, command, killAfterMs }: Plan, io: Io): number {
  const { state } = hold;
  if (end.kind === "refused") {
    io.err(`holdfast: ${command} cannot be started: ${end.message}\n`);
    return end.code === "ENOENT" ? exits.notFound : exits.notExecutable;
  }
  if (end.limited || state === "lost") {
    const reason = (hold.lost.reason as { reason?: string } | undefined)?.reason;
    const what =
      state === "lost"
        ? `was lost (${reason}), and ${command} has ended`
        : `was in doubt, so ${command} was ended${killAfterMs === undefined ? "; with --kill-after TIME a short doubt does not end it" : ""}`;
    io.err(`holdfast: the lock ${JSON.stringify(lock)} ${what}\n`);
    return exits.lost;
  }
  if (end.kind === "unsupervised") {
    io.err(`holdfast: the process that guards ${command} was ended, and ${command} with it\n`);
    return exits.failed;
  }
  return end.signal === null ? (end.code ?? exits.failed) : codeOf(end.signal);
}

const codeOf = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/**
 * Asks whether the lock was still there when the command ended: what is found later may have happened after that. Without an
 * answer nothing is known, and the hold stays as it is: the wait ends well before it could run out meanwhile.
 */
async function proveEnd(hold: Hold, stopped: AbortSignal): Promise<void> {
  const limitMs = Math.floor(Math.min(closeWithinMs, hold.remainingMs() / 2));
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(limitMs)]);
  await hold.confirm({ signal }).catch(() => {});
}

/** Keeps the lock for the rest of `--at-least`, or until the signal aborts. */
async function stay(forMs: number, signal: AbortSignal): Promise<void> {
  await sleep(forMs, undefined, { signal }).catch((error: Error) => {
    if (error.name !== "AbortError") throw error;
  });
}

async function giveBack(hold: Hold, { lock }: Plan, io: Io): Promise<void> {
  try {
    const outcome = await hold.release();
    if (outcome === "unconfirmed")
      io.err(
        `holdfast: no answer to the release of ${JSON.stringify(lock)}: it is free when its lease ends\n`,
      );
  } catch (error) {
    io.err(`holdfast: the release of ${JSON.stringify(lock)} was refused: ${(error as Error).message}\n`);
  }
}

export const runCommand: Command = {
  name: "run",
  summary: "runs a command while it holds a lock, and ends it before another client can have the lock",
  usage,
  options: {
    lock: { type: "string" },
    wait: { type: "string" },
    try: { type: "boolean" },
    "conflict-exit-code": { type: "string", short: "E" },
    semaphore: { type: "string" },
    lead: { type: "boolean" },
    "at-least": { type: "string" },
    lease: { type: "string" },
    margin: { type: "string" },
    "kill-after": { type: "string" },
  },
  behindDashes: true,
  run,
};
