import type { Step, Take } from "./steps.js";

export type Linearizable = "yes" | "no" | "too hard";

/**
 * Searches for an order in which every step takes effect within its call, by the algorithm of Wing, Gong and Lowe: take
 * any step that may come first, go on, go back, and never look twice at the same set of taken steps (which determines
 * the state). Slow, and independent of the sweep, so that it catches the sweep's mistakes. `limit`: the number of
 * permits, or `null` for locks.
 */
export function linearizable(steps: readonly Step[], limit: number | null, maxSteps = 200_000): Linearizable {
  const acquired = new Map<Take, number>();
  steps.forEach(({ take, does }, at) => {
    if (does === "takes") acquired.set(take, at);
  });
  const done = new Array<boolean>(steps.length).fill(false);
  const seen = new Set<string>();
  const path: { at: number; next: number }[] = [];
  let looked = 0;
  let from = 0;
  for (;;) {
    const earliest = earliestEnd(steps, done);
    if (earliest === Number.POSITIVE_INFINITY) return "yes";
    let taken = false;
    for (let at = from; at < steps.length; at++) {
      const step = steps[at] as Step;
      if (done[at] || step.call > earliest) continue;
      if (step.does !== "takes" && !done[acquired.get(step.take) as number]) continue;
      if (step.does === "takes" && !allowed(step.take, steps, done, limit)) continue;
      done[at] = true;
      const name = bits(done);
      if (seen.has(name)) {
        done[at] = false;
        continue;
      }
      if (++looked > maxSteps) return "too hard";
      seen.add(name);
      path.push({ at, next: at + 1 });
      from = 0;
      taken = true;
      break;
    }
    if (taken) continue;
    const back = path.pop();
    if (back === undefined) return "no";
    done[back.at] = false;
    from = back.next;
  }
}

function earliestEnd(steps: readonly Step[], done: readonly boolean[]): number {
  let earliest = Number.POSITIVE_INFINITY;
  for (let at = 0; at < steps.length; at++) {
    if (!done[at]) earliest = Math.min(earliest, (steps[at] as Step).end);
  }
  return earliest;
}

/** Whether the lock would grant this take after the steps done so far. */
function allowed(
  take: Take,
  steps: readonly Step[],
  done: readonly boolean[],
  limit: number | null,
): boolean {
  const held = new Set<Take>();
  const lowered = new Set<Take>();
  const each = (wanted: Step["does"], act: (take: Take) => void): void => {
    steps.forEach((step, at) => {
      if (done[at] && step.does === wanted) act(step.take);
    });
  };
  each("takes", (other) => held.add(other));
  each("gives", (other) => held.delete(other));
  each("lowers", (other) => lowered.add(other));
  let permits = take.permits;
  for (const other of held) {
    permits += other.permits;
    const writes = take.writes || (other.writes && !lowered.has(other));
    if (limit === null && other.owner !== take.owner && writes) return false;
  }
  return limit === null || permits <= limit;
}

function bits(done: readonly boolean[]): string {
  let text = "";
  for (const one of done) text += one ? "1" : "0";
  return text;
}
