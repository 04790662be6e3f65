import type { Span } from "./spans.js";

/** Two spans that should not overlap. The overlap begins at the start of `second`. */
export interface Clash {
  readonly first: Span;
  readonly second: Span;
}

/**
 * Finds every span at whose start a certain span of another owner excludes it, in O(n log n). Spans are enough, because
 * they are the shortest possible holds: each acquire counts from its latest moment (its return) and each release from
 * its earliest (its invocation). Spans that still overlap then overlap in every order that the history allows. Spans
 * that only touch do not clash.
 */
export function clashes(spans: readonly Span[], onClash: (witness: () => Clash) => void): void {
  const active = new EndHeap();
  const owners = new Map<string, { reads: number; writes: number }>();
  let writers = 0;
  const leave = (span: Span): void => {
    const own = owners.get(span.owner);
    if (own === undefined) return;
    if (span.writes) {
      own.writes -= 1;
      writers -= 1;
    } else own.reads -= 1;
    if (own.reads + own.writes === 0) owners.delete(span.owner);
  };
  for (const span of spans) {
    for (let top = active.first; top !== undefined && top.to <= span.from; top = active.first)
      leave(active.pop());
    const own = owners.get(span.owner) ?? { reads: 0, writes: 0 };
    const others = span.writes ? active.size - own.reads - own.writes : writers - own.writes;
    if (others > 0) onClash(() => ({ first: witness(active, span), second: span }));
    active.push(span);
    if (span.writes) {
      own.writes += 1;
      writers += 1;
    } else own.reads += 1;
    owners.set(span.owner, own);
  }
}

/** Calls `onStart` at each start with the number of permits that are certainly held, including the new ones. */
export function sums(
  spans: readonly Span[],
  onStart: (span: Span, permits: number, together: () => Span[]) => void,
): void {
  const active = new EndHeap();
  let permits = 0;
  for (const span of spans) {
    for (let top = active.first; top !== undefined && top.to <= span.from; top = active.first) {
      permits -= active.pop().permits;
    }
    active.push(span);
    permits += span.permits;
    onStart(span, permits, () => active.all());
  }
}

function witness(active: EndHeap, span: Span): Span {
  const found = active.all().find((other) => other.owner !== span.owner && (span.writes || other.writes));
  if (found === undefined) throw new Error("the sweep counted a clash that has no witness");
  return found;
}

/** A heap of spans, with the span that ends first on top. */
class EndHeap {
  readonly #spans: Span[] = [];

  get size(): number {
    return this.#spans.length;
  }

  get first(): Span | undefined {
    return this.#spans[0];
  }

  all(): Span[] {
    return [...this.#spans];
  }

  push(span: Span): void {
    const spans = this.#spans;
    let at = spans.length;
    spans.push(span);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = spans[parent] as Span;
      if (above.to <= span.to) break;
      spans[at] = above;
      at = parent;
    }
    spans[at] = span;
  }

  pop(): Span {
    const spans = this.#spans;
    const top = spans[0] as Span;
    const last = spans.pop() as Span;
    if (spans.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= spans.length) break;
      if (child + 1 < spans.length && (spans[child + 1] as Span).to < (spans[child] as Span).to) child += 1;
      if ((spans[child] as Span).to >= last.to) break;
      spans[at] = spans[child] as Span;
      at = child;
    }
    spans[at] = last;
    return top;
  }
}
