import type { FaultAction } from "../embedded/faults/actions.js";
import type { Fault } from "../embedded/faults/fault.js";
import type { Release } from "../embedded/faults/faults.js";
import type { FaultMatch } from "../embedded/faults/match.js";

/**
 * Faults at exact requests, in one vocabulary: `EmbeddedZooKeeper.faults` puts them into the embedded server,
 * `ZooKeeperProxy.faults` in front of a real one, so a test that takes this runs with both.
 */
export interface FaultRules {
  /** Whether anything is set. */
  readonly active: boolean;
  /** Has `action` happen to what matches, by default to the first that does. */
  on(match: FaultMatch, action: FaultAction): Fault;
  /** Accepts connections and closes them at once, for `forMs` or until released. */
  refuseConnections(options?: { readonly forMs?: number }): Release;
  /** Heals everything. */
  clear(): void;
}
