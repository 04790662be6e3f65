import type { ParseArgsConfig } from "node:util";
import type { Settings } from "./settings.js";

export { exitOfSignal, exits, UsageError } from "./usage.js";

/** The command line, parsed by the `options` of the command. */
export interface Given {
  /** The values by the long name of the option. Options that were not given are left out. */
  readonly values: Record<string, unknown>;
  /** The words that are no options, in their order. */
  readonly positionals: string[];
  /**
   * Where the locks are. The settings are determined when this field is first read, so that commands that need no
   * server work without one. Throws `UsageError` if no option, variable or file names a server.
   */
  readonly settings: Settings;
}

/** The output streams and signals of a command. */
export interface Io {
  /** Writes to the standard output without change; a line must bring its own line end. */
  out(text: string): void;
  /** Writes to the standard error without change. */
  err(text: string): void;
  /** Whether the standard output is a terminal. */
  readonly isTty: boolean;
  /** Aborts at the first SIGINT or SIGTERM; its reason is the name of the signal. The second one ends the process. */
  readonly signal: AbortSignal;
  /** Aborts when the reader of the standard output has gone. */
  readonly unread?: AbortSignal;
}

/** One command of `holdfast`. */
export interface Command {
  /** The word that is typed after `holdfast`. */
  readonly name: string;
  /** One line for the list of commands, without a full stop. */
  readonly summary: string;
  /** What `holdfast help COMMAND` prints, without the options that all commands have. */
  readonly usage: string;
  /** Its own options; those of `settings.ts` are added. */
  readonly options: NonNullable<ParseArgsConfig["options"]>;
  /** `true`: the words behind `--` are the positionals, unchanged, and no positional may stand before `--`. */
  readonly behindDashes?: boolean;
  /** Resolves with the exit code. Throws `UsageError` for wrong usage. */
  run(given: Given, io: Io): Promise<number>;
}
