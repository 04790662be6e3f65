import { BackendError, type Millis, type Runtime } from "@holdfast/core";
import { addressText } from "@holdfast/core/internal";
import {
  type Command,
  closeClient,
  failureOf,
  NotSentError,
  OutcomeUnknownError,
  ReplyError,
  takesCommands,
} from "@holdfast/redis-recipes/internal";
import type { Redis } from "ioredis";
import { type Cause, causeOf, NoConnectionError } from "./outage.js";

/** An answer, or the server's refusal. */
export type Reply = unknown | ReplyError;

export interface SendOptions {
  /** Puts MULTI around the commands, so that all of them run in one moment. */
  readonly atomic?: boolean;
  /** Gives the answers as bytes. */
  readonly binary?: boolean;
}

/**
 * A server that does not answer within this time is reported as down. An operator's action waits as long for a master's
 * link.
 */
export const linkLimitMs: Millis = 5_000;
const againMs: Millis = 500;

/**
 * One connection of a collector to one server. It never sends a command again by itself. Commands do not wait for a
 * connection, except to a node of a cluster, which connects when it is first asked.
 */
export class Link {
  readonly redis: Redis;
  readonly #runtime: Runtime;
  readonly #name: string | null;
  /** The address to which the last connection led. */
  #address: string | null = null;
  #lastCause: Cause | null = null;
  #readySinceMs: Millis;
  #cancelAgain = (): void => {};

  constructor(redis: Redis, runtime: Runtime, name: string | null = null) {
    this.redis = redis;
    this.#runtime = runtime;
    this.#name = name;
    this.#readySinceMs = runtime.wallMs();
    redis.on("error", this.#failed);
    redis.on("end", this.#over);
    redis.on("ready", this.#ready);
    if (redis.status === "wait") redis.connect().catch(this.#failed);
  }

  /**
   * The server as the options name it, connected or not. Where sentinels name the server, it is the address of the last
   * connection.
   */
  get name(): string {
    if (this.#name !== null) return this.#name;
    const { host = "localhost", port = 6379, sentinels } = this.redis.options;
    return (sentinels == null ? null : this.#address) ?? addressText({ host, port });
  }

  /** Whether commands that are sent in this turn of the event loop are written to a connection. */
  get open(): boolean {
    return takesCommands(this.redis);
  }

  /**
   * Wall time since which the connection has not been interrupted. Before that, the server may have lost or emptied its
   * keys.
   */
  get readySinceMs(): Millis {
    return this.#readySinceMs;
  }

  /** Why there is no connection. */
  get lastCause(): string | null {
    return this.open ? null : (this.#lastCause?.text ?? null);
  }

  /** The error with which a command is refused while there is no connection. */
  get noConnection(): NoConnectionError {
    return new NoConnectionError(this.#lastCause, [this.name]);
  }

  /**
   * Resolves with the replies in order; a refusal stands in the place of its reply. Rejects with `NotSentError` where no
   * command was sent. Rejects with `OutcomeUnknownError` where a command was sent and its answer did not come, on this
   * connection and within 5,000 ms.
   */
  async send(commands: readonly Command[], options: SendOptions = {}): Promise<readonly Reply[]> {
    const where = { servers: [this.name] };
    // A node of a cluster connects when it is first asked; any other link is connecting by itself.
    if (!this.open && this.#ofCluster) await this.#connected();
    if (!this.open) throw this.noConnection;
    const batch = options.atomic === true ? this.redis.multi() : this.redis.pipeline();
    for (const [name, ...args] of commands) {
      if (options.binary === true) batch.callBuffer(name, ...args);
      else batch.call(name, ...args);
    }
    let cancel = (): void => {};
    const late = new Promise<never>((_, reject) => {
      cancel = this.#runtime.setTimer(linkLimitMs, () =>
        reject(new OutcomeUnknownError(`no answer within ${linkLimitMs} ms`, where)),
      );
    });
    try {
      const done = batch.exec();
      // Where the limit comes first, nothing reads a later error of the batch: the outcome has been reported as unknown by
      // then.
      done.catch(() => {});
      const replies = await Promise.race([done, late]);
      return answered(
        (replies ?? []).map(([error, value], index) =>
          error instanceof Error ? failureOf(error, where, commands[index] ?? null) : value,
        ),
      );
    } catch (error) {
      if (error instanceof BackendError) throw error;
      if (!(error instanceof Error)) throw new OutcomeUnknownError(String(error), where);
      // The whole MULTI was refused; the reason is that of the first command that was refused.
      const [first] = (error as { previousErrors?: Error[] }).previousErrors ?? [];
      throw failureOf(error.name === "ReplyError" ? (first ?? error) : error, where, null);
    } finally {
      cancel();
    }
  }

  /** One command. Rejects with its refusal. */
  async ask(...command: Command): Promise<unknown> {
    const [reply] = await this.send([command]);
    if (reply instanceof ReplyError) throw reply;
    return reply;
  }

  async close(): Promise<void> {
    this.redis.off("error", this.#failed);
    this.redis.off("end", this.#over);
    this.redis.off("ready", this.#ready);
    this.#cancelAgain();
    await closeClient(this.redis);
  }

  get #ofCluster(): boolean {
    return this.redis.options.enableOfflineQueue === true;
  }

  /** Resolves when the attempt to connect has succeeded or failed, or after 5,000 ms. */
  #connected(): Promise<void> {
    const { redis } = this;
    if (redis.status === "end") return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        redis.off("ready", done).off("end", done);
        resolve();
      };
      const cancel = this.#runtime.setTimer(linkLimitMs, done);
      redis.on("ready", done).on("end", done);
    });
  }

  /**
   * Connects again, because ioredis gives up in the middle of some failovers. A node of a cluster is replaced by the
   * cluster's client instead.
   */
  readonly #over = (): void => {
    if (this.#ofCluster) return;
    this.#cancelAgain = this.#runtime.setTimer(againMs, () => {
      if (this.redis.status === "end") this.redis.connect().catch(this.#failed);
    });
  };

  readonly #ready = (): void => {
    const { remoteAddress: host, remotePort: port } = this.redis.stream;
    if (host !== undefined && port !== undefined) this.#address = addressText({ host, port });
    this.#lastCause = null;
    this.#readySinceMs = this.#runtime.wallMs();
  };

  readonly #failed = (error: unknown): void => {
    // An error of the client library about its own state says less than the cause that was seen before, so that cause stays.
    this.#lastCause = causeOf(error) ?? this.#lastCause;
  };
}

/**
 * The replies of a batch whose commands were judged one by one. The batch counts as not sent only where no command of it was
 * sent.
 */
function answered(outcomes: readonly Reply[]): readonly Reply[] {
  const lost = outcomes.find((each) => each instanceof OutcomeUnknownError);
  if (lost instanceof OutcomeUnknownError)
    throw new OutcomeUnknownError("the connection ended before the answer", {
      servers: lost.servers,
      cause: lost,
    });
  const unsent = outcomes.filter((each) => each instanceof NotSentError);
  const [first] = unsent;
  if (first === undefined) return outcomes;
  if (unsent.length === outcomes.length) throw first;
  throw new OutcomeUnknownError(`of ${outcomes.length} commands ${unsent.length} were not sent`, {
    servers: first.servers,
  });
}

/** The fields of an answer to INFO, of any sections. */
export function infoFields(text: unknown): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  if (typeof text !== "string") return fields;
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}
