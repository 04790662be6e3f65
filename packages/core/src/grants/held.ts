import type { PrimitiveKind } from "../api/capabilities.js";
import type { Grant } from "../api/driver.js";
import type { LockLostError } from "../api/errors.js";
import type { LockHandle } from "../api/handle.js";
import type { FencingToken, LockMode, LossReason, Millis, Owner } from "../api/values.js";

export interface HoldIdentity {
  readonly kind: PrimitiveKind;
  readonly name: string;
  readonly mode: LockMode;
  readonly owner: Owner;
}

/** A handle as its hold knows it. */
export interface OpenHandle extends LockHandle {
  holdLost(error: LockLostError): void;
  revokeAsked(): void;
}

/**
 * A hold as the books of its provider, its release and its renewal know it. The engine keeps such books and the hold is made with the
 * engine, so that only an interface between them keeps their imports from going in a circle.
 */
export interface Held extends HoldIdentity {
  readonly grant: Grant;
  readonly token: FencingToken | null;
  readonly label: string | null;
  readonly grantedAtMs: Millis;
  readonly leaseMs: Millis;
  readonly open: readonly OpenHandle[];
  readonly lossReason: LossReason | undefined;
  readonly missingReason: LossReason;
  readonly givenBack: boolean;
  readonly outlastsKeeping: boolean;
  readonly renewableMs: Millis;
  readonly provenUntilMs: Millis;
  check(): boolean;
  deadlineMs(): Millis;
  heldMs(): Millis;
  eventBase(): HoldIdentity;
  lose(reason: LossReason): void;
  proven(untilMs: Millis, epoch: number): void;
  renewedTooLate(): void;
  noteLossBeforeRelease(): void;
  releaseFailed(reason: "unconfirmed" | "refused", error: unknown): void;
  releaseDone(): Promise<boolean>;
  abandonRelease(): void;
  closeDown(): Promise<boolean>;
  endKeeping(): Promise<boolean>;
}
