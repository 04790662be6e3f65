import { performance } from "node:perf_hooks";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { clientStateOf } from "@holdfast/redis-recipes/internal";
import { type Held, WatchedHold } from "./watched-hold.js";

/** A lock or a semaphore, and how much of it one hold takes. */
export interface Place {
  readonly name: string;
  /** How much all holds at one instant may take together. */
  readonly capacity: number;
  readonly share: number;
}

interface Belief extends Place {
  readonly who: string;
  readonly hold: WatchedHold;
  /** The deadline that the driver keeps. It is read at the end, when it no longer moves. */
  readonly deadlineMs: () => number;
  releasedMs: number;
  /** The release found that the hold was gone. Its holder may have heard nothing of that. */
  foundGone: boolean;
}

/** How late a timer of this process may be on a busy machine. */
const lateMs = 1_500;

/**
 * Records which client believed to hold what, from when to when. All clients live in this process, so one clock shows what came
 * first.
 */
export class Beliefs {
  readonly #beliefs: Belief[] = [];

  begin(who: string, locks: RedisLocks, place: Place, handle: Held): WatchedHold {
    const hold = new WatchedHold(locks, handle);
    this.#beliefs.push({
      ...place,
      who,
      hold,
      deadlineMs: deadlineOf(locks, handle),
      releasedMs: Number.POSITIVE_INFINITY,
      foundGone: false,
    });
    return hold;
  }

  /** Ends the belief, and only then sends the request to release. */
  async release(hold: WatchedHold): Promise<void> {
    const belief = this.#beliefs.find((each) => each.hold === hold);
    if (belief !== undefined) belief.releasedMs = performance.now();
    const outcome = await hold.handle.release();
    if (belief !== undefined) belief.foundGone = outcome === "lost";
  }

  get count(): number {
    return this.#beliefs.length;
  }

  /** How many holds were lost: their holders were notified, or only the release found it. */
  get lost(): number {
    return this.#beliefs.filter(({ hold, foundGone }) => hold.lost || foundGone).length;
  }

  /**
   * How many holders were notified that they may not rely on their hold: by a doubt, or by the loss where the lease ends before
   * a doubt.
   */
  get warned(): number {
    return this.#beliefs.filter(({ hold }) => hold.lost || hold.doubtedMs !== Number.POSITIVE_INFINITY)
      .length;
  }

  /**
   * What was wrong; empty when nothing was. `until`: what ends a belief besides a release. That is a loss or, where the server
   * has lost its data, already the first doubt: a holder can learn of lost data only by asking.
   */
  violations(until: "loss" | "doubt" = "loss"): string[] {
    return [...this.#crowds(until === "loss" ? endOf : doubtOf), ...this.#late()];
  }

  /** Instants at which the holds together took more than the capacity. */
  *#crowds(endOf: (belief: Belief) => number): Iterable<string> {
    for (const name of new Set(this.#beliefs.map((each) => each.name))) {
      const here = this.#beliefs.filter((each) => each.name === name);
      for (const belief of here) {
        const fromMs = belief.hold.grantedMs;
        // The sum can rise only where a hold begins, so only these instants are looked at.
        const beside = here.filter((each) => each.hold.grantedMs <= fromMs && fromMs < endOf(each));
        const held = beside.reduce((sum, { share }) => sum + share, 0);
        if (held > belief.capacity) {
          const who = beside.map((each) => `${each.who} until ${Math.round(endOf(each) - fromMs)} ms after`);
          yield `${name}: ${held} of ${belief.capacity} held at once by ${who.join(" and ")}`;
        }
      }
    }
  }

  /** Losses that were notified too late after the holder's own deadline, and holds that neither a loss nor a release ended. */
  *#late(): Iterable<string> {
    for (const { name, who, hold, deadlineMs, releasedMs } of this.#beliefs) {
      const endMs = Math.min(hold.lostMs, releasedMs);
      const overMs = endMs - deadlineMs();
      if (endMs === Number.POSITIVE_INFINITY && performance.now() > deadlineMs() + lateMs) {
        yield `${name}: ${who} was never told that its hold is over`;
      } else if (hold.lostMs < releasedMs && overMs > lateMs) {
        yield `${name}: ${who} was told of its loss ${Math.round(overMs)} ms after its deadline`;
      }
    }
  }
}

/**
 * `assertHeld()` reads the clock, so it throws from the deadline on, even while a busy event loop delays the timer and with it
 * the event of the loss. `#late` judges how late that event may be.
 */
function endOf({ hold, releasedMs, deadlineMs }: Belief): number {
  return Math.min(hold.lostMs, releasedMs, deadlineMs());
}

function doubtOf(belief: Belief): number {
  return Math.min(endOf(belief), belief.hold.doubtedMs);
}

/** The deadline that the driver keeps for exactly this hold. */
function deadlineOf(locks: RedisLocks, handle: Held): () => number {
  const state = clientStateOf(locks);
  const permitIds = "permitIds" in handle ? handle.permitIds : [];
  const hold = state?.holds
    .on(handle.name)
    .find((each) => each.token === handle.token && each.permitIds.join() === permitIds.join());
  // The hold was lost in the moment in which it was granted.
  if (hold === undefined) return () => performance.now();
  return () => hold.validUntilMs();
}
