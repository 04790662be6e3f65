import type { Random } from "../engine/random.js";
import type { EventRecord } from "../history/record.js";
import type { ServerAddresses } from "./addresses.js";
import type { WorkerKey } from "./protocol.js";

export interface RecipeContext {
  /** Worker and incarnation. */
  readonly p: string;
  readonly servers: ServerAddresses;
  readonly keys: readonly WorkerKey[];
  /** The longest lease of its keys: the session time-out where there is one session for all. */
  readonly leaseMs: number;
  readonly options: Readonly<Record<string, string | number | boolean>>;
  readonly random: Random;
  /** Something that the client heard without asking; `name` is that of the backend. */
  tell(event: { readonly f: EventRecord["f"]; readonly name: string; readonly cause?: string }): void;
}

/** What one acquire asks for. */
export interface Ask {
  readonly key: WorkerKey;
  /** `p:op`: put into the backend where that is possible, so that the observer knows who stands in a queue. */
  readonly label: string;
  readonly mode: "read" | "write";
  /** Only if it is free now. */
  readonly once: boolean;
  readonly permits: number;
  /** Unset: without limit. */
  readonly waitMs: number | undefined;
  /** Re-entrant: the logical thread, which owns. */
  readonly thread: string;
  /** Gives up waiting. */
  readonly signal: AbortSignal;
}

export type ReleaseEnd =
  | { readonly end: "ok"; readonly count?: number }
  /** It was not ours any more. */
  | { readonly end: "fail"; readonly why: string }
  /** It is not known. */
  | { readonly end: "info"; readonly why: string };

export interface Grant {
  readonly token: bigint | null;
  /** Re-entrant: how often its owner has it now. */
  readonly count?: number;
  /** For how long the recipe promises it from now; `null` when it promises nothing. */
  remainingMs(): number | null;
  /** Aborts when the client knows that the hold is over; `null` when it never tells. */
  readonly lost: AbortSignal | null;
  release(): Promise<ReleaseEnd>;
  /** A write becomes a read. */
  downgrade?(): Promise<Grant>;
}

/** One client of a lock service, as an application has it. */
export interface Client {
  /** `null`: refused, at once or at the end of the wait. Throws when it went wrong; `meaning` tells how. */
  acquire(ask: Ask): Promise<Grant | null>;
  /** Whether an error of `acquire` means that nothing was taken (`fail`), that it is not known (`info`), or that the scenario is wrong. */
  meaning(error: unknown): "fail" | "info" | "broken";
  close(): Promise<void>;
}

export interface Recipe {
  /** Resolves when it is connected. */
  open(context: RecipeContext): Promise<Client>;
}
