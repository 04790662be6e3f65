import { constants } from "node:os";

/** What was typed, or a file or variable that was read, cannot be right. The message names what to change. */
export class UsageError extends Error {
  /** The name in messages; always `"UsageError"`. */
  override readonly name: string = "UsageError";
}

/** Exit codes of `holdfast` itself, in the manner of flock(1) and timeout(1). Below 124 and above 127 are those of the command. */
export const exits = {
  done: 0,
  conflict: 1,
  usage: 2,
  lost: 124,
  failed: 125,
  notExecutable: 126,
  notFound: 127,
} as const;

/** The exit code of a command that a signal has interrupted, as shells have it. */
export function exitOfSignal({ reason }: AbortSignal): number {
  return 128 + (constants.signals[reason as NodeJS.Signals] ?? constants.signals.SIGINT);
}
