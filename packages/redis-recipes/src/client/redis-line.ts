import type { Millis } from "@holdfast/core";
import type { BackendLink } from "@holdfast/core/internal";
import type { Script, ScriptArgs } from "../scripts/script.js";
import type { ClockReading } from "./server-info.js";

/** The reply of one script, and what is known of the server that gave it. */
export interface Answer<R> {
  readonly reply: R;
  /** By the monotonic clock: when the answered request was written. */
  readonly sentMs: Millis;
  readonly answeredMs: Millis;
  /** Run id of the master that answered; it was read on the same connection before the request. */
  readonly runId: string;
  /**
   * Run id of the master that has the slot in the slot map and that answered with ASK. While a slot is being moved, the other
   * master answers for the keys that have arrived there.
   */
  readonly askedBy?: string;
  /** The number of replicas that acknowledged; `null` when the run did not ask for them. */
  readonly acknowledged: number | null;
}

/** WAIT in the same flight: until `replicas` replicas have acknowledged, or for at most `timeoutMs`. */
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
  /** Whether the server has the subscription, as far as is known. */
  readonly live: boolean;
  /**
   * Resolved while the server has the subscription. After each loss it is a new promise, which resolves when the channel is
   * subscribed again. Rejects when the line closes.
   */
  readonly ready: Promise<void>;
  end(): void;
}

/**
 * What may have been missed. `commands`: the connection was lost, and now leads to the same master again. `master`: it now leads
 * to another master, or to the same one after a restart. `subscriptions`: messages may have been missed; all channels are
 * subscribed again.
 */
export type LineNotice = "commands" | "subscriptions" | "master";

/**
 * All connections of one provider to Redis. `state` is `connected` once a master was found and its run id and role are known. It
 * is `suspended` when that was so before and no longer is. It is never `lost`, since a lease is not bound to a connection.
 *
 * In a cluster `connected` means that some master is connected; `masterOf` answers for each slot.
 */
export interface RedisLine extends BackendLink {
  /**
   * Runs a script. Sends EVALSHA, and EVAL once more after NOSCRIPT; follows MOVED and ASK. A run that is sent again loses its
   * place in the order. Runs with `wait` use a connection of their own, because WAIT blocks it: there is no order between them
   * and other runs.
   *
   * Rejects with `OutcomeUnknownError` (sent, but not answered), `NotSentError` (nothing happened), `ReplyError` (refused by the
   * server), and with what `script.parse` throws.
   */
  run<R>(
    script: Script<R>,
    keys: readonly string[],
    args: ScriptArgs,
    options?: RunOptions,
  ): Promise<Answer<R>>;

  /**
   * Runs one script many times at once, in one flight for each node. There is one answer for each run, in their order. No answer
   * waits for another node, which may be slow or silent. Never rejects.
   */
  runAll<R>(script: Script<R>, runs: readonly ScriptCall[]): readonly Promise<Answer<R> | Error>[];

  /** The slot of a key; `null` unless this is a cluster. */
  slotOf(key: string): number | null;

  /** Run id of the master that serves the key now; `null` while none is known. A grant made by another run id is in doubt. */
  masterOf(key: string): string | null;

  /**
   * What the clock of the key's master showed when the connection to it was made. `null` while no master is known, and where it
   * does not report its time.
   */
  clockAt(key: string): ClockReading | null;

  /** The command that reaches Java clients on Redisson's channels. `publish` until connected. */
  readonly publishCommand: "publish" | "spublish";

  /**
   * Subscribes to a channel. `redisson`: a channel of Redisson's, sharded if Redisson's clients use sharded channels; `plain`:
   * never sharded. The listener receives what is published while `ready` is resolved. What it throws goes to
   * `process.emitWarning`.
   */
  subscribe(channel: string, kind: "plain" | "redisson", listener: (message: string) => void): Subscription;

  /**
   * Calls the listener before `state` becomes `connected` again, and, for `subscriptions`, after all channels are subscribed
   * again. It is not called for the first connection. Returns a function that removes the listener.
   */
  onRenewed(listener: (what: LineNotice) => void): () => void;

  /**
   * In a cluster: calls the listener when the connection to one master broke. `masterOf` is then `null` for that master's keys,
   * while other masters may still answer. Outside a cluster `state` shows the same. Returns a function that removes the listener.
   */
  onBroken(listener: () => void): () => void;

  readonly closed: boolean;

  /** Takes at most `waitMs`. Closes what was opened here, never a given client. */
  close(waitMs: Millis): Promise<void>;
}
