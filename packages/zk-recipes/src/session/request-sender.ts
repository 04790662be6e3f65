import { InvalidArgumentError, type Runtime } from "@holdfast/core";
import {
  encodeRequest,
  maxRequestBytes,
  type OpName,
  opCodes,
  type ReplyHeader,
  type RequestOf,
  type ResponseOf,
} from "@holdfast/zk-protocol";
import { guarded } from "../client/guarded.js";
import type { Link } from "../client/link.js";
import { SentPacket } from "../client/packet.js";
import { Activity } from "./activity.js";
import { Call, type CallDesk, type RequestSettled } from "./call.js";
import type { LeaseClock, Stamp } from "./lease-clock.js";
import type { Leftovers } from "./leftovers.js";
import { Proofs } from "./proofs.js";
import type { SessionStates } from "./session-states.js";
import type { Outcome, Settle } from "./types.js";

export interface SenderParts {
  readonly link: Link;
  readonly runtime: Runtime;
  readonly lease: LeaseClock;
  readonly states: SessionStates;
  readonly leftovers: Leftovers | null;
  /** See `Proofs`. */
  readonly quorum: boolean;
  readonly onRequestSettled: ((settled: RequestSettled) => void) | undefined;
}

/** What the sender needs of its session. */
export interface SenderDesk {
  /** A request left. */
  sent(atMs: number): void;
  /** The lease was proven anew. */
  proven(): void;
}

/** Sends a session's requests, and proves its lease by their answers. */
export class RequestSender {
  readonly proofs: Proofs;
  readonly activity: Activity = new Activity();
  readonly #parts: SenderParts;
  readonly #desk: SenderDesk;
  readonly #callDesk: CallDesk;
  #awaited = 0;

  constructor(parts: SenderParts, desk: SenderDesk) {
    this.proofs = new Proofs(parts.quorum);
    this.#parts = parts;
    this.#desk = desk;
    this.#callDesk = this.#makeCallDesk();
  }

  /** Calls in flight that somebody outside waits for; keep-alives are not among them. */
  get awaited(): number {
    return this.#awaited;
  }

  /** For somebody outside: see `awaited`. */
  sendAwaited<K extends OpName>(op: K, request: RequestOf<K>, settle: Settle<ResponseOf<K>>): void {
    this.#send(op, request, settle, true);
  }

  send<K extends OpName>(op: K, request: RequestOf<K>, settle: Settle<ResponseOf<K>>): void {
    this.#send(op, request, settle, false);
  }

  /** A request whose answer proves the lease. */
  prove(settle: Settle<void>): void {
    const done = (outcome: Outcome<unknown>): void =>
      settle(outcome.ok ? { ok: true, value: undefined, zxid: outcome.zxid } : outcome);
    if (this.proofs.quorum) this.send("multi", { ops: [] }, done);
    else this.send("sync", { path: "/" }, done);
  }

  /** The session is lost: nobody may wait for an answer that it can get no more. */
  loseAll(cause: unknown): void {
    for (const sent of this.#parts.link.pending.contents()) {
      if (!(sent instanceof SentPacket)) continue;
      const { packet } = sent;
      if (packet instanceof Call) guarded(() => packet.lose(cause));
    }
  }

  #send<K extends OpName>(
    op: K,
    request: RequestOf<K>,
    settle: Settle<ResponseOf<K>>,
    awaited: boolean,
  ): void {
    const { link, lease, leftovers } = this.#parts;
    const body = encodeRequest(op, request);
    if (body.length + 8 > maxRequestBytes) {
      // The server would close the connection without a word, under all the other requests too.
      throw new InvalidArgumentError(
        `${op} of ${body.length + 8} bytes is over the ${maxRequestBytes} that a ZooKeeper server accepts`,
      );
    }
    const path = (request as { readonly path?: unknown } | undefined)?.path;
    const sent = lease.stamp();
    this.activity.sent(sent, link.timeoutMs);
    const where = typeof path === "string" ? path : undefined;
    const tracked = leftovers?.track(op, request, settle) ?? settle;
    const call = new Call(this.#callDesk, op, where, sent, tracked, awaited);
    if (awaited) this.#awaited += 1;
    this.proofs.sent(op, sent.atMs);
    link.send(opCodes[op], body, call);
    this.#desk.sent(sent.atMs);
  }

  #makeCallDesk(): CallDesk {
    const { link, states } = this.#parts;
    return {
      get over() {
        return states.over;
      },
      answered: (call, header) => this.#answered(call, header),
      garbled: (error) => link.cut(`an answer that makes no sense: ${error.message}`),
      settled: (call, outcome) => this.#settled(call, outcome),
    };
  }

  #answered(call: { readonly op: OpName; readonly sent: Stamp }, header: ReplyHeader): void {
    const { link, lease, states } = this.#parts;
    if (!this.proofs.answered(call.op, header) || states.over) return;
    const counted = this.activity.countedBy(call.sent, link.timeoutMs);
    if (counted === null) return;
    lease.prove(counted, link.timeoutMs, call.sent);
    this.#desk.proven();
  }

  #settled(call: Call<OpName>, outcome: string): void {
    if (call.awaited) this.#awaited -= 1;
    const report = this.#parts.onRequestSettled;
    if (report === undefined) return;
    const tookMs = this.#parts.runtime.nowMs() - call.sentAtMs;
    guarded(() => report({ op: call.op, tookMs, outcome }));
  }
}
