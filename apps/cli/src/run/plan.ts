import { basename } from "node:path";
import { exits, type Given, UsageError } from "../command.js";
import { durationOf } from "../duration.js";

/** The options and the command of `run`. Times are in milliseconds. */
export interface Plan {
  readonly lock: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly kind: { readonly of: "mutex" | "election" } | { readonly of: "semaphore"; readonly limit: number };
  /** Longest wait for the lock; `Infinity` unless it was given. */
  readonly waitMs: number;
  readonly atLeastMs: number;
  /** The lease of Redis, and the session time-out that ZooKeeper is asked for. */
  readonly leaseMs: number;
  /** `--margin` as given. */
  readonly marginMs: number | undefined;
  readonly killAfterMs: number | undefined;
  readonly conflictExit: number;
}

const defaultLeaseMs = 30_000;

/** Reads the options. Throws `UsageError`, which names the wrong option. */
export function planOf({ values, positionals }: Given): Plan {
  const [command, ...args] = positionals;
  if (command === undefined || command === "")
    throw new UsageError("what to run is missing: holdfast run [options] -- COMMAND [ARGUMENT...]");
  const time = (option: string): number | undefined =>
    values[option] === undefined ? undefined : durationOf(`--${option}`, values[option] as string);
  const wait = time("wait");
  if (values.try === true && wait !== undefined) throw new UsageError("--try and --wait are both given");
  if (values.lead === true && values.semaphore !== undefined)
    throw new UsageError("--lead and --semaphore are both given");
  const atLeastMs = time("at-least");
  if (values.lead === true && atLeastMs !== undefined)
    throw new UsageError("--at-least is not for --lead: a leader that has ended leads no longer");
  const leaseMs = time("lease") ?? defaultLeaseMs;
  if (leaseMs === 0) throw new UsageError("--lease must be above 0");
  const plan: Plan = {
    lock: (values.lock as string | undefined) ?? basename(command),
    command,
    args,
    kind: kindOf(values),
    waitMs: values.try === true ? 0 : (wait ?? Infinity),
    atLeastMs: atLeastMs ?? 0,
    leaseMs,
    marginMs: time("margin"),
    killAfterMs: time("kill-after"),
    conflictExit: conflictOf(values["conflict-exit-code"] as string | undefined),
  };
  pacesOf(plan, leaseMs);
  return plan;
}

function kindOf({ lead, semaphore }: Given["values"]): Plan["kind"] {
  if (semaphore === undefined) return { of: lead === true ? "election" : "mutex" };
  const limit = Number(semaphore);
  if (!Number.isInteger(limit) || limit < 1)
    throw new UsageError(`--semaphore must be a whole number, 1 or more; got ${JSON.stringify(semaphore)}`);
  return { of: "semaphore", limit };
}

function conflictOf(text: string | undefined): number {
  if (text === undefined) return exits.conflict;
  if (/^\d{1,3}$/.test(text) && Number(text) <= 255) return Number(text);
  throw new UsageError(`--conflict-exit-code must be from 0 to 255; got ${JSON.stringify(text)}`);
}

/** How long before the known end of the lock the command is ended. */
export interface Paces {
  /** The SIGKILL is this long before the lock's deadline. */
  readonly marginMs: number;
  /** The SIGTERM is this long before the SIGKILL. */
  readonly killAfterMs: number;
}

const longestDefaultMs = 2_000;
/**
 * In quiet times at least this share of a lease is left. ZooKeeper's sessions are proven each quarter of the time-out,
 * by proofs that count from a quarter before.
 */
const mostOfLease = 0.4;

/**
 * The paces for a lease. ZooKeeper may have granted a shorter one than was asked for. Throws `UsageError` if these
 * times would end the command although nothing is wrong.
 */
export function pacesOf({ marginMs: margin, killAfterMs }: Plan, leaseMs: number): Paces {
  const marginMs = margin ?? Math.min(longestDefaultMs, leaseMs / 6);
  const paces = { marginMs, killAfterMs: killAfterMs ?? Math.min(marginMs, longestDefaultMs) };
  if (marginMs < leastMarginMs)
    throw new UsageError(
      `--margin must be at least ${leastMarginMs} ms; it is ${marginMs} ms of a lease of ${leaseMs} ms`,
    );
  if (paces.marginMs + paces.killAfterMs <= mostOfLease * leaseMs) return paces;
  throw new UsageError(
    `--margin (${paces.marginMs} ms) and --kill-after (${paces.killAfterMs} ms) together must be at most ${mostOfLease * 100} % of the lease, which is ${leaseMs} ms: --lease makes it longer`,
  );
}

/** Timers on a busy machine are late by some tens of milliseconds, and processes take time to die. */
const leastMarginMs = 50;
