import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { FencingToken, LockProvider } from "@holdfast/core";
import { type Command, exits, type Given, type Io } from "../command.js";
import { openLocks } from "../open-locks.js";
import { type Hold, obtain, Watch } from "./holding.js";
import { monotonicMs } from "./limits.js";
import { type Plan, pacesOf, planOf } from "./plan.js";
import { type End, Supervisor } from "./supervised.js";

const usage = `Usage: holdfast run [options] -- COMMAND [ARGUMENT...]

Waits for a lock, runs the command while it holds it, and ends with the exit code of the command. When the lock is about to be lost, all
processes of the command are ended before another client can have it.

  --lock NAME             default: the name of the command, without its folder
  --wait TIME             how long to wait for the lock; default: for ever
  --try                   do not wait
  -E, --conflict-exit-code N
                          when it was not obtained in time; default 1
  --semaphore N           one of N permits instead of a lock
  --lead                  leader election: runs the command while this process leads
  --at-least TIME         keeps the lock for this long after its grant, also when the command ends earlier: for jobs that several
                          hosts start by clocks that differ
  --lease TIME            how long the lock stays taken when this machine is gone: Redis the lease, ZooKeeper the session time-out;
                          default 30s
  --margin TIME           how long before the end of the lease the command is killed; default a sixth of the lease, at most 2s
  --kill-after TIME       from SIGTERM to SIGKILL. Without it SIGTERM is sent as soon as the lock is in doubt; with it a doubt
                          that passes in time ends nothing

A TIME is 500ms, 30s, 5m or 1h; without a unit it is seconds. The command finds its fencing token in $HOLDFAST_TOKEN and the name of the
lock in $HOLDFAST_LOCK.
`;

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
type Forwarded = (typeof forwarded)[number];
/** While there is no command yet these end the wait; the others mean nothing to `holdfast` itself. */
const endsWait: ReadonlySet<NodeJS.Signals> = new Set(["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]);

const closeWithinMs = 5_000;

/** What a signal is for, which changes while `run` goes on. */
type OnSignal = (name: Forwarded) => void;

async function run(given: Given, io: Io): Promise<number> {
  const plan = planOf(given);
  const { settings } = given;
  const locks = await openLocks(settings, {
    leaseMs: plan.leaseMs,
    identity: true,
    releaseTimeoutMs: closeWithinMs,
  });
  let sessionMs = 0;
  using _session = locks.events.on("session-state", ({ timeoutMs }) => {
    if (timeoutMs > 0) sessionMs = timeoutMs;
  });
  const supervisor = new Supervisor();
  const stop = new AbortController();
  let interrupted: Forwarded | undefined;
  const signals = {
    on: ((name) => {
      if (!endsWait.has(name)) return;
      interrupted ??= name;
      stop.abort(name);
    }) as OnSignal,
  };
  const listeners = forwarded.map((name) => [name, () => signals.on(name)] as const);
  for (const [name, listener] of listeners) process.on(name, listener);
  // A terminal stops its foreground group: the command is in another group, and would be ended for want of renewals.
  const goOn = (): void => {};
  process.on("SIGTSTP", goOn);
  try {
    const hold = await obtain(locks, plan, stop.signal);
    if (hold === null) return plan.conflictExit;
    const grantedAtMs = monotonicMs();
    try {
      // Redis hands a lock on with a short lease at first, and this round trip makes it a whole one.
      await hold.confirm({ signal: stop.signal });
      const paces = pacesOf(plan, sessionMs === 0 ? plan.leaseMs : Math.min(sessionMs, plan.leaseMs));
      const watch = new Watch(hold, paces, plan.killAfterMs !== undefined, (limits) =>
        supervisor.move(limits),
      );
      signals.on = (name) => supervisor.signal(name);
      const env = { HOLDFAST_LOCK: plan.lock, HOLDFAST_TOKEN: hold.token?.toString() ?? null };
      const { command, args } = plan;
      const work = { command, args, env, killAfterMs: paces.killAfterMs };
      if (interrupted !== undefined) return codeOf(interrupted);
      const end = await supervisor.run(work, watch.limits);
      watch.stop();
      const code = exitOf(end, hold, plan, io);
      await stay(plan.atLeastMs - (monotonicMs() - grantedAtMs), hold, signals);
      return code;
    } finally {
      await giveBack(hold, plan, io);
    }
  } catch (error) {
    if (interrupted !== undefined) return codeOf(interrupted);
    throw error;
  } finally {
    supervisor.close();
    for (const [name, listener] of listeners) process.off(name, listener);
    process.off("SIGTSTP", goOn);
    await close(locks);
  }
}

/** What `holdfast` ends with, and what it says of an end that is not the command's own. */
function exitOf(end: End, hold: Hold, { lock, command }: Plan, io: Io): number {
  const { state } = hold;
  if (end.kind === "refused") {
    io.err(`holdfast: ${command} cannot be started: ${end.message}\n`);
    return end.code === "ENOENT" ? exits.notFound : exits.notExecutable;
  }
  if (end.limited || state === "lost") {
    const reason = (hold.lost.reason as { reason?: string } | undefined)?.reason ?? "in doubt for too long";
    io.err(`holdfast: the lock ${JSON.stringify(lock)} was lost (${reason}), and ${command} has ended\n`);
    return exits.lost;
  }
  if (end.kind === "unsupervised") {
    io.err(`holdfast: the process that guards ${command} was ended, and ${command} with it\n`);
    return exits.failed;
  }
  return end.signal === null ? (end.code ?? exits.failed) : codeOf(end.signal);
}

const codeOf = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** For `--at-least`. A signal ends it, and so does the loss of the lock. */
async function stay(forMs: number, hold: Hold, signals: { on: OnSignal }): Promise<void> {
  if (forMs <= 0) return;
  const stop = new AbortController();
  signals.on = (name) => {
    if (endsWait.has(name)) stop.abort();
  };
  const signal = AbortSignal.any([stop.signal, hold.lost]);
  await sleep(forMs, undefined, { signal }).catch(() => {});
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

/** The answer of a server that is not there is not waited for. */
async function close(locks: LockProvider<FencingToken>): Promise<void> {
  await locks.close({ releaseTimeoutMs: closeWithinMs });
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
