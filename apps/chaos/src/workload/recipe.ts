import type { Random } from "../engine/random.js";
import type { EventRecord } from "../history/record.js";
import type { ServerAddresses } from "./addresses.js";
import type { WorkerKey } from "./protocol.js";

/** The data with which a client is opened. */
export interface RecipeContext {
  /** The worker and its incarnation. */
  readonly p: string;
  /** The addresses to connect to. They may lead through the proxies by which the runner cuts connections. */
  readonly servers: ServerAddresses;
  /** The keys for which this client will be asked. */
  readonly keys: readonly WorkerKey[];
  /** The longest lease of its keys, in milliseconds. It is the session time-out if one session serves all keys. */
  readonly leaseMs: number;
  /** The options of its group of workers. The runner itself follows `heeds`, `tries` and the shares. */
  readonly options: Readonly<Record<string, string | number | boolean>>;
  /** Random numbers drawn from the seed of the run. */
  readonly random: Random;
  /** Reports an event to the runner. `name` is the lock's name in the backend. */
  tell(event: { readonly f: EventRecord["f"]; readonly name: string; readonly cause?: string }): void;
}

/** The arguments of one acquire. */
export interface Ask {
  /** The key to acquire. */
  readonly key: WorkerKey;
  /** `p:op`. It is put into the backend where that is possible, so that the observer knows which worker stands in a queue. */
  readonly label: string;
  /** The side of a read-write lock; `write` for all other kinds. */
  readonly mode: "read" | "write";
  /** Whether to acquire only if the lock is free now. */
  readonly once: boolean;
  /** The number of permits of a semaphore; 1 for all other kinds. */
  readonly permits: number;
  /** The longest wait, in milliseconds; unset: without limit. */
  readonly waitMs: number | undefined;
  /** The logical thread that owns a re-entrant hold. */
  readonly thread: string;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/** The outcome of a release: done, not ours any more, or not known. */
export type ReleaseEnd =
  | {
      readonly end: "ok";
      /** How often the owner still holds a re-entrant lock. */
      readonly count?: number;
      /** Set if the client keeps the lock and lends it to its next owner. */
      readonly kept?: true;
    }
  /** The lock was not ours any more. */
  | {
      readonly end: "fail";
      /** The reason, as text for users. */
      readonly why: string;
    }
  /** The outcome is not known. */
  | {
      readonly end: "info";
      /** The reason, as text for users. */
      readonly why: string;
    };

/** A lock that this client was granted. */
export interface Grant {
  /** The fencing token; `null` if the lock has none. */
  readonly token: bigint | null;
  /** How often the owner holds a re-entrant lock now. */
  readonly count?: number;
  /** For how many milliseconds from now the recipe promises the hold; `null` if it promises nothing. */
  remainingMs(): number | null;
  /** Aborts when the client knows that the hold is over; `null` if the client never reports that. */
  readonly lost: AbortSignal | null;
  /** Releases the lock. A rejection counts as an unknown outcome. */
  release(): Promise<ReleaseEnd>;
  /** Turns a write into a read. */
  downgrade?(): Promise<Grant>;
}

/** One client of a lock service, as an application uses it. */
export interface Client {
  /**
   * Acquires a lock. Resolves with `null` if it was refused, at once or at the end of the wait. Throws if something
   * went wrong; `meaning` classifies the error.
   */
  acquire(ask: Ask): Promise<Grant | null>;
  /**
   * Whether an error of `acquire` means that nothing was taken (`fail`), that it is not known (`info`), or that the
   * scenario is wrong.
   */
  meaning(error: unknown): "fail" | "info" | "broken";
  /** Ends its connections. By then nothing is held or asked for any more. */
  close(): Promise<void>;
}

/** Opens clients of one lock service. */
export interface Recipe {
  /** Resolves when the client is connected. */
  open(context: RecipeContext): Promise<Client>;
}
