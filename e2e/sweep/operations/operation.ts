import type { ZooKeeperLocksOptions } from "@holdfast/zk-recipes";
import type { Stage } from "../support/stage.js";

/** Something that a recipe does on the wire. */
export interface Operation {
  readonly name: string;
  readonly clients: readonly string[];
  /** The options of the clients beside their connection. */
  readonly options?: ZooKeeperLocksOptions;
  /**
   * Two clients react to each other at once. It is chance whether the second one watches a node or finds it gone, and so how
   * many events it gets. A fault of an event that does not come is then no violation.
   */
  readonly races?: true;
  /** Prepares the operation. No fault is tried here. */
  before?(stage: Stage): Promise<void>;
  /** The operation itself, in which a fault is tried at each request. */
  act(stage: Stage): Promise<void>;
}

/** Errors of calls that give up by themselves: contention, or no connection in time. */
export const givenUp: readonly string[] = ["AcquireTimeoutError", "BackendError"];
