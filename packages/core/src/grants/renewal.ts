import type { Millis } from "../api/values.js";
import { Alarm } from "../clock/alarm-clock.js";
import type { GrantEngine } from "./engine.js";
import type { Held } from "./held.js";

/**
 * Keeps a lease alive: at a third of it, then each tenth after a failure. One request at a time. A request that hangs
 * delays nothing: the hold's own alarm ends it at the deadline, and an answer after that is too late.
 */
export class Renewal extends Alarm {
  readonly #engine: GrantEngine;
  readonly #hold: Held;
  readonly #periodic: boolean;
  #stopped = false;
  #inFlight = false;

  constructor(engine: GrantEngine, hold: Held, options: { periodic: boolean }) {
    super();
    this.#engine = engine;
    this.#hold = hold;
    this.#periodic = options.periodic;
  }

  start(): void {
    this.#next(this.#hold.leaseMs / 3);
  }

  stop(): void {
    this.#stopped = true;
    this.#engine.alarms.clear(this);
  }

  /** The holder is done, and its lock has to stay taken: goes on only until the lease lasts that long. */
  keep(): void {
    // What was due by the clock is asked for now, or is not wanted any more.
    this.#engine.alarms.clear(this);
    if (this.#hold.outlastsKeeping || !this.#periodic) this.#stopped = true;
    else this.now();
  }

  /** Out of turn, because the present validity is in doubt. */
  now(): void {
    if (!this.#stopped && !this.#inFlight) this.#send(false);
  }

  ring(): void {
    if (!this.#stopped && !this.#inFlight && this.#hold.check()) this.#send(true);
  }

  #next(delayMs: Millis): void {
    const engine = this.#engine;
    if (this.#periodic && !this.#stopped) engine.alarms.set(this, engine.runtime.nowMs() + delayMs);
  }

  /** A third of the lease, less where it was confirmed some time ago: a backend renews several holds with the one that is due. */
  #restMs(): Millis {
    const engine = this.#engine;
    const { leaseMs, grant } = this.#hold;
    const thirdMs = leaseMs / 3;
    if (engine.driver.capabilities.lease !== "ttl") return thirdMs;
    const confirmedAgoMs = leaseMs - (grant.validUntilMs() - engine.runtime.nowMs());
    return confirmedAgoMs < leaseMs / 10 ? thirdMs : Math.max(leaseMs / 10, thirdMs - confirmedAgoMs);
  }

  #send(due: boolean): void {
    this.#inFlight = true;
    const hold = this.#hold;
    renewOnce(this.#engine, hold, due).then(
      (renewed) => {
        this.#inFlight = false;
        if (renewed && !this.#hold.outlastsKeeping) this.#next(this.#restMs());
      },
      () => {
        this.#inFlight = false;
        this.#next(hold.leaseMs / 10);
      },
    );
  }
}

/** One renewal with its events. `false` when the hold is over, by its answer or before it. */
export async function renewOnce(engine: GrantEngine, hold: Held, due = false): Promise<boolean> {
  const sentMs = engine.runtime.nowMs();
  const epoch = engine.clockJump.read();
  const leased = engine.driver.capabilities.lease === "ttl";
  let validUntilMs: Millis | null;
  const sentUntilMs = hold.deadlineMs();
  try {
    validUntilMs = await (due
      ? hold.grant.prove(hold.renewableMs, { due })
      : hold.grant.prove(hold.renewableMs));
  } catch (error) {
    // Of one that was released meanwhile nothing has failed.
    const missed = leased && hold.lossReason === undefined && !hold.givenBack;
    if (missed && engine.events.has("renew-failed")) {
      const marginMs = Math.max(0, hold.deadlineMs() - engine.runtime.nowMs());
      engine.events.emit("renew-failed", { ...hold.eventBase(), error, marginMs });
    }
    throw error;
  }
  const nowMs = engine.runtime.nowMs();
  // The driver has moved the deadline by now, so the one it replaced decides whether the answer was in time. Where the
  // session is the lease, others prove it meanwhile, and the session itself judges late answers.
  const beforeMs = leased ? Math.max(sentUntilMs, hold.provenUntilMs) : hold.deadlineMs();
  if (nowMs >= beforeMs) hold.lose("lease-expired");
  if (hold.lossReason !== undefined) {
    if (leased && validUntilMs !== null) hold.renewedTooLate();
    return false;
  }
  if (validUntilMs === null) {
    hold.lose(hold.missingReason);
    return false;
  }
  hold.proven(validUntilMs, epoch);
  if (leased && !hold.givenBack && engine.events.has("renewed")) {
    engine.events.emit("renewed", {
      ...hold.eventBase(),
      tookMs: nowMs - sentMs,
      marginMs: Math.max(0, beforeMs - nowMs),
    });
  }
  return true;
}
