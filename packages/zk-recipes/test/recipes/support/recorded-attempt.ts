import type { LossReason } from "@holdfast/core";
import type { Attempt, AttemptListener, Grant, GrantState } from "@holdfast/core/driver";
import type { ZooKeeperGrant } from "../../../src/recipes/grant/zookeeper-grant.js";
import type { SessionAttempt } from "../../../src/recipes/session-attempt.js";

/** Core's side of a grant, as far as a driver sees it. */
export class RecordedState implements GrantState {
  /** What was reported, in order: "uncertain", "recovered", "revoke-requested", "lost" with its reason. */
  readonly heard: string[] = [];
  delivered: boolean;
  doubted = false;
  lossReason: LossReason | null = null;

  constructor(delivered: boolean) {
    this.delivered = delivered;
  }

  uncertain(): void {
    this.doubted = true;
    this.heard.push("uncertain");
  }

  recovered(): void {
    this.doubted = false;
    this.heard.push("recovered");
  }

  revokeRequested(): void {
    this.heard.push("revoke-requested");
  }

  lost(reason: LossReason): void {
    this.lossReason = reason;
    this.heard.push(`lost ${reason}`);
  }
}

/** Begins a grant that was delivered to its caller, and records what is reported of it. */
export function delivered(grant: ZooKeeperGrant): RecordedState {
  const state = new RecordedState(true);
  grant.begin(state);
  return state;
}

/**
 * One attempt, and all that it reports to core. As core does, it delivers a grant a microtask later, unless the grant is in doubt
 * or lost by then.
 */
export class RecordedAttempt {
  /** What the attempt reported besides its end, and "session ended". */
  readonly heard: string[] = [];
  /** Resolves to all grants once they are delivered, or to `null` when unavailable. Rejects when failed. Else it stays open. */
  readonly grants: Promise<readonly ZooKeeperGrant[] | null>;
  /** The first of `grants`. */
  readonly grant: Promise<ZooKeeperGrant | null>;
  /** The states of the grants, also of those that are not delivered. */
  states: readonly RecordedState[] = [];
  made: readonly ZooKeeperGrant[] = [];
  /** Runs when the attempt reports the end of its session. */
  onSessionEnded: () => void = () => {};
  #attempt: Attempt | undefined;
  #resolve!: (grants: readonly ZooKeeperGrant[] | null) => void;
  #reject!: (error: unknown) => void;
  #ended = false;
  #withdrawn = false;

  constructor(make: (listener: AttemptListener) => SessionAttempt) {
    this.grants = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.grant = this.grants.then((grants) => grants?.[0] ?? null);
    for (const end of [this.grants, this.grant]) end.catch(() => {});
    const attempt = make(this.#listener());
    attempt.start();
    this.#attempt = attempt;
  }

  async withdraw(): Promise<void> {
    this.#ended = true;
    this.#withdrawn = true;
    await this.#attempt?.withdraw();
  }

  #listener(): AttemptListener {
    return {
      granted: (grants) => this.#granted(grants),
      unavailable: () => {
        this.#end();
        this.#resolve(null);
      },
      failed: (error) => {
        this.#started();
        this.#end();
        this.#reject(error);
      },
      sessionEnded: ({ queued, roundTrips }) => {
        this.#started();
        this.#end();
        this.heard.push(`session ended ${queued ? "queued" : "not queued"} after ${roundTrips}`);
        this.onSessionEnded();
      },
      waiting: () => {},
      notified: () => this.heard.push("notified"),
      requeued: (reason) => this.heard.push(`requeued ${reason}`),
      sequenceHigh: (sequence) => this.heard.push(`high ${sequence}`),
    };
  }

  #granted(grants: readonly [Grant, ...Grant[]]): readonly [GrantState, ...GrantState[]] {
    this.#end();
    this.made = grants as readonly Grant[] as readonly ZooKeeperGrant[];
    this.states = grants.map(() => new RecordedState(false));
    queueMicrotask(() => {
      const inDoubt = this.states.some(({ doubted, lossReason }) => doubted || lossReason !== null);
      if (this.#withdrawn || inDoubt) return;
      for (const state of this.states) state.delivered = true;
      this.#resolve(this.made);
    });
    return this.states as [RecordedState, ...RecordedState[]];
  }

  /** Checks that core has the attempt already: these ends must not be reported before. */
  #started(): void {
    if (this.#attempt === undefined) throw new Error("reported before the attempt was returned");
  }

  /** Checks that exactly one end is reported, and none after the withdrawal. */
  #end(): void {
    if (this.#ended) throw new Error("the attempt has ended before");
    this.#ended = true;
  }
}
