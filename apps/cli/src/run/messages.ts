import type { Limits } from "./limits.js";

/** The hidden command of the supervisor's process. */
export const superviseName = "__supervise";

/** An order of the lock client to the supervisor. */
export type Order =
  | {
      readonly do: "start";
      readonly command: string;
      readonly args: readonly string[];
      /** Variables to add to the environment; `null` removes a variable. */
      readonly env: Readonly<Record<string, string | null>>;
      readonly limits: Limits;
      /** The time between SIGTERM and SIGKILL for the processes that the command leaves behind. */
      readonly killAfterMs: number;
    }
  | { readonly do: "move"; readonly limits: Limits }
  | { readonly do: "signal"; readonly name: NodeJS.Signals };

/** A report of the supervisor to the lock client. */
export type Report =
  | { readonly said: "started"; readonly pid: number }
  /** The command could not be started. `code` is the error code of the operating system, such as ENOENT. */
  | { readonly said: "refused"; readonly code: string; readonly message: string }
  /** The command has ended, and no member of its group is left. */
  | {
      readonly said: "ended";
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
      /** The signal that the supervisor sent because of the limits, before the command ended. */
      readonly sent: "SIGTERM" | "SIGKILL" | null;
    };
