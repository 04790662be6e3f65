import type { Grant, LockDriver } from "../api/driver.js";
import type { LockLostError } from "../api/errors.js";
import type { HoldEventBase } from "../api/events.js";
import type { LockHandle } from "../api/handle.js";
import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";
import type { AlarmClock } from "../clock/alarm-clock.js";
import type { EventHub } from "../events/event-hub.js";

export type HoldIdentity = Pick<HoldEventBase, "kind" | "name" | "mode" | "owner">;

/** A hold or a request that is over, of which something may be at the backend. */
export type Left = Pick<HoldIdentity, "kind" | "name" | "owner">;

/** A handle as its hold knows it. */
export interface OpenHandle extends LockHandle {
  holdLost(error: LockLostError): void;
  revokeAsked(): void;
}

/** A `Hold` as the books of its provider have it: who holds what, and since when. */
export interface HoldRecord extends HoldIdentity {
  readonly grant: Grant;
  /** The label as given, or as announced since. */
  readonly label: string | null;
  readonly grantedAtMs: Millis;
  /** Handles not released yet, oldest first. */
  readonly open: readonly OpenHandle[];
  /** Whether the hold is not over by the clock. When its time has passed it is lost here and now, however late the timers are. */
  check(): boolean;
  /** The provider closes: resolves to `true` when the backend has confirmed that nothing is left. */
  closeDown(): Promise<boolean>;
  /** No alarm will ring any more: a release that is not confirmed settles now. */
  abandonRelease(): void;
}

/** A `GrantEngine`, as those of its parts have it that look at who holds and who waits. */
export interface GrantBooks {
  readonly runtime: Runtime;
  readonly driver: LockDriver;
  readonly events: EventHub;
  readonly alarms: AlarmClock;
  readonly holds: ReadonlySet<HoldRecord>;
  readonly waiting: ReadonlySet<object>;
}
