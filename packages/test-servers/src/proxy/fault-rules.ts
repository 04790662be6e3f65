import type { FaultAction } from "../embedded/faults/actions.js";
import type { Fault } from "../embedded/faults/fault.js";
import type { Release } from "../embedded/faults/faults.js";
import type { FaultMatch } from "../embedded/faults/match.js";

/**
 * Faults at exact requests, with one interface for two places. `EmbeddedZooKeeper.faults` injects them into the
 * embedded server, `ZooKeeperProxy.faults` in front of a real one. So a test that takes this interface runs with both.
 */
export interface FaultRules {
  /** Whether any fault is set. */
  readonly active: boolean;
  /** Makes `action` happen to what matches, by default to the first match. */
  on(match: FaultMatch, action: FaultAction): Fault;
  /** Accepts connections and closes them at once, for `forMs` or until released. */
  refuseConnections(options?: { readonly forMs?: number }): Release;
  /** Ends all faults. */
  clear(): void;
}
