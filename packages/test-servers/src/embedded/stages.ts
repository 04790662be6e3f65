import type { ConnectRequest, OpName } from "@holdfast/zk-protocol";
import type { Connection } from "./connection.js";
import type { Gate } from "./gate.js";
import type { Answer } from "./processor.js";
import type { Notice } from "./watches.js";

/** One request between its frame and its reply. */
export interface Exchange {
  readonly connection: Connection;
  readonly sessionId: bigint;
  readonly xid: number;
  readonly type: number;
  /** Undefined if the number is no known operation. */
  readonly op: OpName | undefined;
  /** What follows the request header. */
  readonly body: Buffer;
}

/** Ends the processing of a request here. */
export const stop = { kind: "stop" } as const;

/** A verdict, given at once or after any number of waits. */
export type Waits<Verdict> = Verdict | Hold<Waits<Verdict>>;

/** The request waits at this stage until the gate opens, and so does everything that its connection sent after it. */
export interface Hold<Verdict> {
  readonly kind: "hold";
  readonly until: Gate;
  /** Called when the gate has opened and the connection still exists; says what happens then. */
  next(): Verdict;
}

/** An answer that is sent instead of applying the request. */
export interface AnswerInstead {
  readonly kind: "answer";
  readonly answer: Answer;
}

/**
 * What goes out in place of a reply or an event. Everything behind it waits with it, so that the order never changes.
 */
export interface Outgoing {
  /** The gates that must be open before it goes out. */
  readonly behind: readonly Gate[];
  /** Undefined to send nothing. */
  readonly bytes: Buffer | undefined;
  /** After `stall` the connection sends nothing any more. */
  readonly next: "go-on" | "close" | "stall";
}

/** Answers a handshake as if the session were over. */
export const reject = { kind: "reject" } as const;
/** Closes the connection without sending a byte. */
export const closeSilently = { kind: "close" } as const;
/** Leaves the earlier connection of the session open for reads, as a member does that does not know of the move yet. */
export const move = { kind: "move" } as const;

export type RequestVerdict = Waits<undefined | typeof stop | AnswerInstead>;
export type AppliedVerdict = Waits<undefined | typeof stop>;
export type OutVerdict = undefined | Outgoing;
export type HandshakeVerdict = Waits<undefined | typeof reject | typeof closeSilently | typeof move>;

/**
 * The points at which a fault engine may step in. They are called in this order for every connection and every request.
 * A stage that answers undefined changes nothing.
 */
export interface Stages {
  /** A socket was accepted. False closes it at once. */
  accepted(connection: Connection): boolean;
  /** A handshake was read; nothing has been looked up yet. */
  handshake(connection: Connection, request: ConnectRequest): HandshakeVerdict;
  /** A request was read; it has not renewed the session yet. */
  framed(exchange: Exchange): RequestVerdict;
  /** The request is next; nothing has been checked yet. */
  preparing(exchange: Exchange): RequestVerdict;
  /** The request was applied and its events are out; the answer may still be changed. */
  applied(exchange: Exchange, answer: Answer): AppliedVerdict;
  /** The reply is about to join the queue of its connection. */
  replying(exchange: Exchange, answer: Answer, frame: Buffer): OutVerdict;
  /** An event is about to join the queue of its connection. */
  notifying(connection: Connection, notice: Notice): OutVerdict;
}
