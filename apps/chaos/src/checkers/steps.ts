import type { History, KeyHistory, Operation } from "../history/history.js";
import type { Nanos } from "../history/record.js";

const never = Number.POSITIVE_INFINITY;

/** Something that one acquire took, and that its owner has until it gives it back. */
export interface Take {
  /** Takes of one owner never exclude each other. */
  readonly owner: string;
  readonly writes: boolean;
  readonly permits: number;
  /** The `i` of the records that granted it: of the acquire, and of the later downgrades. */
  readonly grants: number[];
}

/** Something that takes effect at one moment from `call` to `end`. A step whose `end` is infinite may also never take effect. */
export interface Step {
  readonly call: Nanos;
  readonly end: Nanos;
  readonly take: Take;
  readonly does: "takes" | "lowers" | "gives";
}

/** The operations and events of some holds of a key. */
export type Excerpt = Pick<KeyHistory, "operations" | "events">;

/** The name of the hold that an acquire was granted. */
export const grantedAs = ({ named, p, op }: Operation): string => (named === "" ? `${p}:${op}` : named);

/**
 * Everything about the holds of these names and about the reads that they became. One excerpt of a long history serves
 * many samples.
 */
export function excerptOf({ operations, events }: Excerpt, names: ReadonlySet<string>): Excerpt {
  const wanted = new Set(names);
  const chosen = operations.filter((asked) => {
    if (asked.acquires) return asked.outcome === "ok" && wanted.has(grantedAs(asked));
    if (asked.hold === "" || !wanted.has(asked.hold)) return false;
    if (asked.f === "downgrade" && asked.named !== "") wanted.add(asked.named);
    return asked.f === "downgrade" || asked.f === "release";
  });
  return {
    operations: chosen,
    events: events.filter(({ f, hold }) => f === "lost" && hold !== undefined && wanted.has(hold)),
  };
}

/**
 * What the operations of an excerpt did to the lock, read from the records alone.
 * A successful acquire takes at some moment until it returned. A successful downgrade turns a write into a read at some
 * moment of the call. A release, a loss and a death give back, at some moment from then on or never.
 * `workers`: when processes began and ended.
 */
export function stepsOf({ operations, events }: Excerpt, workers: History["workers"]): Step[] {
  let steps: Step[] = [];
  /** What was taken under the name of each hold, and whether it was given back. The innermost is last. */
  const taken = new Map<string, { take: Take; p: string; given: boolean }[]>();
  const dead = new Set<string>();
  const give = (one: { take: Take; given: boolean }, at: Nanos): void => {
    if (one.given) return;
    one.given = true;
    // A hold that ended at the moment at which its acquire returned is left out: no process believed in it.
    if (steps.find(({ take }) => take === one.take)?.end === at) {
      steps = steps.filter(({ take }) => take !== one.take);
    } else steps.push({ call: at, end: never, take: one.take, does: "gives" });
  };
  const takes = (asked: Operation, name: string, about: Pick<Take, "owner" | "writes" | "permits">): void => {
    const take: Take = { ...about, grants: [asked.end] };
    const one = { take, p: asked.p, given: false };
    steps.push({ call: asked.invokedAt, end: asked.endedAt, take, does: "takes" });
    taken.set(name, [...(taken.get(name) ?? []), one]);
    // A kill is recorded before it works. What is recorded after it came from a process that was already dying.
    if (dead.has(asked.p)) give(one, asked.endedAt);
  };
  const moments: { t: Nanos; i: number; happens(): void }[] = [];
  const at = (t: Nanos, i: number, happens: () => void): void => {
    moments.push({ t, i, happens });
  };
  for (const asked of operations) {
    const { f, hold, invoke, invokedAt, end, endedAt, outcome, mode, permits } = asked;
    if (asked.acquires) {
      at(endedAt, end, () =>
        takes(asked, grantedAs(asked), { owner: ownerOf(asked), writes: mode === "write", permits }),
      );
    } else if (f === "release" || (outcome !== "ok" && outcome !== "fail")) {
      at(invokedAt, invoke, () => {
        const one = taken.get(hold)?.pop();
        if (one !== undefined) give(one, invokedAt);
      });
    } else if (outcome === "ok") {
      at(endedAt, end, () => {
        const one = taken.get(hold)?.pop();
        if (one === undefined) return;
        const name = asked.named === "" ? hold : asked.named;
        if (one.given) {
          // The write was lost before the answer. What its owner had meanwhile is left open, and the read of the answer
          // is a new take.
          steps = steps.map((step) =>
            step.take === one.take && step.does === "gives"
              ? { ...step, call: Math.min(step.call, invokedAt) }
              : step,
          );
          return takes(asked, name, { ...one.take, writes: false });
        }
        one.take.grants.push(end);
        steps.push({ call: invokedAt, end: endedAt, take: one.take, does: "lowers" });
        taken.set(name, [...(taken.get(name) ?? []), one]);
      });
    }
  }
  for (const { hold, t, i } of events) {
    at(t, i, () => {
      for (const one of taken.get(hold ?? "") ?? []) give(one, t);
    });
  }
  for (const p of new Set(operations.map((asked) => asked.p))) {
    for (const { f, t, i } of workers.get(p) ?? []) {
      at(t, i, () => {
        if (f === "start") dead.delete(p);
        if (f !== "killed" && f !== "exit") return;
        dead.add(p);
        for (const one of [...taken.values()].flat()) if (one.p === p) give(one, t);
      });
    }
  }
  moments.sort((a, b) => a.t - b.t || a.i - b.i);
  for (const { happens } of moments) happens();
  return steps;
}

/** Acquires of one logical thread nest. Without a thread each acquire has an owner of its own. */
const ownerOf = ({ p, op, thread }: Operation): string => (thread === "" ? `${p}:${op}` : `${p}/${thread}`);
