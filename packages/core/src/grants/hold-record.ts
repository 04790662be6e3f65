import type { Grant, LockDriver } from "../api/driver.js";
import type { LockLostError } from "../api/errors.js";
import type { HoldEventBase } from "../api/events.js";
import type { LockHandle } from "../api/handle.js";
import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";
import type { AlarmClock } from "../clock/alarm-clock.js";
import type { EventHub } from "../events/event-hub.js";

export type HoldIdentity = Pick<HoldEventBase, "kind" | "name" | "mode" | "owner">;

/** A hold or a request that is over, and of which something may be left at the backend. */
export type Left = Pick<HoldIdentity, "kind" | "name" | "owner">;

/** A handle as its hold uses it. */
export interface OpenHandle extends LockHandle {
  holdLost(error: LockLostError): void;
  revokeAsked(): void;
}

/** A `Hold` as the books of its provider see it: its lock, its owner, and since when it is held. */
export interface HoldRecord extends HoldIdentity {
  readonly grant: Grant;
  /** The label as given, or as announced since. */
  readonly label: string | null;
  readonly grantedAtMs: Millis;
  /** Handles not released yet, oldest first. */
  readonly open: readonly OpenHandle[];
  /**
   * Whether the hold is still good by the clock. If its time has passed, this call marks it as lost, however late the timers are.
   */
  check(): boolean;
  /** The provider closes: resolves to `true` when the backend has confirmed that nothing is left. */
  closeDown(): Promise<boolean>;
  /** Settles a release that is not confirmed now, because no alarm will ring any more. */
  abandonRelease(): void;
}

/** A `GrantEngine` as those of its parts see it that only look at its holds and waits. */
export interface GrantBooks {
  readonly runtime: Runtime;
  readonly driver: LockDriver;
  readonly events: EventHub;
  readonly alarms: AlarmClock;
  readonly holds: ReadonlySet<HoldRecord>;
  readonly waiting: ReadonlySet<object>;
}
