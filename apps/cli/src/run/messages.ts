import type { Limits } from "./limits.js";

/** The hidden command of the supervisor's process. */
export const superviseName = "__supervise";

/** From the lock client to the supervisor. */
export type Order =
  | {
      readonly do: "start";
      readonly command: string;
      readonly args: readonly string[];
      /** Added to the environment; `null` takes a variable away. */
      readonly env: Readonly<Record<string, string | null>>;
      readonly limits: Limits;
      /** From the SIGTERM for what the command leaves behind to its SIGKILL. */
      readonly killAfterMs: number;
    }
  | { readonly do: "move"; readonly limits: Limits }
  | { readonly do: "signal"; readonly name: NodeJS.Signals };

/** From the supervisor to the lock client. */
export type Report =
  | { readonly said: "started"; readonly pid: number }
  /** The command could not be started: `code` is that of the operating system, such as ENOENT. */
  | { readonly said: "refused"; readonly code: string; readonly message: string }
  /** The command has ended, and no member of its group is left. */
  | {
      readonly said: "ended";
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
      /** What the limits have made the supervisor send before the command ended. */
      readonly sent: "SIGTERM" | "SIGKILL" | null;
    };
