import { constants } from "node:os";

/** Wrong usage: a word that was typed, a file or a variable cannot be right. The message names what to change. */
export class UsageError extends Error {
  /** The name in messages; always `"UsageError"`. */
  override readonly name: string = "UsageError";
}

/**
 * Exit codes of `holdfast` itself, in the manner of flock(1) and timeout(1). Codes below 124 and above 127 are those of
 * the command that was run.
 */
export const exits = {
  done: 0,
  conflict: 1,
  usage: 2,
  lost: 124,
  failed: 125,
  notExecutable: 126,
  notFound: 127,
} as const;

/** The exit code of a command that a signal has interrupted: 128 and the number of the signal, as in shells. */
export function exitOfSignal({ reason }: AbortSignal): number {
  return 128 + (constants.signals[reason as NodeJS.Signals] ?? constants.signals.SIGINT);
}
