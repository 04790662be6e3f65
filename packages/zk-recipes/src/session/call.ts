import type { Millis } from "@holdfast/core";
import {
  decodeResponse,
  type OpName,
  ProtocolError,
  type ReplyHeader,
  type ResponseOf,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import type { Packet } from "../client/packet.js";
import { OutcomeUnknownError, SessionLostError } from "./errors.js";
import type { Stamp } from "./lease-clock.js";
import type { Outcome, Settle } from "./types.js";

/** How a request ended, for meters. */
export interface RequestSettled {
  readonly op: OpName;
  /** From `send` to the answer, or to the end of the connection. */
  readonly tookMs: Millis;
  /** `ok`, a server error's name such as `NoNode`, or `outcome-unknown`, `session-lost`. */
  readonly outcome: string;
}

/** What a request in flight needs of its session. */
export interface CallDesk {
  readonly over: boolean;
  /** The server answered, before the outcome is handed on. */
  answered(call: Call<OpName>, header: ReplyHeader): void;
  /** It answered with bytes that are no such answer. */
  garbled(error: ProtocolError): void;
  /** Once, just before the outcome is handed on. */
  settled(call: Call<OpName>, outcome: string): void;
}

/** One request of a session on its way. Settles exactly once. */
export class Call<K extends OpName> implements Packet {
  readonly op: K;
  readonly path: string | undefined;
  readonly sent: Stamp;
  /** Somebody outside the session waits for it. */
  readonly awaited: boolean;
  readonly #desk: CallDesk;
  #settle: Settle<ResponseOf<K>> | null;

  constructor(
    desk: CallDesk,
    op: K,
    path: string | undefined,
    sent: Stamp,
    settle: Settle<ResponseOf<K>>,
    awaited: boolean,
  ) {
    this.#desk = desk;
    this.op = op;
    this.path = path;
    this.sent = sent;
    this.#settle = settle;
    this.awaited = awaited;
  }

  get sentAtMs(): Millis {
    return this.sent.atMs;
  }

  answered(header: ReplyHeader, body: Buffer): void {
    this.#desk.answered(this as unknown as Call<OpName>, header);
    if (header.err !== 0) {
      const context = this.path === undefined ? { op: this.op } : { op: this.op, path: this.path };
      const error = new ZooKeeperError(header.err, context);
      this.#end({ ok: false, error }, error.codeName);
      return;
    }
    let value: ResponseOf<K>;
    try {
      value = decodeResponse(this.op, body);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#desk.garbled(error);
      this.unanswered();
      return;
    }
    this.#end({ ok: true, value, zxid: header.zxid }, "ok");
  }

  unanswered(): void {
    if (this.#desk.over) this.lose();
    else this.#end({ ok: false, error: new OutcomeUnknownError(this.op) }, "outcome-unknown");
  }

  lose(cause?: unknown): void {
    this.#end({ ok: false, error: new SessionLostError(this.op, { cause }) }, "session-lost");
  }

  #end(outcome: Outcome<ResponseOf<K>>, name: string): void {
    const settle = this.#settle;
    if (settle === null) return;
    this.#settle = null;
    this.#desk.settled(this as unknown as Call<OpName>, name);
    settle(outcome);
  }
}
