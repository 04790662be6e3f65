import type { LockHandle, LockProvider } from "@holdfast/core";
import { tokenGate } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import type { FaultObserver } from "./fault-observer.js";

export type Told = "uncertain" | "recovered" | "lost";

/** The state at the moment in which the waiter was granted, and what led to it. */
export interface Verdict {
  /** The events that the holder had received by then, in order. */
  readonly told: readonly Told[];
  readonly lostAborted: boolean;
  /** The name of the error that `assertHeld()` of the old handle threw; `null` when it threw none. */
  readonly assertThrew: string | null;
  /** The state of the old handle, after `assertHeld()`. */
  readonly state: LockHandle["state"];
  /** The time from the loss to the grant; `-Infinity` when the holder had not been notified of the loss. */
  readonly marginMs: number;
  /**
   * The time from the end of what an `uncertain` event still gave the holder to the grant. The last event that gave any time
   * counts. Late timers do not change it. `Infinity` when no event gave any time, as in a process that stood still: the time
   * had ended before, at an instant that the event does not contain.
   */
  readonly promiseMarginMs: number;
  /** The time from the fault to the grant. */
  readonly grantedAfterMs: number;
  /** Whether the resource took a write with the old token after one with the new. */
  readonly staleWriteAdmitted: boolean;
}

export interface ContestOptions {
  readonly path: string;
  readonly holder: LockProvider;
  /** Another session, on a link that stays healthy. */
  readonly waiter: LockProvider;
  readonly observer: FaultObserver;
  /** The waiter must be granted within this time, which shows that the lock stays live. */
  readonly grantWithinMs: number;
}

/**
 * One holder and one waiter on one lock, before a fault. Both sessions live in this process, so one clock shows what came first.
 *
 * The handle is not polled: `assertHeld()` and `state` read the clock and would bring about the loss. A test has to show that the
 * loss comes by itself.
 */
export class Contest {
  readonly path: string;
  readonly handle: LockHandle;
  readonly token: bigint;
  /** The path of the holder's queue node. */
  readonly nodePath: string;
  readonly #options: ContestOptions;
  readonly #told: Told[] = [];
  readonly #waiting: Promise<LockHandle>;
  #lostAtMs = Number.POSITIVE_INFINITY;
  #promisedUntilMs = Number.NEGATIVE_INFINITY;
  #faultAtMs = Number.NaN;
  #grantedAtMs = Number.NaN;
  #verdict: Verdict | null = null;

  static async start(options: ContestOptions): Promise<Contest> {
    const { path, holder, observer } = options;
    const handle = await holder.mutex(path).acquire({ waitMs: 10_000 });
    // A follower may not show the node yet.
    const name = await eventually(async () => (await observer.children(path))[0], {
      what: `the holder's node on ${path}`,
      everyMs: 10,
    });
    const contest = new Contest(options, handle, `${path}/${name}`);
    await eventually(async () => (await observer.children(path)).length === 2, {
      what: `the waiter to queue on ${path}`,
      everyMs: 10,
    });
    return contest;
  }

  private constructor(options: ContestOptions, handle: LockHandle, nodePath: string) {
    const { path, holder, waiter } = options;
    this.nodePath = nodePath;
    this.path = path;
    this.handle = handle;
    this.token = handle.token as bigint;
    this.#options = options;
    for (const type of ["uncertain", "recovered", "lost"] as const) {
      holder.events.on(type, ({ name }) => {
        if (name === path && this.#verdict === null) this.#told.push(type);
      });
    }
    holder.events.on("uncertain", ({ name, at, remainingMs }) => {
      if (name === path && remainingMs > 0) this.#promisedUntilMs = at + remainingMs;
    });
    handle.lost.addEventListener("abort", () => {
      this.#lostAtMs = performance.now();
    });
    const listening = waiter.events.on("acquire-settled", (event) => {
      if (event.name !== path || event.outcome !== "granted") return;
      this.#judge(event.token as bigint);
      listening[Symbol.dispose]();
    });
    this.#waiting = waiter.mutex(path).acquire({ waitMs: options.grantWithinMs });
    this.#waiting.catch(() => {}); // reported by `verdict`
  }

  get told(): readonly Told[] {
    return this.#told;
  }

  get granted(): boolean {
    return this.#verdict !== null;
  }

  /** `NaN` before the grant. */
  get grantedAtMs(): number {
    return this.#grantedAtMs;
  }

  /** Resolves at the next event of that kind. */
  whenTold(type: Told): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        listening[Symbol.dispose]();
        reject(new Error(`${this.path}: not told "${type}" within ${this.#options.grantWithinMs} ms`));
      }, this.#options.grantWithinMs);
      const listening = this.#options.holder.events.on(type, ({ name }) => {
        if (name !== this.path) return;
        clearTimeout(timer);
        listening[Symbol.dispose]();
        resolve();
      });
    });
  }

  /** Marks time 0 of `grantedAfterMs`. */
  faultBegins(): void {
    this.#faultAtMs = performance.now();
  }

  /** Rejects when the waiter is not granted in time. */
  async verdict(): Promise<Verdict> {
    await this.#waiting;
    return this.#verdict as Verdict;
  }

  /**
   * To be called when the fault is over. The waiter releases, and then the old holder's provider must be able to take the lock
   * again. Rejects when anything is left in the queue afterwards.
   */
  async aftermath(
    withinMs: number,
    observer: FaultObserver = this.#options.observer,
  ): Promise<{ tokenGrew: boolean }> {
    const { holder } = this.#options;
    const next = await this.#waiting;
    await eventually(
      async () => {
        const owners = await observer.czxids(this.path);
        return owners.length === 1 && owners[0] === next.token;
      },
      { what: `the old holder's node on ${this.path} to be gone`, withinMs },
    );
    await next.release();
    const again = await holder.mutex(this.path).acquire({ waitMs: withinMs });
    const tokenGrew = (again.token as bigint) > (next.token as bigint);
    await again.release();
    await observer.empty(this.path);
    return { tokenGrew };
  }

  /** Runs inside the grant, before the new holder itself is notified of it. */
  #judge(token: bigint): void {
    const grantedAtMs = performance.now();
    this.#grantedAtMs = grantedAtMs;
    const told = [...this.#told];
    const lostAborted = this.handle.lost.aborted;
    let assertThrew: string | null = null;
    try {
      this.handle.assertHeld();
    } catch (error) {
      assertThrew = (error as Error).name;
    }
    const gate = tokenGate();
    gate.admit(this.path, token);
    this.#verdict = {
      told,
      lostAborted,
      assertThrew,
      state: this.handle.state,
      marginMs: grantedAtMs - this.#lostAtMs,
      promiseMarginMs: grantedAtMs - this.#promisedUntilMs,
      grantedAfterMs: grantedAtMs - this.#faultAtMs,
      staleWriteAdmitted: gate.admit(this.path, this.token),
    };
  }
}
