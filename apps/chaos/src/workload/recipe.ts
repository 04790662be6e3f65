import type { Random } from "../engine/random.js";
import type { EventRecord } from "../history/record.js";
import type { ServerAddresses } from "./addresses.js";
import type { WorkerKey } from "./protocol.js";

/** What a client is opened with. */
export interface RecipeContext {
  /** Worker and incarnation. */
  readonly p: string;
  /** Where to connect. These addresses lead through the proxies by which the runner cuts connections. */
  readonly servers: ServerAddresses;
  /** What this client will be asked for. */
  readonly keys: readonly WorkerKey[];
  /** The longest lease of its keys: the session time-out where there is one session for all. */
  readonly leaseMs: number;
  /** The options of its group of workers; `heeds`, `tries` and shares are followed by the runner itself. */
  readonly options: Readonly<Record<string, string | number | boolean>>;
  /** Drawn from the seed of the run. */
  readonly random: Random;
  /** Something that the client heard without asking; `name` is that of the backend. */
  tell(event: { readonly f: EventRecord["f"]; readonly name: string; readonly cause?: string }): void;
}

/** What one acquire asks for. */
export interface Ask {
  /** What is asked for. */
  readonly key: WorkerKey;
  /** `p:op`: put into the backend where that is possible, so that the observer knows who stands in a queue. */
  readonly label: string;
  /** Which side of a read-write lock; `write` for all others. */
  readonly mode: "read" | "write";
  /** Only if it is free now. */
  readonly once: boolean;
  /** How many permits of a semaphore; 1 for all others. */
  readonly permits: number;
  /** The longest wait, in milliseconds; unset: without limit. */
  readonly waitMs: number | undefined;
  /** Re-entrant: the logical thread, which owns. */
  readonly thread: string;
  /** Gives up waiting. */
  readonly signal: AbortSignal;
}

/** How a release came out: done, not ours any more, or not known. */
export type ReleaseEnd =
  | {
      readonly end: "ok";
      /** Re-entrant: how often its owner still has it. */
      readonly count?: number;
      /** The client keeps it, and lends it to its next owner. */
      readonly kept?: true;
    }
  /** It was not ours any more. */
  | {
      readonly end: "fail";
      /** The reason, for people. */
      readonly why: string;
    }
  /** It is not known. */
  | {
      readonly end: "info";
      /** The reason, for people. */
      readonly why: string;
    };

/** A lock that this client was granted. */
export interface Grant {
  /** The fencing token; `null` where the lock has none. */
  readonly token: bigint | null;
  /** Re-entrant: how often its owner has it now. */
  readonly count?: number;
  /** How many milliseconds from now the recipe promises it for; `null` when it promises nothing. */
  remainingMs(): number | null;
  /** Aborts when the client knows that the hold is over; `null` when it never reports that. */
  readonly lost: AbortSignal | null;
  /** Gives it back. A rejection counts as not known. */
  release(): Promise<ReleaseEnd>;
  /** A write becomes a read. */
  downgrade?(): Promise<Grant>;
}

/** One client of a lock service, as an application has it. */
export interface Client {
  /** `null`: refused, at once or at the end of the wait. Throws when it went wrong; `meaning` says how. */
  acquire(ask: Ask): Promise<Grant | null>;
  /** Whether an error of `acquire` means that nothing was taken (`fail`), that it is not known (`info`), or that the scenario is wrong. */
  meaning(error: unknown): "fail" | "info" | "broken";
  /** Ends its connections; nothing is held or asked for any more. */
  close(): Promise<void>;
}

/** Opens clients of one lock service. */
export interface Recipe {
  /** Resolves when it is connected. */
  open(context: RecipeContext): Promise<Client>;
}
