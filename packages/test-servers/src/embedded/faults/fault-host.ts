import type { Clock } from "../clock.js";
import type { Connection } from "../connection.js";
import type { State } from "../state.js";

/** What faults need of their server. */
export interface FaultHost {
  readonly state: State;
  readonly clock: Clock;
  connectionOf(sessionId: bigint): Connection | undefined;
  /** `keep` leaves the closing of the connection to the caller. */
  expire(sessionId: bigint, how: "flush" | "mute" | "keep"): void;
}
