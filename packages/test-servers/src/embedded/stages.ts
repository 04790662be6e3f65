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

/** Ends the way of a request, reply or event: nothing more happens with it. */
export const stop = { kind: "stop" } as const;

/**
 * Waits at this stage until the gate opens. A request that waits holds up all that its connection sent
 * after it, a reply or an event all that is to go out behind it: the order never changes.
 */
export interface Hold {
  readonly kind: "hold";
  readonly until: Gate;
}

/** Takes the place of applying the request. */
export interface AnswerInstead {
  readonly kind: "answer";
  readonly answer: Answer;
}

/** Sends these bytes in place of the frame; after `stall` the connection sends nothing any more. */
export interface BytesInstead {
  readonly kind: "bytes";
  readonly bytes: Buffer;
  readonly next: "go-on" | "close" | "stall";
}

/** Answers a handshake as if the session were over. */
export const reject = { kind: "reject" } as const;
/** Closes without a byte. */
export const closeSilently = { kind: "close" } as const;
/** Leaves the earlier connection of the session open for reads, as a member that has not heard of the move yet. */
export const move = { kind: "move" } as const;

export type RequestVerdict = undefined | typeof stop | Hold | AnswerInstead;
export type AppliedVerdict = undefined | typeof stop | Hold;
export type OutVerdict = undefined | typeof stop | Hold | BytesInstead;
export type HandshakeVerdict = undefined | typeof reject | typeof closeSilently | typeof move | Hold;

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
