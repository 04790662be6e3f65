import { Reader, Writer } from "./jute.js";

/** The first frame of a connection, without a request header. */
export interface ConnectRequest {
  /** 0. Servers accept others and answer 0. */
  readonly protocolVersion: number;
  /**
   * A server that is behind this closes the connection without a byte. Take it from replies, never
   * from events.
   */
  readonly lastZxidSeen: bigint;
  /** Wished for; the server keeps it within 2 to 20 of its ticks unless configured otherwise. */
  readonly timeoutMs: number;
  /** 0n asks for a new session. */
  readonly sessionId: bigint;
  readonly password: Uint8Array | null;
  /** Whether a read-only server will do. Clients before 3.4 leave it out; the response then has none either. */
  readonly readOnly?: boolean;
}

/** The first frame back. `timeoutMs` 0 says that the session is over (or its password wrong); then the server closes. */
export interface ConnectResponse {
  readonly protocolVersion: number;
  /** The time-out as granted. */
  readonly timeoutMs: number;
  readonly sessionId: bigint;
  readonly password: Uint8Array;
  /** True on a read-only server. Missing if it was missing in the request. */
  readonly readOnly?: boolean;
}

/** 45 bytes with a 16-byte password, 44 if `readOnly` is missing. */
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

/** 37 bytes with a 16-byte password, 36 if `readOnly` is missing. */
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
