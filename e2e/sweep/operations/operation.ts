import type { ZooKeeperLocksOptions } from "@holdfast/zk-recipes";
import type { Stage } from "../support/stage.js";

/** Something that a recipe does on the wire. */
export interface Operation {
  readonly name: string;
  readonly clients: readonly string[];
  /** What they have beside their connection. */
  readonly options?: ZooKeeperLocksOptions;
  /**
   * Two clients answer each other at once: whether the second watches a node or finds it gone is chance, and so is the number of its
   * events. A fault of an event that does not come is no finding then.
   */
  readonly races?: true;
  /** What is there before. Not swept. */
  before?(stage: Stage): Promise<void>;
  /** What is swept. */
  act(stage: Stage): Promise<void>;
}

/** Errors of calls that give up by themselves: contention, or no connection in time. */
export const givenUp: readonly string[] = ["AcquireTimeoutError", "BackendError"];
