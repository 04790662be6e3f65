import type { Span } from "./spans.js";

/** Something that takes effect at one moment from `call` to `end`; an end at infinity may also never take effect. */
interface Step {
  readonly call: number;
  readonly end: number;
  readonly span: Span;
  readonly takes: boolean;
}

export type Linearizable = "yes" | "no" | "too hard";

/**
 * Searches for an order in which every acquire takes effect within its call, as Wing, Gong and Lowe do: take any step
 * that may come first, go on, go back, and never look twice at the same set of taken steps (which determines the state).
 * Slow and independent of the sweep: it is there to catch the sweep's mistakes. `limit` of permits, or `null` for locks.
 */
export function linearizable(spans: readonly Span[], limit: number | null, maxSteps = 200_000): Linearizable {
  const steps: Step[] = [];
  for (const span of spans) {
    steps.push({ call: Math.min(span.hold.invokedAt, span.from), end: span.from, span, takes: true });
    // However the hold ended, it may go on at the backend for good: a release that hangs, a session that lives on.
    if (Number.isFinite(span.to))
      steps.push({ call: span.to, end: Number.POSITIVE_INFINITY, span, takes: false });
  }
  const acquired = new Map<Span, number>();
  steps.forEach(({ span, takes }, at) => {
    if (takes) acquired.set(span, at);
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
      if (!step.takes && !done[acquired.get(step.span) as number]) continue;
      if (step.takes && !allowed(step.span, steps, done, limit)) continue;
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

/** Whether the lock, as the steps so far left it, would grant this. */
function allowed(
  span: Span,
  steps: readonly Step[],
  done: readonly boolean[],
  limit: number | null,
): boolean {
  const holders = new Set<Span>();
  for (let at = 0; at < steps.length; at++) {
    const step = steps[at] as Step;
    if (done[at] && step.takes) holders.add(step.span);
  }
  for (let at = 0; at < steps.length; at++) {
    const step = steps[at] as Step;
    if (done[at] && !step.takes) holders.delete(step.span);
  }
  let permits = span.permits;
  for (const other of holders) {
    permits += other.permits;
    if (limit === null && other.owner !== span.owner && (span.writes || other.writes)) return false;
  }
  return limit === null || permits <= limit;
}

function bits(done: readonly boolean[]): string {
  let text = "";
  for (const one of done) text += one ? "1" : "0";
  return text;
}
