import type { History } from "../history/history.js";
import { crossWgl } from "./cross-wgl.js";
import { effect, fenceEffect, lostUpdate } from "./effects.js";
import { advertisedExclusion, belief, mutex, permits, readWrite } from "./exclusion.js";
import { fenceOrder } from "./fence-order.js";
import { fifo } from "./fifo.js";
import { handover } from "./handover.js";
import { latch } from "./latch.js";
import { boundedWait, healLiveness } from "./liveness.js";
import { leaks, lostNotice } from "./losses.js";
import type { CheckOptions } from "./options.js";
import { reentry } from "./reentry.js";
import { refusals } from "./refusals.js";
import { stats } from "./stats.js";
import type { CheckResult } from "./verdict.js";

type Checker = (history: History, options: CheckOptions) => CheckResult;

/** The names of the checkers. README.md says what each one convicts. */
export type CheckerName =
  | "belief"
  | "advertised"
  | "effect"
  | "mutex"
  | "rw"
  | "permits"
  | "reentry"
  | "fence-order"
  | "fence-effect"
  | "lost-update"
  | "fifo"
  | "handover"
  | "heal-liveness"
  | "bounded-wait"
  | "leaks"
  | "lost-notice"
  | "refusals"
  | "latch"
  | "cross-wgl"
  | "stats";

const checkers: Readonly<Record<CheckerName, Checker>> = {
  belief,
  advertised: advertisedExclusion,
  effect,
  mutex,
  rw: readWrite,
  permits,
  reentry,
  "fence-order": fenceOrder,
  "fence-effect": fenceEffect,
  "lost-update": lostUpdate,
  fifo,
  handover,
  "heal-liveness": healLiveness,
  "bounded-wait": boundedWait,
  leaks,
  "lost-notice": lostNotice,
  refusals,
  latch,
  "cross-wgl": crossWgl,
  stats,
};

/** The names of all checkers. */
export const checkerNames: readonly CheckerName[] = Object.keys(checkers) as CheckerName[];

/**
 * Judges a history by every checker, or by the checkers in `options.only`. A checker that finds nothing of its kind (no
 * semaphore, no write at a resource) answers `unknown`, because nothing was proved. The three exclusion verdicts
 * `belief`, `advertised` and `effect` are never merged.
 */
export function judge(history: History, options: CheckOptions = {}): CheckResult[] {
  const only = options.only ?? checkerNames;
  for (const name of only)
    if (!Object.hasOwn(checkers, name)) throw new RangeError(`no checker is named ${name}`);
  return checkerNames.filter((name) => only.includes(name)).map((name) => checkers[name](history, options));
}
