import type { Millis, Runtime } from "@holdfast/core";
import {
  decodeResponse,
  ListedChildren,
  type OpName,
  ProtocolError,
  type ReplyHeader,
  type RequestOf,
  type ResponseOf,
  replyHeaderBytes,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import { guarded } from "../client/guarded.js";
import type { Link } from "../client/link.js";
import { Packet } from "../client/pending-queue.js";
import { OutcomeUnknownError, SessionLostError } from "./errors.js";
import { Activity, type LeaseClock, Proofs, type Stamp } from "./lease-clock.js";
import type { Leftovers } from "./leftovers.js";
import type { Outcome, Settle } from "./types.js";

/** How a request ended, as meters get it. */
export interface RequestSettled {
  readonly op: OpName;
  /** The time from `send` to the answer, or to the end of the connection. */
  readonly tookMs: Millis;
  /** `ok`, the name of a server error such as `NoNode`, or `outcome-unknown` or `session-lost`. */
  readonly outcome: string;
}

/** Gets a report of each request, keep-alives included. */
export interface RequestMeter {
  /** Whether a report is wanted. Read before each one, so that an unwanted report costs nothing. */
  readonly wanted: boolean;
  settled(request: RequestSettled): void;
}

export interface SenderParts {
  readonly link: Link;
  readonly runtime: Runtime;
  readonly lease: LeaseClock;
  readonly leftovers: Leftovers | null;
  /** See `Proofs`. */
  readonly quorum: boolean;
  readonly meter: RequestMeter | undefined;
}

/** What the sender needs of its session. */
export interface SenderContext {
  /** The session is lost or closed. */
  readonly over: boolean;
  /** When the last bytes came. */
  readonly heardAtMs: Millis;
  /** A request left. */
  sent(atMs: number): void;
  /** The lease was proven anew. */
  proven(): void;
}

/** Sends the requests of a session, and proves its lease by their answers. */
export class RequestSender {
  readonly proofs: Proofs;
  readonly activity: Activity = new Activity();
  readonly #parts: SenderParts;
  readonly #context: SenderContext;
  #awaited = 0;
  /** When the first request was sent of the write with the number `#write` (see `Link.writes`). */
  #stamp: Stamp | null = null;
  #write = -1;

  constructor(parts: SenderParts, context: SenderContext) {
    this.proofs = new Proofs(parts.quorum);
    this.#parts = parts;
    this.#context = context;
  }

  /** The requests in flight whose answers code outside the session waits for. Keep-alives are not among them. */
  get awaited(): number {
    return this.#awaited;
  }

  /** `awaited`: code outside the session waits for the answer. */
  send<K extends OpName>(
    op: K,
    request: RequestOf<K>,
    settle: Settle<ResponseOf<K>>,
    awaited: boolean,
  ): void {
    const { link, lease, leftovers } = this.#parts;
    // Requests that leave in one write share one time: that of the first, which is never too late.
    if (this.#stamp === null || this.#write !== link.writes) {
      this.#stamp = lease.stamp();
      this.#write = link.writes;
    }
    const sent = this.#stamp;
    const tracked = leftovers?.track(op, request, settle) ?? settle;
    link.send(op, request, new Call(this, op, pathOf(request), sent, tracked, awaited));
    this.activity.sent(sent, link.timeoutMs);
    if (awaited) this.#awaited += 1;
    this.proofs.sent(op, sent.atMs);
    this.#context.sent(sent.atMs);
  }

  /** A new connection begins. `greeting`: when its handshake was sent; `null` if that is not known. */
  greeted(greeting: Stamp | null): void {
    const { heardAtMs } = this.#context;
    this.activity.restart(greeting, heardAtMs);
    // A handshake that proves the lease by itself counts from its sending. Any other has to be counted by the next proof.
    this.proofs.greeted(greeting === null || this.proofs.quorum ? heardAtMs : greeting.atMs);
  }

  /** Sends a request whose answer proves the lease. */
  prove(settle: Settle<void>): void {
    const done = (outcome: Outcome<unknown>): void =>
      settle(outcome.ok ? { ok: true, value: undefined, zxid: outcome.zxid } : outcome);
    if (this.proofs.quorum) this.send("multi", { ops: [] }, done, false);
    else this.send("sync", { path: "/" }, done, false);
  }

  /** The session is over: ends the requests in flight, to which no answer will come. */
  loseAll(cause: unknown): void {
    for (const packet of this.#parts.link.pending.contents())
      if (packet instanceof Call) guarded(() => packet.lose(cause));
  }

  // -------- what `Call` reports

  /** The server has answered. Called before the outcome is passed on. */
  answered(call: Call<OpName>, header: ReplyHeader): void {
    const { link, lease } = this.#parts;
    const { heardAtMs } = this.#context;
    this.activity.answered(call.sent.atMs, heardAtMs);
    if (!this.proofs.answered(call.op, header, heardAtMs) || this.over) return;
    const counted = this.activity.countedBy(call.sent, link.timeoutMs);
    if (counted === null) return;
    lease.prove(counted, link.timeoutMs, call.sent);
    this.#context.proven();
  }

  /** The server has answered with bytes that are not a valid answer. */
  garbled(error: ProtocolError): void {
    this.#parts.link.cut(`an answer that makes no sense: ${error.message}`);
  }

  /** Whether the session is over. An answer that did not come will then never come. */
  get over(): boolean {
    return this.#context.over;
  }

  /** Called once, just before the outcome is passed on. */
  settled({ op, sent, awaited }: Call<OpName>, outcome: string): void {
    if (awaited) this.#awaited -= 1;
    const { meter, runtime } = this.#parts;
    if (meter?.wanted !== true) return;
    const request = { op, tookMs: runtime.nowMs() - sent.atMs, outcome };
    guarded(() => meter.settled(request));
  }
}

/** One request of a session on its way. It settles exactly once. */
class Call<K extends OpName> extends Packet {
  readonly op: K;
  readonly path: string | undefined;
  readonly sent: Stamp;
  /** Code outside the session waits for the answer. */
  readonly awaited: boolean;
  readonly #sender: RequestSender;
  #settle: Settle<ResponseOf<K>> | null;

  constructor(
    sender: RequestSender,
    op: K,
    path: string | undefined,
    sent: Stamp,
    settle: Settle<ResponseOf<K>>,
    awaited: boolean,
  ) {
    super();
    this.#sender = sender;
    this.op = op;
    this.path = path;
    this.sent = sent;
    this.#settle = settle;
    this.awaited = awaited;
  }

  override get sentAtMs(): Millis {
    return this.sent.atMs;
  }

  override answered(header: ReplyHeader, frame: Buffer): void {
    this.#sender.answered(this as unknown as Call<OpName>, header);
    if (header.err !== 0) {
      const context = this.path === undefined ? { op: this.op } : { op: this.op, path: this.path };
      const error = new ZooKeeperError(header.err, context);
      this.#end({ ok: false, error }, error.codeName);
      return;
    }
    let value: ResponseOf<K>;
    try {
      value = decoded(this.op, frame);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#sender.garbled(error);
      this.unanswered();
      return;
    }
    this.#end({ ok: true, value, zxid: header.zxid }, "ok");
  }

  override unanswered(): void {
    if (this.#sender.over) this.lose();
    else this.#end({ ok: false, error: new OutcomeUnknownError(this.op) }, "outcome-unknown");
  }

  lose(cause?: unknown): void {
    this.#end({ ok: false, error: new SessionLostError(this.op, { cause }) }, "session-lost");
  }

  #end(outcome: Outcome<ResponseOf<K>>, name: string): void {
    const settle = this.#settle;
    if (settle === null) return;
    this.#settle = null;
    this.#sender.settled(this as unknown as Call<OpName>, name);
    settle(outcome);
  }
}

function decoded<K extends OpName>(op: K, frame: Buffer): ResponseOf<K> {
  if (op !== "getChildren2") return decodeResponse(op, frame, replyHeaderBytes);
  // Queues are listed at each hand-over, and all names of a listing are hardly ever read.
  const listing: ResponseOf<"getChildren2"> = new ListedChildren(frame, replyHeaderBytes);
  return listing as ResponseOf<K>;
}

function pathOf(request: unknown): string | undefined {
  const path = (request as { readonly path?: unknown } | undefined)?.path;
  return typeof path === "string" ? path : undefined;
}
