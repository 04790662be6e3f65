import { connect } from "node:net";
import {
  type ConnectResponse,
  decodeConnectResponse,
  decodeReplyHeader,
  encodeConnectRequest,
  encodeFrame,
  encodeRequestHeader,
  FrameReader,
  formatSessionId,
  opCodes,
} from "@holdfast/zk-protocol";
import { TestServerError, UnknownSessionError } from "../errors.js";

/** Which session ends, and where. */
export interface ExpireSessionOptions {
  /** `host:port`, several separated by commas: the first that accepts the connection is used. */
  connectString: string;
  /** The id that the server gave. */
  sessionId: bigint;
  /** The 16 bytes that the server gave with the session. */
  password: Uint8Array;
  /** Limit in milliseconds; default 5,000. */
  withinMs?: number;
}

/**
 * Ends the session of another client at the server: takes it over on a connection of its own and closes it. Its
 * ephemeral nodes are gone when this resolves. The owner sees its connection closed, and learns at its next handshake
 * that the session is over, exactly as after an expiry. An "expiry" on the client's side would leave session and nodes
 * at the server.
 *
 * @throws UnknownSessionError when the server does not know the session (any more); TestServerError when it does not
 * answer within the limit.
 */
export async function expireSession(options: ExpireSessionOptions): Promise<void> {
  const withinMs = options.withinMs ?? 5_000;
  const endMs = performance.now() + withinMs;
  let cause: unknown;
  for (const server of options.connectString.split("/")[0]?.split(",") ?? []) {
    try {
      await closeUntilDone(server, options, endMs);
      return;
    } catch (error) {
      cause = error;
      if (!(error instanceof NotReached)) break;
    }
  }
  const reason = cause instanceof Error ? cause.message : "there is no server in it";
  const Failed = cause instanceof UnknownSessionError ? UnknownSessionError : TestServerError;
  throw new Failed(
    `session ${formatSessionId(options.sessionId)} was not ended through ${options.connectString}: ${reason}`,
    { cause },
  );
}

/** The session was not touched, so another server may be tried. */
class NotReached extends Error {}

/**
 * Closed without an answer: the owner took the session back before the server handled our close request or our
 * handshake.
 */
class TakenBack extends Error {}

async function closeUntilDone(server: string, options: ExpireSessionOptions, endMs: number): Promise<void> {
  for (let takenBack = false; ; ) {
    try {
      return await hijackAndClose(server, options, Math.max(1, endMs - performance.now()));
    } catch (error) {
      // The earlier close request was executed after all, and only its answer was lost.
      if (error instanceof UnknownSessionError && takenBack) return;
      if (!(error instanceof TakenBack) || performance.now() >= endMs) throw error;
      takenBack = true;
    }
  }
}

function hijackAndClose(server: string, options: ExpireSessionOptions, withinMs: number): Promise<void> {
  const { sessionId, password } = options;
  const colon = server.lastIndexOf(":");
  const host = server.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
  const socket = connect({ host, port: Number(server.slice(colon + 1)) });
  const frames = new FrameReader();
  let connected = false;
  let handshake: ConnectResponse | undefined;
  let closed = false;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      fail(
        connected
          ? new Error(`no answer from ${server} within ${withinMs} ms`)
          : new NotReached(`${server} is silent`),
      );
    }, withinMs);
    function fail(error: unknown): void {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    }
    socket.once("connect", () => {
      connected = true;
      // Both in one write: if the handshake fails, the server ignores the rest.
      const hello = encodeConnectRequest({
        protocolVersion: 0,
        lastZxidSeen: 0n,
        timeoutMs: 10_000,
        sessionId,
        password,
        readOnly: false,
      });
      const goodbye = encodeRequestHeader({ xid: 1, type: opCodes.closeSession });
      socket.write(Buffer.concat([encodeFrame(hello), encodeFrame(goodbye)]));
    });
    socket.on("data", (chunk) => {
      try {
        frames.push(chunk);
        for (let frame = frames.next(); frame !== null; frame = frames.next()) {
          if (handshake === undefined) {
            handshake = decodeConnectResponse(frame);
            if (handshake.timeoutMs <= 0)
              throw new UnknownSessionError("the server does not know it, or not with this password");
          } else {
            const { xid, err } = decodeReplyHeader(frame);
            if (xid === 1 && err !== 0) throw new Error(`closeSession was answered with error ${err}`);
            closed ||= xid === 1;
          }
        }
      } catch (error) {
        fail(error);
      }
    });
    socket.on("error", (error) => fail(connected ? error : new NotReached(error.message)));
    socket.on("close", () => {
      clearTimeout(timer);
      const why = `${server} ended the connection without an answer`;
      if (closed) resolve();
      else reject(new TakenBack(why));
    });
  });
}
