import type { FencingToken, LockHandle, LockProvider } from "@holdfast/core";
import { type Limits, monotonicMs } from "./limits.js";
import type { Paces, Plan } from "./plan.js";

/** What `run` needs of a lock handle; a handle of permits has it as well. */
export type Hold = Pick<
  LockHandle<FencingToken>,
  "token" | "state" | "remainingMs" | "lost" | "confirm" | "release"
>;

/** Waits for the lock. Resolves with `null` if it was not granted in time. Rejects like `acquire()`, also when `signal` aborts. */
export async function obtain(
  locks: LockProvider<FencingToken>,
  { kind, lock, waitMs, command }: Plan,
  signal: AbortSignal,
): Promise<Hold | null> {
  const options = { waitMs, signal, label: command };
  if (kind.of === "semaphore") return await locks.semaphore(lock, kind.limit).tryAcquire(options);
  if (kind.of === "mutex") return await locks.mutex(lock).tryAcquire(options);
  try {
    return await locks.leaderElection(lock).campaign(options);
  } catch (error) {
    if ((error as { code?: unknown }).code === "HF_ACQUIRE_TIMEOUT") return null;
    throw error;
  }
}

/** How many times the deadline is looked at within one margin. */
const looksInMargin = 8;
const mostBetweenLooksMs = 250;
/** A smaller change of a deadline does not count: the clocks are read one after the other, which causes a small difference. */
const jitterMs = 1;

/**
 * Follows the deadline of a hold, which moves on with each renewal, and reports the limits that follow from it. The
 * deadline is polled, because it also moves by proofs that cause no event. A late look makes the command end early,
 * never late. Doubt is noticed by its event, because it may come and pass between two looks.
 */
export class Watch implements Disposable {
  readonly #hold: Hold;
  readonly #paces: Paces;
  readonly #rides: boolean;
  readonly #tell: (limits: Limits) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #look = (): void => this.#tellChange(this.#hold.state !== "held");
  readonly #doubts: Disposable;
  /** The last deadline that was certain, and how far the wall clock was ahead of the monotonic clock at that time. */
  #sure: { readonly killAtMs: number; readonly offsetMs: number } | null = null;
  #limits: Limits;
  #doubtedAtMs: number | null = null;

  /**
   * `events` are those of the provider, which has only this hold. With `rides`, doubt alone does not end the command;
   * the SIGTERM is then sent `killAfterMs` before the SIGKILL.
   */
  constructor(
    hold: Hold,
    events: LockProvider["events"],
    paces: Paces,
    rides: boolean,
    tell: (limits: Limits) => void,
  ) {
    this.#hold = hold;
    this.#paces = paces;
    this.#rides = rides;
    this.#tell = tell;
    this.#limits = this.#now(hold.state !== "held");
    this.#doubts = events.on("uncertain", () => this.#tellChange(true));
    this.#timer = setInterval(this.#look, Math.min(paces.marginMs / looksInMargin, mostBetweenLooksMs));
    hold.lost.addEventListener("abort", this.#look);
  }

  get limits(): Limits {
    return this.#limits;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#doubts[Symbol.dispose]();
    this.#hold.lost.removeEventListener("abort", this.#look);
  }

  #tellChange(doubted: boolean): void {
    const before = this.#limits;
    const limits = this.#now(doubted);
    const moved = (key: keyof Limits): boolean => Math.abs(limits[key] - before[key]) > jitterMs;
    if (!moved("killAtMs") && !moved("termAtMs")) return;
    this.#limits = limits;
    this.#tell(limits);
  }

  #now(doubted: boolean): Limits {
    // The clock is read before `remainingMs()`, so that the sum is never later than the hold's deadline.
    const nowMs = monotonicMs();
    const killAtMs = this.#killAtMs(nowMs);
    if (doubted) this.#doubtedAtMs ??= nowMs;
    else this.#doubtedAtMs = null;
    const termAtMs = killAtMs - this.#paces.killAfterMs;
    const doubtedAtMs = this.#rides ? null : this.#doubtedAtMs;
    return { killAtMs, termAtMs: Math.min(termAtMs, doubtedAtMs ?? Infinity) };
  }

  /**
   * The deadline for the SIGKILL. After the wall clock has run ahead, the hold has no certain deadline until the next
   * proof, which takes a round trip. Until then the last certain deadline counts, less the time by which the wall clock
   * ran ahead since: the machine may have slept for so long.
   */
  #killAtMs(nowMs: number): number {
    const offsetMs = Date.now() - nowMs;
    const leftMs = this.#hold.remainingMs();
    const killAtMs = nowMs + leftMs - this.#paces.marginMs;
    if (leftMs === 0 && this.#sure !== null && this.#hold.state === "uncertain")
      return this.#sure.killAtMs - Math.max(0, offsetMs - this.#sure.offsetMs);
    this.#sure = { killAtMs, offsetMs };
    return killAtMs;
  }
}
