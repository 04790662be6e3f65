import type { Millis, Runtime } from "@holdfast/core";
import type { Redis } from "ioredis";
import { NotSentError, OutcomeUnknownError, ReplyError } from "../client/errors.js";
import type { Command } from "../client/node-connection.js";
import { refusalOf } from "../client/rights.js";
import { addressText } from "../client/target.js";
import { closeClient } from "../client/topology.js";

/** An answer, or what the server said instead. */
export type Reply = unknown | ReplyError;

export interface SendOptions {
  /** One moment: MULTI around it. */
  readonly atomic?: boolean;
  /** Answers as bytes. */
  readonly binary?: boolean;
}

/** A server that does not answer within this is told as down. */
const limitMs: Millis = 5_000;
const againMs: Millis = 500;

/** One connection to one server, for looking. Nothing is sent again by itself, and nothing waits for a connection. */
export class Link {
  readonly redis: Redis;
  readonly #runtime: Runtime;
  readonly #name: string | null;
  #lastCause: string | null = null;
  #cancelAgain = (): void => {};

  constructor(redis: Redis, runtime: Runtime, name: string | null = null) {
    this.redis = redis;
    this.#runtime = runtime;
    this.#name = name;
    redis.on("error", this.#failed);
    redis.on("end", this.#over);
    if (redis.status === "wait") redis.connect().catch(this.#failed);
  }

  get name(): string {
    if (this.#name !== null) return this.#name;
    const { stream, options } = this.redis;
    const host = stream?.remoteAddress ?? options.host ?? "localhost";
    return addressText({ host, port: stream?.remotePort ?? options.port ?? 6379 });
  }

  get open(): boolean {
    return this.redis.status === "ready";
  }

  /** Why there is no connection. */
  get lastCause(): string | null {
    return this.open ? null : this.#lastCause;
  }

  /** Replies in order; a refusal is in its place. Rejects with `NotSentError` or `OutcomeUnknownError`. */
  async send(commands: readonly Command[], options: SendOptions = {}): Promise<readonly Reply[]> {
    const where = { servers: [this.name] };
    // A node of a cluster connects when it is first asked; any other is connecting by itself.
    if (!this.open && this.redis.options.enableOfflineQueue !== true)
      throw new NotSentError(this.#lastCause ?? "there is no connection", where);
    const batch = options.atomic === true ? this.redis.multi() : this.redis.pipeline();
    for (const [name, ...args] of commands) {
      if (options.binary === true) batch.callBuffer(name, ...args);
      else batch.call(name, ...args);
    }
    let cancel = (): void => {};
    const late = new Promise<never>((_, reject) => {
      cancel = this.#runtime.setTimer(limitMs, () =>
        reject(new OutcomeUnknownError(`no answer within ${limitMs} ms`, where)),
      );
    });
    try {
      const done = batch.exec();
      done.catch(() => {});
      const replies = await Promise.race([done, late]);
      return (replies ?? []).map(([error, value], index) => {
        if (!(error instanceof Error)) return value;
        if (error.name !== "ReplyError") throw new OutcomeUnknownError(error.message, where);
        return refusalOf(error.message, where, commands[index] ?? null);
      });
    } catch (error) {
      if (error instanceof OutcomeUnknownError) throw error;
      const told = error instanceof Error ? error.message : String(error);
      // MULTI itself was refused, with the reason of the first command that was.
      if (error instanceof Error && error.name === "ReplyError") {
        const [first] = (error as { previousErrors?: Error[] }).previousErrors ?? [];
        throw refusalOf(first?.message ?? told, where, null);
      }
      throw new OutcomeUnknownError(told, where);
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
    this.#cancelAgain();
    await closeClient(this.redis);
  }

  /** ioredis gives up in the middle of some failovers. A node of a cluster is replaced by the cluster's client instead. */
  readonly #over = (): void => {
    if (this.redis.options.enableOfflineQueue === true) return;
    this.#cancelAgain = this.#runtime.setTimer(againMs, () => {
      if (this.redis.status === "end") this.redis.connect().catch(this.#failed);
    });
  };

  readonly #failed = (error: unknown): void => {
    this.#lastCause = error instanceof Error ? error.message || error.name : String(error);
  };
}

/** Fields of INFO, of whatever sections. */
export function infoFields(text: unknown): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  if (typeof text !== "string") return fields;
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}
