import { type ConnectRequest, errorCodes, type WatchEventType } from "@holdfast/zk-protocol";
import { TestServerError } from "../../errors.js";
import type { Clock } from "../clock.js";
import type { Connection } from "../connection.js";
import type { Gate } from "../gate.js";
import type { Pace } from "../outbox.js";
import { type Answer, unknownOp } from "../processor.js";
import {
  type AppliedVerdict,
  closeSilently,
  type Exchange,
  type HandshakeVerdict,
  move,
  type OutVerdict,
  type RequestVerdict,
  reject,
  type Stages,
  stop,
} from "../stages.js";
import type { State } from "../state.js";
import type { Notice } from "../watches.js";
import { eventActions, type FaultAction, handshakeActions, handshakeOnly } from "./actions.js";
import { EventHold } from "./event-hold.js";
import { Fault, type FaultHit } from "./fault.js";
import { LaggingView } from "./lagging-view.js";
import { type FaultMatch, type FaultSubject, pathsOf } from "./match.js";

/** What faults need of their server. */
export interface FaultHost {
  readonly state: State;
  readonly clock: Clock;
  connectionOf(sessionId: bigint): Connection | undefined;
  /** `keep` leaves the connection to the caller. */
  expire(sessionId: bigint, how: "flush" | "mute" | "keep"): void;
}

interface Pending {
  readonly fault: Fault;
  readonly hit: FaultHit;
}

/** Something lasting that can be taken back. */
export interface Release {
  release(): void;
}

/**
 * Faults at exact requests. `on` sets a rule; the other methods act at once. While nothing is set, requests
 * take their way without a look at this class.
 */
export class Faults implements Stages {
  readonly #host: FaultHost;
  readonly #rules = new Set<Fault>();
  readonly #refusals = new Set<Release>();
  readonly #eventHolds = new Map<Connection, EventHold>();
  readonly #lagging = new Map<Connection, LaggingView>();
  readonly #pending = new WeakMap<Exchange, Pending[]>();
  /** Replies that wait for the next request of their connection. */
  readonly #withheld = new Map<Connection, Gate>();

  constructor(host: FaultHost) {
    this.#host = host;
  }

  /** Whether anything is set. */
  get active(): boolean {
    return (
      this.#rules.size > 0 ||
      this.#eventHolds.size > 0 ||
      this.#lagging.size > 0 ||
      this.#refusals.size > 0 ||
      this.#withheld.size > 0
    );
  }

  /**
   * Has `action` happen to what matches, by default to the first that does. Throws `RangeError` for an action that
   * cannot happen to what is matched.
   */
  on(match: FaultMatch, action: FaultAction): Fault {
    checkAction(match, action);
    const fault = new Fault(match, action, (done) => this.#rules.delete(done));
    this.#rules.add(fault);
    return fault;
  }

  /** Heals everything: no rules, nothing held, nobody behind or slow. */
  clear(): void {
    for (const fault of [...this.#rules]) fault.release();
    for (const hold of [...this.#eventHolds.values()]) hold.release();
    for (const view of [...this.#lagging.values()]) view.release();
    for (const refusal of [...this.#refusals]) refusal.release();
    for (const gate of [...this.#withheld.values()]) gate.open();
    this.#withheld.clear();
  }

  /** Accepts connections and closes them at once, as a server in an election does, for `forMs` or until released. */
  refuseConnections(options: { readonly forMs?: number } = {}): Release {
    const refusal: Release = { release: () => this.#refusals.delete(refusal) };
    this.#refusals.add(refusal);
    if (options.forMs !== undefined) this.#after(options.forMs, () => refusal.release());
    return refusal;
  }

  /**
   * Keeps back the events of a session's connection until released. Replies that would show the change wait
   * behind them, unless `violateOrder`, which no real server does, sends them first.
   */
  holdEvents(session: bigint, options: { readonly violateOrder?: boolean } = {}): EventHold {
    const connection = this.#connectionOf(session);
    this.#eventHolds.get(connection)?.release();
    const hold = new EventHold(connection, options.violateOrder === true, () =>
      this.#eventHolds.delete(connection),
    );
    this.#eventHolds.set(connection, hold);
    return hold;
  }

  /** Sends an event that nothing has caused. The watch, if there is one, stays. */
  fireEvent(session: bigint, type: WatchEventType, path: string): void {
    const { state } = this.#host;
    this.#connectionOf(session).send(state.watches.notice(type, path, state.zxid).frame);
  }

  /** Takes away all watches of a session on a path, as if they had never been set. */
  loseWatches(session: bigint, path: string): void {
    const connection = this.#connectionOf(session);
    this.#host.state.watches.data.remove(connection, path);
    this.#host.state.watches.child.remove(connection, path);
  }

  /** From now on the session's connection reads the present state, whatever changes, until its own `sync` or write. */
  staleReads(session: bigint): LaggingView {
    return this.#lag(session, false);
  }

  /**
   * Cuts the member that serves the session off from the others: it goes on answering pings and reads with the
   * present state, also when the session has run out; writes and `sync` wait until released.
   */
  cutOff(session: bigint): LaggingView {
    return this.#lag(session, true);
  }

  /** Leaves what the session's connection sends unread, so that it piles up at the client. */
  stopReading(session: bigint): Release {
    const connection = this.#connectionOf(session);
    connection.stopReading();
    return { release: () => connection.readAgain() };
  }

  /** Sends to the session's connection so many bytes, or one frame, at a time. */
  slow(session: bigint, pace: Pace): Release {
    const connection = this.#connectionOf(session);
    connection.outbox.setPace(pace);
    return { release: () => connection.outbox.setPace(undefined) };
  }

  /** Whether a connection goes on being served although its session has ended. */
  outlives(connection: Connection): boolean {
    return this.#lagging.get(connection)?.cutOff === true;
  }

  /** The connection is closed: what was kept for it goes with it. */
  forget(connection: Connection): void {
    this.#eventHolds.delete(connection);
    this.#lagging.delete(connection);
    this.#withheld.delete(connection);
  }

  accepted(): boolean {
    return this.#refusals.size === 0;
  }

  handshake(_connection: Connection, request: ConnectRequest): HandshakeVerdict {
    const subject = { target: "connect", session: request.sessionId, paths: [] } as const;
    for (const { fault, hit } of this.#takers(subject, 0)) {
      const { action } = fault;
      switch (action.do) {
        case "close":
          return closeSilently;
        case "reject":
          return reject;
        case "move":
          return move;
        case "hold":
          return { kind: "hold", until: this.#gate(fault, action.forMs) };
        case "run":
          return this.#run(fault, action, hit);
        default: // `on` lets nothing else through
          break;
      }
    }
    return undefined;
  }

  framed(exchange: Exchange): RequestVerdict {
    const { connection } = exchange;
    this.#withheld.get(connection)?.open();
    this.#withheld.delete(connection);
    const subject = { target: exchange.op, session: exchange.sessionId, paths: pathsOf(exchange) };
    const pending = this.#takers(subject, exchange.xid);
    if (pending.length > 0) this.#pending.set(exchange, pending);
    const gate = this.#lagging.get(connection)?.gateFor(exchange);
    if (gate !== undefined) return { kind: "hold", until: gate };
    return this.#waitAt("frame", exchange);
  }

  preparing(exchange: Exchange): RequestVerdict {
    const { connection } = exchange;
    for (const { fault } of this.#of(exchange)) {
      const { action } = fault;
      switch (action.do) {
        case "close":
          if ((action.when ?? "before") !== "before") break;
          connection.close(action.reset === true ? "reset" : "drop");
          return stop;
        case "drop":
          return stop;
        case "expire":
          if ((action.when ?? "before") !== "before") break;
          this.#host.expire(exchange.sessionId, action.silent === true ? "mute" : "flush");
          return stop;
        case "answer":
          if (action.apply === true) break;
          return { kind: "answer", answer: this.#refusal(exchange, errorCodes[action.err]) };
        case "unknown-op":
          return { kind: "answer", answer: unknownOp(exchange.xid) };
        case "lose-watch":
          connection.losesWatch = true;
          break;
        default:
          break;
      }
    }
    return this.#waitAt("prep", exchange);
  }

  applied(exchange: Exchange, answer: Answer): AppliedVerdict {
    const { connection } = exchange;
    connection.losesWatch = false;
    for (const { fault } of this.#of(exchange)) {
      const { action } = fault;
      switch (action.do) {
        case "close":
          if (action.when !== "applied") break;
          connection.close(action.reset === true ? "reset" : "drop");
          return stop;
        case "expire":
          if (action.when !== "applied") break;
          this.#host.expire(exchange.sessionId, action.silent === true ? "mute" : "keep");
          break;
        case "answer":
          if (action.apply !== true) break;
          answer.err = errorCodes[action.err];
          answer.body = undefined;
          break;
        default:
          break;
      }
    }
    return this.#waitAt("applied", exchange);
  }

  replying(exchange: Exchange, _answer: Answer, frame: Buffer): OutVerdict {
    for (const { fault } of this.#of(exchange)) {
      const verdict = this.#replyVerdict(exchange, fault, frame);
      if (verdict !== undefined) return verdict;
    }
    const gate = this.#eventHolds.get(exchange.connection)?.gateFor(exchange);
    return gate === undefined ? undefined : { kind: "hold", until: gate };
  }

  notifying(connection: Connection, notice: Notice): OutVerdict {
    const subject = {
      target: "event",
      session: connection.sessionId,
      paths: [notice.path],
      event: notice.type,
    } as const;
    for (const { fault } of this.#takers(subject, -1)) {
      const { action } = fault;
      if (action.do === "drop") return stop;
      if (action.do === "hold") return { kind: "hold", until: this.#gate(fault, action.forMs) };
    }
    const keeper = this.#lagging.get(connection) ?? this.#eventHolds.get(connection);
    if (keeper === undefined) return undefined;
    keeper.keep(notice);
    return stop;
  }

  #replyVerdict(exchange: Exchange, fault: Fault, frame: Buffer): OutVerdict {
    const { connection } = exchange;
    const { action } = fault;
    switch (action.do) {
      case "no-reply":
        return { kind: "bytes", bytes: Buffer.alloc(0), next: "stall" };
      case "cut-reply":
        return { kind: "bytes", bytes: frame.subarray(0, action.bytes), next: action.next ?? "close" };
      case "grow-reply":
        return { kind: "bytes", bytes: grown(frame, action.bytes), next: "go-on" };
      case "expire":
        return action.when === "applied" ? { kind: "bytes", bytes: frame, next: "close" } : undefined;
      case "hold":
        if (action.at !== "reply") return undefined;
        return { kind: "hold", until: this.#gate(fault, action.forMs) };
      case "withhold": {
        const gate = this.#gate(fault, undefined);
        this.#withheld.set(connection, gate);
        return { kind: "hold", until: gate };
      }
      default:
        return undefined;
    }
  }

  #waitAt(point: "frame" | "prep" | "applied", exchange: Exchange): AppliedVerdict {
    for (const { fault, hit } of this.#of(exchange)) {
      const { action } = fault;
      if (action.do === "hold" && (action.at ?? "prep") === point) {
        return { kind: "hold", until: this.#gate(fault, action.forMs) };
      }
      if (action.do === "run" && (action.at ?? "prep") === point) return this.#run(fault, action, hit);
    }
    return undefined;
  }

  #run(
    fault: Fault,
    action: Extract<FaultAction, { do: "run" }>,
    hit: FaultHit,
  ): { readonly kind: "hold"; readonly until: Gate } | undefined {
    const waiting = action.call(hit);
    if (waiting === undefined) return undefined;
    const gate = fault.gate();
    // A callback that fails fails its test as an unhandled rejection; the connection goes on either way.
    void waiting.finally(() => gate.open());
    return { kind: "hold", until: gate };
  }

  #takers(subject: FaultSubject, xid: number): Pending[] {
    const pending: Pending[] = [];
    for (const fault of this.#rules) {
      if (!fault.takes(subject)) continue;
      const { target, session, paths } = subject;
      const hit = { target, session, paths, xid, zxid: this.#host.state.zxid };
      fault.happened(hit);
      pending.push({ fault, hit });
    }
    return pending;
  }

  #of(exchange: Exchange): readonly Pending[] {
    return this.#pending.get(exchange) ?? [];
  }

  #refusal(exchange: Exchange, err: number): Answer {
    const { zxid } = this.#host.state;
    const ending = err === errorCodes.AuthFailed;
    return { xid: exchange.xid, zxid, err, body: undefined, ending, silent: false };
  }

  #lag(session: bigint, cutOff: boolean): LaggingView {
    const connection = this.#connectionOf(session);
    this.#lagging.get(connection)?.release();
    const view = new LaggingView(this.#host.state, connection, cutOff, () =>
      this.#lagging.delete(connection),
    );
    this.#lagging.set(connection, view);
    return view;
  }

  #gate(fault: Fault, forMs: number | undefined): Gate {
    const gate = fault.gate();
    if (forMs !== undefined) this.#after(forMs, () => gate.open());
    return gate;
  }

  #after(ms: number, callback: () => void): void {
    this.#host.clock.at(this.#host.clock.nowMs() + ms, callback);
  }

  #connectionOf(session: bigint): Connection {
    const connection = this.#host.connectionOf(session);
    if (connection === undefined) throw new TestServerError(`session ${session} has no connection`);
    return connection;
  }
}

function checkAction({ op }: FaultMatch, action: FaultAction): void {
  const targets = op === undefined || typeof op === "string" ? [op] : op;
  for (const target of targets) {
    const possible =
      target === "connect"
        ? handshakeActions.has(action.do)
        : target === "event"
          ? eventActions.has(action.do)
          : !handshakeOnly.has(action.do);
    if (!possible) throw new RangeError(`"${action.do}" cannot happen to ${target ?? "every request"}`);
  }
}

/** A frame at least so long, by zeros behind its record. */
export function grown(frame: Buffer, bytes: number): Buffer {
  const length = Math.max(frame.length - 4, bytes);
  const larger = Buffer.alloc(4 + length);
  frame.copy(larger);
  larger.writeInt32BE(length, 0);
  return larger;
}
