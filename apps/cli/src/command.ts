import type { ParseArgsConfig } from "node:util";
import type { Settings } from "./settings.js";

/** What was typed, read by the `options` of the command. */
export interface Given {
  /** By the long name of the option. Options that were not given are left out. */
  readonly values: Record<string, unknown>;
  readonly positionals: string[];
  /**
   * Where the locks are. Found when it is read first, so that commands that need no server work without one. Throws `UsageError` where no
   * option, variable or file names a server.
   */
  readonly settings: Settings;
}

/** What a command has of the outside. */
export interface Io {
  /** To the standard output, as it is: lines bring their own end. */
  out(text: string): void;
  /** To the standard error, as it is. */
  err(text: string): void;
  /** The standard output is a terminal. */
  readonly isTty: boolean;
  /** Aborts at the first SIGINT or SIGTERM; its reason is the name of the signal. The second one ends the process. */
  readonly signal: AbortSignal;
}

/** One command of `holdfast`. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands, without a full stop. */
  readonly summary: string;
  /** What `holdfast help COMMAND` prints, without the options that all commands have. */
  readonly usage: string;
  /** Its own options; those of `settings.ts` are added. */
  readonly options: NonNullable<ParseArgsConfig["options"]>;
  /** `true`: what stands behind `--` are the positionals, as they are, and none may stand before. */
  readonly behindDashes?: boolean;
  /** Resolves with the exit code. Throws `UsageError` for what cannot be right. */
  run(given: Given, io: Io): Promise<number>;
}

/** What was typed, or a file or variable that was read, cannot be right. The message names what to change. */
export class UsageError extends Error {
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
