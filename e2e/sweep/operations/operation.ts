import type { Stage } from "../support/stage.js";

/** Something that a recipe does on the wire. */
export interface Operation {
  readonly name: string;
  readonly clients: readonly string[];
  /** What is there before. Not swept. */
  before?(stage: Stage): Promise<void>;
  /** What is swept. */
  act(stage: Stage): Promise<void>;
}

/** Errors of calls that give up by themselves: contention, or no connection in time. */
export const givenUp: readonly string[] = ["AcquireTimeoutError", "BackendError"];
