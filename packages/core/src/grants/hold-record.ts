import type { PrimitiveKind } from "../api/capabilities.js";
import type { Grant } from "../api/driver.js";
import type { LockLostError } from "../api/errors.js";
import type { LockHandle } from "../api/handle.js";
import type { LockMode, Millis, Owner } from "../api/values.js";
import { Alarm } from "../clock/alarm-clock.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";

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

/** Who holds what since when: a hold as the books of its provider have it. */
export abstract class HoldRecord extends Alarm implements HoldIdentity {
  readonly kind: PrimitiveKind;
  readonly name: string;
  readonly mode: LockMode;
  readonly owner: Owner;
  readonly grant: Grant;
  /** As given, or announced since. */
  label: string | null;
  readonly grantedAtMs: Millis;
  readonly leaseMs: Millis;
  /** Handles not released yet, oldest first. */
  open: readonly OpenHandle[] = noHandles;

  constructor(
    identity: HoldIdentity,
    { label, leaseMs }: ResolvedAcquireOptions,
    grant: Grant,
    grantedAtMs: Millis,
  ) {
    super();
    this.kind = identity.kind;
    this.name = identity.name;
    this.mode = identity.mode;
    this.owner = identity.owner;
    this.grant = grant;
    this.label = label;
    this.grantedAtMs = grantedAtMs;
    this.leaseMs = leaseMs;
  }

  /** Whether the hold is not over by the clock. When its time has passed it is lost here and now, however late the timers are. */
  abstract check(): boolean;

  /** The provider closes: resolves to `true` when the backend has confirmed that nothing is left. */
  abstract closeDown(): Promise<boolean>;

  /** No alarm will ring any more: a release that is not confirmed settles now. */
  abstract abandonRelease(): void;

  eventBase(): HoldIdentity {
    return { kind: this.kind, name: this.name, mode: this.mode, owner: this.owner };
  }
}

export const noHandles: readonly OpenHandle[] = [];
