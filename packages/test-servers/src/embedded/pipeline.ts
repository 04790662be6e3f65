import {
  type ConnectRequest,
  decodeConnectRequest,
  decodeRequestHeader,
  encodeConnectResponse,
  encodeFrame,
  isWrite,
  opNameOf,
  ProtocolError,
  passwordLength,
  replyHeaderBytes,
  requestHeaderBytes,
} from "@holdfast/zk-protocol";
import type { Connection } from "./connection.js";
import { type Answer, process } from "./processor.js";
import type { Session } from "./sessions.js";
import type {
  AppliedVerdict,
  Exchange,
  HandshakeVerdict,
  OutVerdict,
  RequestVerdict,
  Stages,
} from "./stages.js";
import type { State } from "./state.js";
import type { Notice } from "./watches.js";

/** What the pipeline needs of its server. */
export interface PipelineHost {
  readonly state: State;
  /** Undefined while there are no faults, so that they cost nothing then. */
  readonly stages: Stages | undefined;
  connectionOf(sessionId: bigint): Connection | undefined;
  /** From now on, `connection` is the one that serves its session. */
  bind(connection: Connection, session: Session): void;
  /** The client has ended the session. */
  unbind(sessionId: bigint): void;
}

/**
 * Leads handshakes, requests and events through the stages. All of it runs in the event-loop turn in which the bytes
 * came.
 */
export class Pipeline {
  readonly #host: PipelineHost;

  constructor(host: PipelineHost) {
    this.#host = host;
  }

  handshake(connection: Connection, frame: Buffer): void {
    let request: ConnectRequest;
    try {
      request = decodeConnectRequest(frame);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      connection.close("drop");
      return;
    }
    this.#greet(connection, request, this.#host.stages?.handshake(connection, request));
  }

  #greet(connection: Connection, request: ConnectRequest, verdict: HandshakeVerdict): void {
    const { state } = this.#host;
    if (connection.closed) return;
    if (verdict?.kind === "hold") {
      connection.block(verdict.until, () => this.#greet(connection, request, verdict.next()));
      return;
    }
    // A client that has seen a later zxid than this server gets no answer: another member may know that zxid.
    if (verdict?.kind === "close" || request.lastZxidSeen > state.zxid) {
      connection.close("drop");
      return;
    }
    let session: Session | undefined;
    if (verdict?.kind !== "reject") {
      session = this.#sessionFor(connection, request, verdict?.kind === "move");
    }
    connection.send(greeting(session, request.readOnly !== undefined));
    if (session === undefined) connection.close("flush");
  }

  #sessionFor(connection: Connection, request: ConnectRequest, move: boolean): Session | undefined {
    const { state } = this.#host;
    if (request.sessionId === 0n) {
      const session = state.openSession(request.timeoutMs);
      this.#host.bind(connection, session);
      return session;
    }
    const earlier = this.#host.connectionOf(request.sessionId);
    if (earlier !== undefined) {
      // The password is checked only later, so any client that names a session ends the connection of the session's
      // owner.
      if (move) earlier.moved = true;
      else earlier.close("drop");
    }
    const nowMs = state.clock.nowMs();
    const session = state.sessions.reopen(request.sessionId, request.password, request.timeoutMs, nowMs);
    if (session !== undefined) this.#host.bind(connection, session);
    else if (move && earlier !== undefined) earlier.moved = false;
    return session;
  }

  frame(connection: Connection, frame: Buffer): void {
    const { xid, type } = decodeRequestHeader(frame);
    const op = opNameOf(type);
    const body = frame.subarray(requestHeaderBytes);
    connection.lastXid = xid;
    connection.lastOp = op ?? "NA";
    connection.losesWatch = false;
    const exchange = { connection, sessionId: connection.sessionId, xid, type, op, body };
    const { stages } = this.#host;
    if (stages === undefined) {
      this.#prepare(exchange);
      return;
    }
    this.#ask(exchange, stages.framed(exchange), () => this.#prepare(exchange));
  }

  #prepare(exchange: Exchange): void {
    const { connection } = exchange;
    const { state, stages } = this.#host;
    const session = state.sessions.get(connection.sessionId);
    if (connection.view?.cutOff !== true) {
      if (session === undefined) {
        connection.close("flush"); // it ended while this request waited
        return;
      }
      if (!connection.moved) state.sessions.touch(session, state.clock.nowMs());
    }
    if (stages === undefined) this.#apply(exchange);
    else this.#ask(exchange, stages.preparing(exchange), () => this.#apply(exchange));
  }

  #ask(exchange: Exchange, verdict: RequestVerdict, goOn: () => void): void {
    if (exchange.connection.closed) return;
    switch (verdict?.kind) {
      case undefined:
        goOn();
        break;
      case "hold":
        exchange.connection.block(verdict.until, () => this.#ask(exchange, verdict.next(), goOn));
        break;
      case "answer":
        this.#reply(exchange, verdict.answer);
        break;
      case "stop":
        break;
    }
  }

  #apply(exchange: Exchange): void {
    const { state, stages } = this.#host;
    const { connection } = exchange;
    const ends = exchange.op === "closeSession";
    if (connection.moved && exchange.op !== undefined && isWrite(exchange.op) && !ends) {
      // The member that the session has left notices this at the first write. It applies nothing and answers nothing.
      connection.close("drop");
      return;
    }
    const answer = process(state, connection, exchange.xid, exchange.type, exchange.body);
    if (ends) this.#end(connection);
    this.#finish(exchange, answer, stages?.applied(exchange, answer));
  }

  /**
   * A session ends when any of its connections asks for it. If it had moved, the connection that it moved to is closed
   * too.
   */
  #end({ sessionId, moved }: Connection): void {
    if (moved) this.#host.connectionOf(sessionId)?.close("flush");
    this.#host.unbind(sessionId);
  }

  #finish(exchange: Exchange, answer: Answer, verdict: AppliedVerdict): void {
    const { connection } = exchange;
    if (verdict === undefined) this.#reply(exchange, answer);
    else if (verdict.kind === "hold") {
      connection.block(verdict.until, () => this.#finish(exchange, answer, verdict.next()));
    } else if (answer.ending) connection.close("drop");
  }

  #reply(exchange: Exchange, answer: Answer): void {
    const { connection } = exchange;
    if (connection.closed) return;
    if (!answer.silent) this.#sendReply(exchange, answer);
    if (answer.ending && !connection.closed) connection.close("flush");
  }

  #sendReply(exchange: Exchange, answer: Answer): void {
    const { connection } = exchange;
    connection.lastZxid = answer.zxid;
    const greets = exchange.op === "createSession" && answer.err === 0;
    const frame = greets
      ? greeting(this.#host.state.sessions.get(connection.sessionId), true)
      : replyFrame(answer);
    send(connection, frame, this.#host.stages?.replying(exchange, answer, frame));
  }

  notice(connection: Connection, notice: Notice): void {
    send(connection, notice.frame, this.#host.stages?.notifying(connection, notice));
  }
}

function send(connection: Connection, frame: Buffer, verdict: OutVerdict): void {
  if (verdict === undefined) {
    connection.send(frame);
    return;
  }
  for (const gate of verdict.behind) connection.outbox.pushGate(gate);
  if (verdict.bytes !== undefined) connection.send(verdict.bytes);
  if (verdict.next === "close") connection.close("flush");
  if (verdict.next === "stall") connection.outbox.stall();
}

/**
 * The answer to a handshake; without a session it says that there is none. Clients before 3.4 neither send nor expect
 * the flag for read-only.
 */
function greeting(session: Session | undefined, withReadOnly: boolean): Buffer {
  return encodeFrame(
    encodeConnectResponse({
      protocolVersion: 0,
      timeoutMs: session?.timeoutMs ?? 0,
      sessionId: session?.id ?? 0n,
      password: session?.password ?? Buffer.alloc(passwordLength),
      ...(withReadOnly ? { readOnly: false } : {}),
    }),
  );
}

function replyFrame(answer: Answer): Buffer {
  const { xid, zxid, err, body } = answer;
  const length = replyHeaderBytes + (body === undefined ? 0 : body.length);
  const frame = Buffer.allocUnsafe(4 + length);
  frame.writeInt32BE(length, 0);
  frame.writeInt32BE(xid, 4);
  frame.writeBigInt64BE(zxid, 8);
  frame.writeInt32BE(err, 16);
  if (body !== undefined) frame.set(body, 20);
  return frame;
}
