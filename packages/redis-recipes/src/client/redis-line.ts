import type { Millis } from "@holdfast/core";
import type { BackendLink } from "@holdfast/core/internal";
import type { Script, ScriptArgs } from "../scripts/script.js";
import type { ClockReading } from "./server-info.js";

/** The reply of one script, and what is known of the server that gave it. */
export interface Answer<R> {
  readonly reply: R;
  /** Monotonic; when the request that was answered was written. */
  readonly sentMs: Millis;
  readonly answeredMs: Millis;
  /** Run id of the master that answered, read on this very connection before the request. */
  readonly runId: string;
  /**
   * Run id of the master that has the slot by the map and sent us on by ASK: while a slot is on its way, the keys that have
   * arrived are answered for by the other one.
   */
  readonly askedBy?: string;
  /** Replicas that acknowledged; `null` when the run did not ask for them. */
  readonly acknowledged: number | null;
}

/** `WAIT` in the same flight: until so many replicas have it, or for so long. */
export interface WaitRequest {
  readonly replicas: number;
  readonly timeoutMs: Millis;
}

export interface RunOptions {
  readonly wait?: WaitRequest | undefined;
}

export interface ScriptCall {
  readonly keys: readonly string[];
  readonly args: ScriptArgs;
}

export interface Subscription {
  /** The server has the subscription, as far as is known. */
  readonly live: boolean;
  /** While the server has the subscription: resolved. A fresh promise from each loss until it is there again. Rejects when the line closes. */
  readonly ready: Promise<void>;
  end(): void;
}

/**
 * What may have been missed. `commands`: the connection was gone and leads to the same master again. `master`: it leads to
 * another one, or to the same after a restart. `subscriptions`: messages may be missing; all channels are subscribed again.
 */
export type LineNotice = "commands" | "subscriptions" | "master";

/**
 * A provider's connections to Redis: everything that talks to it. `state` is `connected` when a master was found and its run id and
 * role are known; `suspended` while it was once and is not; never `lost`, since a lease is not bound to a connection.
 *
 * In a cluster `connected` says that some master is; `masterOf` answers for each slot.
 */
export interface RedisLine extends BackendLink {
  /**
   * Rejects with `OutcomeUnknownError` (sent, no answer), `NotSentError` (nothing happened) or `ReplyError` (the server said no),
   * and with what `script.parse` throws. EVALSHA, once more with EVAL on NOSCRIPT, following MOVED and ASK: order is not
   * kept then. Runs with `wait` travel on a connection of their own, as WAIT blocks it: no order between them and others.
   */
  run<R>(
    script: Script<R>,
    keys: readonly string[],
    args: ScriptArgs,
    options?: RunOptions,
  ): Promise<Answer<R>>;

  /** Many runs of one script at once, one flight for each node; answers in the order given. Never rejects. */
  runAll<R>(script: Script<R>, runs: readonly ScriptCall[]): Promise<readonly (Answer<R> | Error)[]>;

  /** `null` unless this is a cluster. */
  slotOf(key: string): number | null;

  /** Run id of the master that serves the key now; `null` while none is known. A grant of another run id is in doubt. */
  masterOf(key: string): string | null;

  /** What the clock of the master that serves the key showed when it was connected to; `null` while none is known, and where it does not say. */
  clockAt(key: string): ClockReading | null;

  /** What reaches Java clients on Redisson's channels. `publish` until connected. */
  readonly publishCommand: "publish" | "spublish";

  /**
   * `redisson`: a channel of Redisson's, sharded where its clients use sharded ones; `plain`: never sharded. Listeners hear
   * what was published while `ready` was resolved; what they throw goes to `process.emitWarning`.
   */
  subscribe(channel: string, kind: "plain" | "redisson", listener: (message: string) => void): Subscription;

  /**
   * Called before `state` is `connected` again, and for `subscriptions` after all channels are there again. Not for the first
   * connection. The result takes the listener back.
   */
  onRenewed(listener: (what: LineNotice) => void): () => void;

  /**
   * In a cluster: the connection to a master broke, and `masterOf` is `null` for what it serves, while others may still answer.
   * Outside of a cluster `state` shows it. The result removes the listener.
   */
  onBroken(listener: () => void): () => void;

  readonly closed: boolean;

  /** Bounded by `waitMs`; closes what was opened here, never a client that was given. */
  close(waitMs: Millis): Promise<void>;
}
