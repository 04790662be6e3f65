import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { TestServerError, UnreachableError } from "../errors.js";
import { RespSplitter } from "../proxy/resp/resp-splitter.js";
import { decodeValue, encodeCommand, RespFailure, type RespValue } from "../proxy/resp/resp-value.js";

/** A server answered with an error. */
export class RedisReplyError extends TestServerError {
  /** The name of this class. */
  override readonly name: string = "RedisReplyError";
  /** Its first word, such as `NOSCRIPT`. */
  readonly code: string;

  constructor(failure: RespFailure, command: string) {
    super(`${command}: ${failure.message}`);
    this.code = failure.code;
  }
}

/** Where a connection leads, and as which user. */
export interface RedisConnectionOptions {
  /** The port of the server. */
  port: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** ACL user; default the default user. */
  username?: string;
  /** The password; without one the connection does not authenticate. */
  password?: string;
  /** The certificate to trust, as PEM. If it is given, the connection uses TLS. */
  ca?: string;
  /** Limit for the connection and for each reply, in milliseconds; default 2,000. */
  timeoutMs?: number;
}

/** One word of a command. */
export type RedisWord = string | number | Buffer;

/**
 * A minimal client for tests and for the commands of this package. It does not reconnect. It begins with RESP2;
 * `HELLO 3` is understood. After a reply that did not come in time the connection is over.
 */
export class RedisConnection {
  readonly #socket: Socket;
  readonly #options: RedisConnectionOptions;
  readonly #splitter = new RespSplitter("server");
  readonly #waiting: { settle: (value: RespValue) => void; fail: (error: Error) => void }[] = [];
  readonly #messages: RespValue[] = [];
  #failOpening: ((error: Error) => void) | undefined;
  #over: UnreachableError | undefined;

  private constructor(socket: Socket, options: RedisConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.setNoDelay(true);
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      this.#end(error.message, error.code === "ECONNREFUSED" ? "refused" : "closed", error);
    });
    socket.on("close", () => this.#end("the connection was closed", "closed"));
  }

  /**
   * Connects, and authenticates if there is a password.
   * @throws UnreachableError whose `reason` distinguishes a dead server from a silent one.
   */
  static async connect(options: RedisConnectionOptions): Promise<RedisConnection> {
    const { port, host = "127.0.0.1", ca, username, password } = options;
    const socket =
      ca === undefined ? connectTcp({ port, host }) : connectTls({ port, host, ca, servername: "localhost" });
    const connection = new RedisConnection(socket, options);
    await connection.#opened(ca === undefined ? "connect" : "secureConnect");
    if (password !== undefined) {
      await connection.command("AUTH", ...(username === undefined ? [] : [username]), password);
    }
    return connection;
  }

  /** Whether the connection has ended. */
  get ended(): boolean {
    return this.#over !== undefined;
  }

  /** Values that came without a command: messages of subscriptions. */
  get messages(): readonly RespValue[] {
    return this.#messages;
  }

  /**
   * Sends a command and resolves with its reply; for SUBSCRIBE and similar commands, with the first reply.
   *
   * @throws RedisReplyError when the server answers with an error.
   * @throws UnreachableError when it does not answer.
   */
  command(...words: readonly RedisWord[]): Promise<RespValue> {
    return new Promise((resolve, reject) => {
      if (this.#over !== undefined) {
        reject(this.#over);
        return;
      }
      const name = String(words[0]);
      // SAVE answers when the disk has the snapshot. A disk to which other programs write as well takes seconds.
      const limitMs = name === "SAVE" ? Math.max(this.#timeoutMs, 20_000) : this.#timeoutMs;
      const timer = setTimeout(() => {
        this.#end(`no reply to ${name} in ${limitMs} ms`, "timeout");
      }, limitMs);
      this.#waiting.push({
        settle: (value) => {
          clearTimeout(timer);
          if (value instanceof RespFailure) reject(new RedisReplyError(value, name));
          else resolve(value);
        },
        fail: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      this.#socket.write(encodeCommand(words));
    });
  }

  /** Ends the connection. Commands that wait for a reply reject with `UnreachableError`. */
  close(): void {
    this.#end("closed by us", "closed");
  }

  /** `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  get #timeoutMs(): number {
    return this.#options.timeoutMs ?? 2_000;
  }

  async #opened(event: "connect" | "secureConnect"): Promise<void> {
    const timer = setTimeout(() => {
      this.#end(`not connected in ${this.#timeoutMs} ms`, "timeout");
    }, this.#timeoutMs);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#socket.once(event, resolve);
        this.#failOpening = reject;
      });
    } finally {
      clearTimeout(timer);
      this.#failOpening = undefined;
    }
  }

  #read(chunk: Buffer): void {
    for (const bytes of this.#splitter.push(chunk)) {
      const value = decodeValue(bytes);
      const next = isMessage(value) ? undefined : this.#waiting.shift();
      if (next === undefined) this.#messages.push(value);
      else next.settle(value);
    }
  }

  #end(message: string, reason: UnreachableError["reason"], cause?: Error): void {
    if (this.#over !== undefined) return;
    const { host = "127.0.0.1", port } = this.#options;
    this.#over = new UnreachableError(`${host}:${port}: ${message}`, reason, { cause });
    this.#socket.destroy();
    this.#failOpening?.(this.#over);
    for (const { fail } of this.#waiting.splice(0)) fail(this.#over);
  }
}

function isMessage(value: RespValue): boolean {
  return Array.isArray(value) && /^([ps]?message|invalidate)$/.test(String(value[0]));
}
