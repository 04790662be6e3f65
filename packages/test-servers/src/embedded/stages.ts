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
  /** Undefined for a number that is no operation. */
  readonly op: OpName | undefined;
  /** What follows the request header. */
  readonly body: Buffer;
}

/** Ends the way of a request: nothing more happens with it. */
export const stop = { kind: "stop" } as const;

/** A verdict, at once or after any number of waits. */
export type Waits<Verdict> = Verdict | Hold<Waits<Verdict>>;

/** Waits at this stage until the gate opens, and so does all that its connection sent after it. */
export interface Hold<Verdict> {
  readonly kind: "hold";
  readonly until: Gate;
  /** Asked when the gate has opened and the connection is still there: what happens then. */
  next(): Verdict;
}

/** Takes the place of applying the request. */
export interface AnswerInstead {
  readonly kind: "answer";
  readonly answer: Answer;
}

/** What goes out in place of a reply or an event. All that is to go out behind it waits with it: the order never changes. */
export interface Outgoing {
  /** It goes when all of these are open. */
  readonly behind: readonly Gate[];
  /** Undefined for nothing. */
  readonly bytes: Buffer | undefined;
  /** After `stall` the connection sends nothing any more. */
  readonly next: "go-on" | "close" | "stall";
}

/** Answers a handshake as if the session were over. */
export const reject = { kind: "reject" } as const;
/** Closes without a byte. */
export const closeSilently = { kind: "close" } as const;
/** Leaves the earlier connection of the session open for reads, as a member that has not heard of the move yet. */
export const move = { kind: "move" } as const;

export type RequestVerdict = Waits<undefined | typeof stop | AnswerInstead>;
export type AppliedVerdict = Waits<undefined | typeof stop>;
export type OutVerdict = undefined | Outgoing;
export type HandshakeVerdict = Waits<undefined | typeof reject | typeof closeSilently | typeof move>;

/**
 * Points at which a fault engine may step in. They are asked in this order for every connection and
 * every request; a stage that answers undefined lets everything take its course.
 */
export interface Stages {
  /** A socket was accepted. False closes it at once. */
  accepted(connection: Connection): boolean;
  /** A handshake was read, nothing was looked up yet. */
  handshake(connection: Connection, request: ConnectRequest): HandshakeVerdict;
  /** A request was read. The session has not been renewed by it. */
  framed(exchange: Exchange): RequestVerdict;
  /** The request is next; nothing was checked. */
  preparing(exchange: Exchange): RequestVerdict;
  /** The request was applied and its events are out; the answer may still be changed. */
  applied(exchange: Exchange, answer: Answer): AppliedVerdict;
  /** The reply is about to join the queue of its connection. */
  replying(exchange: Exchange, answer: Answer, frame: Buffer): OutVerdict;
  /** An event is about to join the queue of its connection. */
  notifying(connection: Connection, notice: Notice): OutVerdict;
}
