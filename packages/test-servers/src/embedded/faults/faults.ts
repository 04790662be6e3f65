import type { ConnectRequest, WatchEventType } from "@holdfast/zk-protocol";
import { TestServerError } from "../../errors.js";
import type { Connection } from "../connection.js";
import type { Pace } from "../outbox.js";
import type { Answer } from "../processor.js";
import type {
  AppliedVerdict,
  Exchange,
  HandshakeVerdict,
  OutVerdict,
  RequestVerdict,
  Stages,
} from "../stages.js";
import type { Notice } from "../watches.js";
import type { FaultAction } from "./actions.js";
import { EventHold } from "./event-hold.js";
import type { Fault } from "./fault.js";
import type { FaultHost } from "./fault-host.js";
import { LaggingView } from "./lagging-view.js";
import type { FaultMatch } from "./match.js";
import { Rules } from "./rules.js";

/** A lasting fault that can be ended. */
export interface Release {
  /** Ends the fault. A second call does nothing. */
  release(): void;
}

/**
 * Injects faults at exact requests. `on` sets a rule; the other methods act at once. While no fault is set, requests do
 * not pass through this class.
 */
export class Faults implements Stages {
  readonly #host: FaultHost;
  readonly #rules: Rules;
  readonly #refusals = new Set<Release>();
  /** Connections that are slowed down or not read. */
  readonly #hindrances = new Map<Release, Connection>();
  readonly #eventHolds = new Map<Connection, EventHold>();
  readonly #lagging = new Map<Connection, LaggingView>();

  constructor(host: FaultHost) {
    this.#host = host;
    this.#rules = new Rules(host);
  }

  /** Whether any fault is set. */
  get active(): boolean {
    return (
      this.#rules.active ||
      this.#eventHolds.size > 0 ||
      this.#lagging.size > 0 ||
      this.#refusals.size > 0 ||
      this.#hindrances.size > 0
    );
  }

  /**
   * Makes `action` happen to what matches, by default to the first match. Rules that take the same request, handshake
   * or event at the same point act in the order in which they were added. After a rule that closes, drops or answers,
   * no other rule acts. Throws `RangeError` for an action that cannot happen to what is matched.
   */
  on(match: FaultMatch, action: FaultAction): Fault {
    return this.#rules.add(match, action);
  }

  /**
   * Ends all faults: rules, refusals of connections, held events, and connections that lag, are slow or are not read.
   */
  clear(): void {
    this.#rules.clear();
    for (const hold of [...this.#eventHolds.values()]) hold.release();
    for (const view of [...this.#lagging.values()]) view.release();
    for (const refusal of [...this.#refusals]) refusal.release();
    for (const hindrance of [...this.#hindrances.keys()]) hindrance.release();
  }

  /** Accepts connections and closes them at once, as a server in an election does, for `forMs` or until released. */
  refuseConnections(options: { readonly forMs?: number } = {}): Release {
    const refusal: Release = { release: () => this.#refusals.delete(refusal) };
    this.#refusals.add(refusal);
    if (options.forMs !== undefined) this.#after(options.forMs, () => refusal.release());
    return refusal;
  }

  /**
   * Keeps back the events of a session's connection until released. Replies that would show the change wait behind the
   * events. With `violateOrder` these replies are sent first, which no real server does.
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

  /** Sends an event that no change has caused. The watch, if there is one, stays. */
  fireEvent(session: bigint, type: WatchEventType, path: string): void {
    const { state } = this.#host;
    this.#connectionOf(session).send(state.watches.notice(type, path, state.zxid).frame);
  }

  /** Removes all watches of a session on a path, as if they had never been set. */
  loseWatches(session: bigint, path: string): void {
    const connection = this.#connectionOf(session);
    this.#host.state.watches.data.remove(connection, path);
    this.#host.state.watches.child.remove(connection, path);
  }

  /**
   * From now on the session's connection reads the present state, whatever changes, until its own `sync` or write. All
   * that it sends still renews the session.
   */
  staleReads(session: bigint): LaggingView {
    return this.#lag(session, false);
  }

  /**
   * Cuts the member that serves the session off from the others. The member goes on answering pings and reads with the
   * present state, even after the session has run out. Writes and `sync` wait until released.
   */
  cutOff(session: bigint): LaggingView {
    return this.#lag(session, true);
  }

  /** Stops reading from the session's connection, so that what it sends piles up at the client. */
  stopReading(session: bigint): Release {
    const connection = this.#connectionOf(session);
    connection.stopReading();
    return this.#hinder(connection, () => connection.readAgain());
  }

  /** Sends to the session's connection at this pace: so many bytes, or one frame, at a time. */
  slow(session: bigint, pace: Pace): Release {
    const connection = this.#connectionOf(session);
    connection.outbox.setPace(pace);
    return this.#hinder(connection, () => connection.outbox.setPace(undefined));
  }

  #hinder(connection: Connection, end: () => void): Release {
    const hindrance: Release = {
      release: () => {
        if (this.#hindrances.delete(hindrance)) end();
      },
    };
    this.#hindrances.set(hindrance, connection);
    return hindrance;
  }

  /** The connection is closed: drops everything that was kept for it. */
  forget(connection: Connection): void {
    this.#eventHolds.delete(connection);
    this.#lagging.delete(connection);
    this.#rules.forget(connection);
    for (const [hindrance, hindered] of this.#hindrances) {
      if (hindered === connection) this.#hindrances.delete(hindrance);
    }
  }

  /** For the server: whether a new connection may come in. */
  accepted(): boolean {
    return this.#refusals.size === 0;
  }

  /** For the server: what becomes of a handshake. */
  handshake(connection: Connection, request: ConnectRequest): HandshakeVerdict {
    return this.#rules.handshake(connection, request);
  }

  /** For the server: what becomes of a request that was just read. */
  framed(exchange: Exchange): RequestVerdict {
    return this.#rules.framed(exchange, () => this.#behind(exchange));
  }

  /** For the server: what becomes of a request before it is applied. */
  preparing(exchange: Exchange): RequestVerdict {
    // A rule may have cut the member off, or made it lag, just now. Then this request is the first one that is
    // affected.
    return this.#rules.preparing(exchange, () => this.#behind(exchange));
  }

  /**
   * A request that a lagging member cannot serve waits for that member. All other requests see the member's old state.
   */
  #behind(exchange: Exchange): RequestVerdict {
    const gate = this.#lagging.get(exchange.connection)?.gateFor(exchange);
    return gate === undefined ? undefined : { kind: "hold", until: gate, next: () => this.#behind(exchange) };
  }

  /** For the server: what becomes of a request that was applied. */
  applied(exchange: Exchange, answer: Answer): AppliedVerdict {
    return this.#rules.applied(exchange, answer);
  }

  /** For the server: what becomes of a reply. */
  replying(exchange: Exchange, _answer: Answer, frame: Buffer): OutVerdict {
    const out = this.#rules.replying(exchange, frame);
    const events = this.#eventHolds.get(exchange.connection)?.gateFor(exchange);
    if (events === undefined || out.next !== "go-on") return out;
    return { ...out, behind: [...out.behind, events] };
  }

  /** For the server: what becomes of an event. */
  notifying(connection: Connection, notice: Notice): OutVerdict {
    const out = this.#rules.notifying(connection, notice);
    const keeper = this.#lagging.get(connection) ?? this.#eventHolds.get(connection);
    if (out !== undefined || keeper === undefined) return out;
    keeper.keep(notice);
    return { behind: [], bytes: undefined, next: "go-on" };
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

  #after(ms: number, callback: () => void): void {
    this.#host.clock.at(this.#host.clock.nowMs() + ms, callback);
  }

  #connectionOf(session: bigint): Connection {
    const connection = this.#host.connectionOf(session);
    if (connection === undefined) throw new TestServerError(`session ${session} has no connection`);
    return connection;
  }
}
