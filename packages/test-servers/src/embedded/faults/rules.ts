import { type ConnectRequest, errorCodes } from "@holdfast/zk-protocol";
import type { Connection } from "../connection.js";
import type { Gate } from "../gate.js";
import { type Answer, unknownOp } from "../processor.js";
import {
  type AppliedVerdict,
  closeSilently,
  type Exchange,
  type HandshakeVerdict,
  move,
  type Outgoing,
  type OutVerdict,
  type RequestVerdict,
  reject,
  stop,
} from "../stages.js";
import type { Notice } from "../watches.js";
import { type FaultAction, type FaultHit, isLast, pointOf } from "./actions.js";
import { checkAction } from "./check-action.js";
import { Fault } from "./fault.js";
import type { FaultHost } from "./fault-host.js";
import { inTurn } from "./in-turn.js";
import { type FaultMatch, type FaultSubject, pathsOf } from "./match.js";

interface Pending {
  readonly fault: Fault;
  readonly hit: FaultHit;
}

/**
 * The rules in force: finds those that take a request, handshake or event, and lets them act at each point of its way.
 */
export class Rules {
  readonly #host: FaultHost;
  readonly #faults = new Set<Fault>();
  readonly #pending = new WeakMap<Exchange, Pending[]>();
  /** Replies that wait for the next request of their connection. */
  readonly #withheld = new Map<Connection, Gate>();

  constructor(host: FaultHost) {
    this.#host = host;
  }

  /** Whether there is a rule, or a reply that a rule withholds. */
  get active(): boolean {
    return this.#faults.size > 0 || this.#withheld.size > 0;
  }

  /** @throws RangeError for an action that cannot happen to what is matched. */
  add(match: FaultMatch, action: FaultAction): Fault {
    checkAction(match, action);
    const fault = new Fault(match, action, (done) => this.#faults.delete(done));
    this.#faults.add(fault);
    return fault;
  }

  clear(): void {
    for (const fault of [...this.#faults]) fault.release();
    for (const gate of [...this.#withheld.values()]) gate.open();
    this.#withheld.clear();
  }

  forget(connection: Connection): void {
    this.#withheld.delete(connection);
  }

  handshake(connection: Connection, request: ConnectRequest): HandshakeVerdict {
    const subject = { target: "connect", session: request.sessionId, paths: [] } as const;
    const act = (pending: Pending) => {
      const { action } = pending.fault;
      switch (action.do) {
        case "close":
          return closeSilently;
        case "reject":
          return reject;
        case "move":
          return move;
        default: // besides these, `on` accepts only actions that wait
          return this.#wait(pending);
      }
    };
    return inTurn(connection, this.#takers(subject, 0), act, () => undefined);
  }

  framed(exchange: Exchange, last: () => RequestVerdict): RequestVerdict {
    const { connection } = exchange;
    this.#withheld.get(connection)?.open();
    this.#withheld.delete(connection);
    const subject = { target: exchange.op, session: exchange.sessionId, paths: pathsOf(exchange) };
    const pending = this.#takers(subject, exchange.xid);
    if (pending.length > 0) this.#pending.set(exchange, pending);
    const act = (each: Pending) => (pointOf(each.fault.action) === "frame" ? this.#wait(each) : undefined);
    return inTurn(connection, pending, act, last);
  }

  preparing(exchange: Exchange, last: () => RequestVerdict): RequestVerdict {
    const act = (pending: Pending) => this.#prepare(exchange, pending);
    return inTurn(exchange.connection, this.#of(exchange), act, last);
  }

  #prepare(exchange: Exchange, pending: Pending): RequestVerdict | Gate {
    const { connection } = exchange;
    const { action } = pending.fault;
    switch (action.do) {
      case "close":
        if ((action.when ?? "before") !== "before") return undefined;
        connection.close(action.reset === true ? "reset" : "drop");
        return stop;
      case "drop":
        return stop;
      case "expire":
        if ((action.when ?? "before") !== "before") return undefined;
        this.#host.expire(exchange.sessionId, action.silent === true ? "mute" : "flush");
        return stop;
      case "answer":
        if (action.apply === true) return undefined;
        return { kind: "answer", answer: this.#refusal(exchange, errorCodes[action.err]) };
      case "unknown-op":
        return { kind: "answer", answer: unknownOp(exchange.xid) };
      case "lose-watch":
        connection.losesWatch = true;
        return undefined;
      default:
        return pointOf(action) === "prep" ? this.#wait(pending) : undefined;
    }
  }

  applied(exchange: Exchange, answer: Answer): AppliedVerdict {
    const act = (pending: Pending) => this.#afterApplying(exchange, answer, pending);
    return inTurn(exchange.connection, this.#of(exchange), act, () => undefined);
  }

  #afterApplying(exchange: Exchange, answer: Answer, pending: Pending): AppliedVerdict | Gate {
    const { action } = pending.fault;
    switch (action.do) {
      case "close":
        if (action.when !== "applied") return undefined;
        exchange.connection.close(action.reset === true ? "reset" : "drop");
        return stop;
      case "expire":
        if (action.when === "applied")
          this.#host.expire(exchange.sessionId, action.silent === true ? "mute" : "keep");
        return undefined;
      case "answer":
        if (action.apply !== true) return undefined;
        answer.err = errorCodes[action.err];
        answer.body = undefined;
        return undefined;
      default:
        return pointOf(action) === "applied" ? this.#wait(pending) : undefined;
    }
  }

  replying(exchange: Exchange, frame: Buffer): Outgoing {
    const behind: Gate[] = [];
    let bytes = frame;
    let next: Outgoing["next"] = "go-on";
    for (const { fault } of this.#of(exchange)) {
      const { action } = fault;
      if (next !== "go-on") break; // the connection ends here, or sends nothing more
      switch (action.do) {
        case "no-reply":
          bytes = Buffer.alloc(0);
          next = "stall";
          break;
        case "cut-reply":
          bytes = bytes.subarray(0, action.bytes);
          next = action.next ?? "close";
          break;
        case "grow-reply":
          bytes = grown(bytes, action.bytes);
          break;
        case "expire":
          if (action.when === "applied") next = "close";
          break;
        case "hold":
          if (action.at === "reply") behind.push(this.#gate(fault, action.forMs));
          break;
        case "withhold":
          behind.push(this.#withhold(exchange.connection, fault));
          break;
        default:
          break;
      }
    }
    return { behind, bytes, next };
  }

  #withhold(connection: Connection, fault: Fault): Gate {
    const gate = this.#withheld.get(connection) ?? this.#gate(fault, undefined);
    this.#withheld.set(connection, gate);
    return gate;
  }

  /** Undefined if no rule takes the event. */
  notifying(connection: Connection, notice: Notice): OutVerdict {
    const subject = {
      target: "event",
      session: connection.sessionId,
      paths: [notice.path],
      event: notice.type,
    } as const;
    const behind: Gate[] = [];
    for (const { fault } of this.#takers(subject, -1)) {
      const { action } = fault;
      if (action.do === "drop") return { behind, bytes: undefined, next: "go-on" };
      if (action.do === "hold") behind.push(this.#gate(fault, action.forMs));
    }
    return behind.length === 0 ? undefined : { behind, bytes: notice.frame, next: "go-on" };
  }

  /** The gate that a rule waits for. Undefined if the rule neither holds nor calls, or if its call is already over. */
  #wait({ fault, hit }: Pending): Gate | undefined {
    const { action } = fault;
    if (action.do === "hold") return this.#gate(fault, action.forMs);
    if (action.do !== "run") return undefined;
    const waiting = action.call(hit);
    if (waiting === undefined) return undefined;
    const gate = fault.gate();
    // A callback that rejects fails its test by an unhandled rejection; the connection continues either way.
    void waiting.finally(() => gate.open());
    return gate;
  }

  /**
   * The rules that do something to `subject`. A rule that another one forestalls has counted the subject, but has not
   * happened: for instance a rule that ends the session, where an earlier rule answers the request.
   */
  #takers(subject: FaultSubject, xid: number): Pending[] {
    const matching = [...this.#faults].filter((fault) => fault.takes(subject));
    const end = matching.findIndex(({ action }) => isLast(action));
    const { target, session, paths } = subject;
    const hit = { target, session, paths, xid, zxid: this.#host.state.zxid };
    const acting = matching.filter(({ action }, at) => {
      if (end < 0 || at === end) return true;
      const point = pointOf(action);
      return point === "frame" || (point === "prep" && at < end);
    });
    for (const fault of acting) fault.happened(hit);
    return acting.map((fault) => ({ fault, hit }));
  }

  #of(exchange: Exchange): readonly Pending[] {
    return this.#pending.get(exchange) ?? [];
  }

  #refusal(exchange: Exchange, err: number): Answer {
    const { zxid } = this.#host.state;
    const ending = err === errorCodes.AuthFailed;
    return { xid: exchange.xid, zxid, err, body: undefined, ending, silent: false };
  }

  #gate(fault: Fault, forMs: number | undefined): Gate {
    const gate = fault.gate();
    if (forMs !== undefined) this.#host.clock.at(this.#host.clock.nowMs() + forMs, () => gate.open());
    return gate;
  }
}

/** Returns the frame with zeros behind its record, so that it has at least this length. */
export function grown(frame: Buffer, bytes: number): Buffer {
  const length = Math.max(frame.length - 4, bytes);
  const larger = Buffer.alloc(4 + length);
  frame.copy(larger);
  larger.writeInt32BE(length, 0);
  return larger;
}
