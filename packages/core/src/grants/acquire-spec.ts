import type { GrantRequest, PermitLimit } from "../api/driver.js";
import type { Millis, Owner } from "../api/values.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";
import type { Handle } from "./handle.js";
import type { Hold } from "./hold.js";

/** What is asked for, by whom, and what becomes of the hold. */
export interface AcquireSpec extends Pick<GrantRequest, "kind" | "name" | "mode" | "permits"> {
  readonly owner: Owner;
  readonly options: ResolvedAcquireOptions;
  /** `true`: no grant in time is an `AcquireTimeoutError`. `false`: it is `null`. */
  readonly throws: boolean;
  /** When the waiting began, where that was before this request. */
  readonly startedMs?: Millis;
  /** Hears of the hold before the caller gets the handle. */
  readonly onHold?: (hold: Hold) => void;
  /** Makes the handle, where it can do more than those of a mutex. */
  readonly handleFrom?: ((hold: Hold, options: ResolvedAcquireOptions) => Handle) | undefined;
  /** As in `GrantRequest`. Default `null`. */
  readonly limit?: PermitLimit | null;
  readonly variant?: string | null;
  /**
   * Leaves nothing in the queue to wait for its turn, whatever `waitMs` is: that then bounds outages and retries alone.
   * A refusal is not told by events, unless `waitMs` is 0: whoever asks once and has time left goes on in another way.
   */
  readonly asksOnce?: boolean;
  /** See `claimBeside`. */
  readonly beside?: Hold;
}

/** One lock, or several of one driver that are granted together or not at all. All have the options of the first. */
export type AcquireSpecs = readonly [AcquireSpec, ...AcquireSpec[]];
