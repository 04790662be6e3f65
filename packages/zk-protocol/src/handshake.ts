import { Reader, Writer } from "./jute.js";

/** The first frame of a connection, without a request header. */
export interface ConnectRequest {
  /** 0. Servers accept other values too, and answer 0. */
  readonly protocolVersion: number;
  /**
   * A server that has not reached this zxid closes the connection without sending a byte. Take the value from replies,
   * never from events.
   */
  readonly lastZxidSeen: bigint;
  /** The time-out that is asked for. The server keeps it within 2 to 20 of its ticks unless it is configured otherwise. */
  readonly timeoutMs: number;
  /** 0n asks for a new session. */
  readonly sessionId: bigint;
  readonly password: Uint8Array | null;
  /** Whether a read-only server is good enough. Clients before 3.4 leave it out; the response then has no such field either. */
  readonly readOnly?: boolean;
}

/**
 * The first frame of the answer. A `timeoutMs` of 0 means that the session is over (or its password is wrong); the server
 * then closes the connection.
 */
export interface ConnectResponse {
  readonly protocolVersion: number;
  /** The time-out as granted. */
  readonly timeoutMs: number;
  readonly sessionId: bigint;
  readonly password: Uint8Array;
  /** `true` on a read-only server. Missing if it was missing in the request. */
  readonly readOnly?: boolean;
}

/** Encodes the request in 45 bytes with a 16-byte password, 44 if `readOnly` is missing. */
export function encodeConnectRequest(request: ConnectRequest): Buffer {
  const writer = new Writer();
  writer.int(request.protocolVersion);
  writer.long(request.lastZxidSeen);
  writer.int(request.timeoutMs);
  writer.long(request.sessionId);
  writer.bytes(request.password);
  if (request.readOnly !== undefined) {
    writer.bool(request.readOnly);
  }
  return writer.finish();
}

export function decodeConnectRequest(frame: Uint8Array): ConnectRequest {
  const reader = new Reader(frame);
  const request = {
    protocolVersion: reader.int("protocolVersion"),
    lastZxidSeen: reader.long("lastZxidSeen"),
    timeoutMs: reader.int("timeout"),
    sessionId: reader.long("sessionId"),
    password: reader.bytesOrNull("password"),
  };
  return reader.remaining === 0 ? request : { ...request, readOnly: reader.bool("readOnly") };
}

/** Encodes the response in 37 bytes with a 16-byte password, 36 if `readOnly` is missing. */
export function encodeConnectResponse(response: ConnectResponse): Buffer {
  const writer = new Writer();
  writer.int(response.protocolVersion);
  writer.int(response.timeoutMs);
  writer.long(response.sessionId);
  writer.bytes(response.password);
  if (response.readOnly !== undefined) {
    writer.bool(response.readOnly);
  }
  return writer.finish();
}

export function decodeConnectResponse(frame: Uint8Array): ConnectResponse {
  const reader = new Reader(frame);
  const response = {
    protocolVersion: reader.int("protocolVersion"),
    timeoutMs: reader.int("timeout"),
    sessionId: reader.long("sessionId"),
    password: reader.bytes("password"),
  };
  return reader.remaining === 0 ? response : { ...response, readOnly: reader.bool("readOnly") };
}
