import type { Millis } from "@holdfast/core";
import type { NotSentError, OutcomeUnknownError, ReplyError } from "./errors.js";

/** A command as it goes to the server. */
export type Command = readonly [name: string, ...args: (string | number)[]];

/** What one command came to: its reply, or why there is none. */
export type Outcome =
  | { readonly reply: unknown }
  | { readonly error: ReplyError | OutcomeUnknownError | NotSentError };

/** Commands that left in one write. */
export interface Flight {
  readonly outcomes: readonly Outcome[];
  /** Monotonic. */
  readonly sentMs: Millis;
  readonly answeredMs: Millis;
  /** Run id of the server at the other end; empty when nothing was sent. */
  readonly runId: string;
}
