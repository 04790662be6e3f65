import type { Tally } from "./tally.js";

/** The condition that must be met before a fault: see `PlannedFault.after`. */
export interface Trigger {
  readonly text: string;
  met(tally: Tally): boolean;
}

const form = /^(held|waiting|granted|written|begun|ended)\(\s*([^,()\s]+)\s*(?:,\s*(\d+)\s*)?\)$/;

/**
 * Parses a trigger. Throws `RangeError` for a text that is no trigger, so that a bad plan is noticed before it runs.
 */
export function parseTrigger(text: string): Trigger {
  const match = form.exec(text.trim());
  if (match === null) throw new RangeError(`not a trigger: ${JSON.stringify(text)}`);
  const [, what, name = "", count = "1"] = match;
  const least = Number(count);
  const tests: Record<string, (tally: Tally) => boolean> = {
    held: (tally) => tally.holders(name).length >= least,
    waiting: (tally) => tally.waiters(name).length >= least,
    granted: (tally) => tally.of(name).grants >= least,
    written: (tally) => tally.of(name).writes >= least,
    begun: (tally) => tally.begun(name) >= least,
    ended: (tally) => tally.ended(name) >= least,
  };
  const met = tests[what ?? ""] as (tally: Tally) => boolean;
  return { text, met };
}

export type WorkerRole = "holder" | "keeper" | "waiter" | "last-waiter" | "worker";

/**
 * Parses a target among the workers: `holder(k1)`, `keeper(k1)` (its client keeps the lock for its next owner),
 * `waiter(k1)`, `last-waiter(k1)` (it asked last, so its turn does not come at once), `worker(w0)`. Returns `null` for
 * any other target: a server's role or name.
 */
export function parseWorkerTarget(text: string): { readonly role: WorkerRole; readonly name: string } | null {
  const match = /^(holder|keeper|waiter|last-waiter|worker)\(\s*([^()\s]+)\s*\)$/.exec(text.trim());
  if (match === null) return null;
  return { role: match[1] as WorkerRole, name: match[2] ?? "" };
}
