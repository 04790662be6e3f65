import { Reader } from "./reader.js";
import { Writer } from "./writer.js";

/**
 * xids that clients keep for these purposes. A server answers a ping with the one of pings whatever
 * it was sent with, and everything else with the xid it came with.
 */
export const xids = { event: -1, ping: -2, auth: -4, setWatches: -8 } as const;

export interface RequestHeader {
  readonly xid: number;
  /** One of `opCodes`. */
  readonly type: number;
}

export interface ReplyHeader {
  readonly xid: number;
  /**
   * Last zxid the answering server had applied when it answered; 0 for auth and -1 for events (up to 3.8)
   * and unknown operations. Take the "last zxid seen" from replies with a value over 0 only.
   */
  readonly zxid: bigint;
  /** One of `errorCodes`. A body follows only if it is 0. */
  readonly err: number;
}

/** Where the body of a request frame starts. */
export const requestHeaderBytes = 8;

/** Where the body of a reply frame starts. */
export const replyHeaderBytes = 16;

export function encodeRequestHeader(header: RequestHeader): Buffer {
  const writer = new Writer();
  writer.int(header.xid);
  writer.int(header.type);
  return writer.finish();
}

/** Reads the start of a frame; the body is at `requestHeaderBytes`. */
export function decodeRequestHeader(frame: Uint8Array): RequestHeader {
  const reader = new Reader(frame);
  return { xid: reader.int("xid"), type: reader.int("type") };
}

export function encodeReplyHeader(header: ReplyHeader): Buffer {
  const writer = new Writer();
  writer.int(header.xid);
  writer.long(header.zxid);
  writer.int(header.err);
  return writer.finish();
}

/** Reads the start of a frame; the body is at `replyHeaderBytes`. */
export function decodeReplyHeader(frame: Uint8Array): ReplyHeader {
  const reader = new Reader(frame);
  return { xid: reader.int("xid"), zxid: reader.long("zxid"), err: reader.int("err") };
}
