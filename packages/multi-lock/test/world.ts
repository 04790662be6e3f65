import type { Fixture } from "@holdfast/conformance";
import { type LockProvider, type LossReason, MemorySpace, memoryLocks, type Runtime } from "@holdfast/core";
import type {
  Attempt,
  AttemptListener,
  Grant,
  GrantRequest,
  GrantState,
  LockDriver,
} from "@holdfast/core/driver";
import { viewPartsOf } from "@holdfast/core/internal";
import { memoryControls } from "@holdfast/core/testing";

/** Whether the providers can queue several locks in one step. */
export type Together = "one by one" | "all at once";

export interface WorldOptions {
  readonly how?: "session" | "theft";
  readonly together?: Together;
  readonly runtime?: Runtime;
  readonly space?: MemorySpace;
  readonly detectDeadlocks?: boolean;
}

/** A memory provider. Its places are taken within one tick, so other clients see several of them taken in one step. */
export function worldProvider(options: WorldOptions): LockProvider {
  const { together, runtime, space = new MemorySpace(), detectDeadlocks = false } = options;
  const provider = memoryLocks({ space, detectDeadlocks, ...(runtime === undefined ? {} : { runtime }) });
  if (together === "all at once") takeTogether(provider);
  return provider;
}

/** Memory providers on one space. A hold is lost by the end of its provider's session, or by theft. */
export function worldFixture(options: WorldOptions): Fixture {
  const { how = "session", runtime, space = new MemorySpace() } = options;
  const providers: LockProvider[] = [];
  return {
    ...(runtime === undefined ? {} : { runtime }),
    async provider() {
      const provider = worldProvider({ ...options, space });
      providers.push(provider);
      return provider;
    },
    async loseHold(handle) {
      const holder = providers.find((each) => each.holds().some((held) => held.owner === handle.owner));
      if (holder === undefined) throw new Error("nobody holds that");
      const controls = memoryControls(holder);
      if (how === "theft") {
        if (!controls.stealHold(handle)) throw new Error("nothing was there to steal");
        return;
      }
      controls.expire();
      controls.reconnect();
    },
    async partition(provider) {
      const controls = memoryControls(provider);
      controls.suspend();
      return { [Symbol.dispose]: () => controls.reconnect() };
    },
  };
}

/** How often the providers of `takeTogether` were asked for several locks at once, and how often they refused. */
export const jointly = { asked: 0, refused: 0 };

function takeTogether(provider: LockProvider): void {
  const driver = viewPartsOf(provider.mutex("any"))?.engine.driver;
  if (driver === undefined) throw new Error("memoryLocks() gave views that are not core's");
  const attempt = driver.attempt.bind(driver);
  driver.jointGroup = (kind) => (kind === "mutex" || kind === "read-write-lock" ? 0 : null);
  driver.attempt = (requests, listener) => {
    if (requests.length === 1) return attempt(requests, listener);
    jointly.asked++;
    return new JointAttempt(requests, listener, attempt);
  };
}

/** Lists the methods one by one: if the listener is an object of core's, they may be on its class, where a spread misses them. */
export function forwarding(listener: AttemptListener): AttemptListener {
  return {
    granted: (grants) => listener.granted(grants),
    unavailable: () => listener.unavailable(),
    failed: (error) => listener.failed(error),
    sessionEnded: (lost) => listener.sessionEnded(lost),
    waiting: (blockedBy) => listener.waiting(blockedBy),
    notified: () => listener.notified(),
    requeued: (reason) => listener.requeued(reason),
    sequenceHigh: (sequence) => listener.sequenceHigh(sequence),
  };
}

/** One attempt for each lock. The first attempt that ends without a grant ends all of them. */
class JointAttempt implements Attempt {
  readonly #attempts: Attempt[] = [];
  #over = false;

  constructor(
    requests: readonly [GrantRequest, ...GrantRequest[]],
    listener: AttemptListener,
    attempt: LockDriver["attempt"],
  ) {
    const grants: Grant[] = [];
    const states = requests.map(() => new EarlyState());
    let missing = requests.length;
    const end = (tell: () => void): void => {
      if (this.#over) return;
      void this.withdraw();
      tell();
    };
    const partOf = (request: GrantRequest, i: number): Attempt =>
      attempt([request], {
        ...forwarding(listener),
        granted: ([grant]) => {
          grants[i] = grant;
          if (--missing === 0) {
            const inner = listener.granted(grants as [Grant, ...Grant[]]);
            for (const [j, state] of states.entries()) state.enter(inner[j] as GrantState);
          }
          return [states[i] as EarlyState];
        },
        unavailable: () =>
          end(() => {
            jointly.refused++;
            listener.unavailable();
          }),
        failed: (error) => end(() => listener.failed(error)),
        sessionEnded: (lost) => end(() => listener.sessionEnded(lost)),
      });
    try {
      for (const [i, request] of requests.entries()) this.#attempts.push(partOf(request, i));
    } catch (error) {
      void this.withdraw();
      throw error;
    }
  }

  async withdraw(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#attempts.map((attempt) => attempt.withdraw()));
  }
}

/** Core's side of one of several grants. What is reported before all of them are granted reaches core once they are. */
class EarlyState implements GrantState {
  #inner: GrantState | undefined;
  readonly #early: ((state: GrantState) => void)[] = [];

  enter(inner: GrantState): void {
    this.#inner = inner;
    for (const report of this.#early) report(inner);
  }

  get delivered(): boolean {
    return this.#inner?.delivered ?? false;
  }

  get doubted(): boolean {
    return this.#inner?.doubted ?? false;
  }

  uncertain(): void {
    this.#report((state) => state.uncertain());
  }

  recovered(): void {
    this.#report((state) => state.recovered());
  }

  revokeRequested(): void {
    this.#report((state) => state.revokeRequested());
  }

  lost(reason: LossReason): void {
    this.#report((state) => state.lost(reason));
  }

  #report(report: (state: GrantState) => void): void {
    if (this.#inner === undefined) this.#early.push(report);
    else report(this.#inner);
  }
}
