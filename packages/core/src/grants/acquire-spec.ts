import type { GrantRequest, PermitLimit } from "../api/driver.js";
import type { Millis, Owner } from "../api/values.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";
import type { Handle } from "./handle.js";
import type { Hold } from "./hold.js";

/** What one acquire asks for, for which owner, and what is done with the hold. */
export interface AcquireSpec extends Pick<GrantRequest, "kind" | "name" | "mode" | "permits"> {
  readonly owner: Owner;
  readonly options: ResolvedAcquireOptions;
  /** `true`: no grant in time is an `AcquireTimeoutError`. `false`: it is `null`. */
  readonly throws: boolean;
  /** When the wait began, if that was before this request. */
  readonly startedMs?: Millis;
  /** Called with the hold before the caller gets the handle. */
  readonly onHold?: (hold: Hold) => void;
  /** Makes the handle, if it can do more than that of a mutex. */
  readonly handleFrom?: ((hold: Hold, options: ResolvedAcquireOptions) => Handle) | undefined;
  /** See `GrantRequest.limit`. Default `null`. */
  readonly limit?: PermitLimit | null;
  readonly variant?: string | null;
  /**
   * Asks once and does not stay in the queue, also where `waitMs` is above 0; `waitMs` then only limits outages and
   * retries. With `waitMs` above 0 no event reports a refusal, because the multi-lock that asks in this way then waits
   * for its first part alone.
   */
  readonly asksOnce?: boolean;
  /** See `claimBeside`. */
  readonly beside?: Hold;
}

/** One lock, or several of one driver that are granted together or not at all. All have the options of the first. */
export type AcquireSpecs = readonly [AcquireSpec, ...AcquireSpec[]];
