import type { Millis } from "@holdfast/core";
import type { NotSentError, OutcomeUnknownError, ReplyError } from "./errors.js";

/** A command as it is sent to the server. */
export type Command = readonly [name: string, ...args: (string | number)[]];

/** The outcome of one command: its reply, or the reason why there is none. */
export type Outcome =
  | { readonly reply: unknown }
  | { readonly error: ReplyError | OutcomeUnknownError | NotSentError };

/** Commands that were sent in one write. */
export interface Flight {
  readonly outcomes: readonly Outcome[];
  /** By the monotonic clock. */
  readonly sentMs: Millis;
  readonly answeredMs: Millis;
  /** Run id of the server on this connection; empty when nothing was sent. */
  readonly runId: string;
}
