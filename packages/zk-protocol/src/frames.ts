import { Reader, Writer } from "./jute.js";
import { defaultMaxFrameBytes } from "./limits.js";
import { type OpName, opCodes, type RequestOf, writeRequest } from "./operations.js";
import { ProtocolError } from "./protocol-error.js";

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

const lengthBytes = 4;
const leastBufferBytes = 16_384;
const nothing = Buffer.alloc(0);

/** A frame of the given parts in order: their total length in four bytes, then they. */
export function encodeFrame(...parts: readonly Uint8Array[]): Buffer {
  let length = 0;
  for (const part of parts) {
    length += part.length;
  }
  const frame = Buffer.allocUnsafe(lengthBytes + length);
  frame.writeInt32BE(length, 0);
  let at = lengthBytes;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  return frame;
}

/** The frames of requests that leave together. */
export class RequestFrames {
  #writer: Writer | null = null;

  /** How many bytes the frame has, without its length. Where it throws, as `encodeRequest` does, nothing is added. */
  add<K extends OpName>(xid: number, op: K, request: RequestOf<K>): number {
    const writer = this.#writer ?? new Writer();
    const start = writer.length;
    try {
      writer.int(0);
      writer.int(xid);
      writer.int(opCodes[op]);
      writeRequest(writer, op, request);
    } catch (error) {
      writer.truncate(start);
      throw error;
    }
    this.#writer = writer;
    const bytes = writer.length - start - lengthBytes;
    writer.replaceInt(bytes, start);
    return bytes;
  }

  /** Takes the last frame back, which `add` has found to have so many bytes. */
  removeLast(bytes: number): void {
    this.#writer?.truncate(this.#writer.length - bytes - lengthBytes);
  }

  /** All frames since the last call; `null` when there is none. */
  take(): Buffer | null {
    const writer = this.#writer;
    this.#writer = null;
    return writer === null || writer.length === 0 ? null : writer.finish();
  }
}

/**
 * Cuts a stream of bytes into frames, in any chunks they come.
 *
 * Frames are views: of the chunk where a frame lies in one chunk, otherwise of a buffer of the
 * reader's own. That buffer is only ever appended to and replaced, never moved or reused, so a frame
 * stays what it was. A chunk belongs to the reader once pushed and must not be written to again.
 *
 * Memory grows with the bytes that arrived, not with the length a peer announces.
 */
export class FrameReader {
  readonly #maxFrameBytes: number;
  #buffer: Buffer = nothing;
  /** What is unread lies between these two. */
  #start = 0;
  #end = 0;
  #error: ProtocolError | null = null;

  /**
   * `maxFrameBytes` counts without the four length bytes; default `defaultMaxFrameBytes`. Throws
   * `RangeError` unless it is a whole number: against NaN no frame would be too long.
   */
  constructor(options: { readonly maxFrameBytes?: number } = {}) {
    const { maxFrameBytes = defaultMaxFrameBytes } = options;
    if (!Number.isInteger(maxFrameBytes) || maxFrameBytes < 0) {
      throw new RangeError(`maxFrameBytes must be a whole number of bytes, not ${maxFrameBytes}`);
    }
    this.#maxFrameBytes = maxFrameBytes;
  }

  /** Bytes received that `next` has not returned yet. */
  get pendingBytes(): number {
    return this.#end - this.#start;
  }

  /** Takes what the socket received. Never throws. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0 || this.#error !== null) {
      return;
    }
    const pending = this.pendingBytes;
    if (pending === 0) {
      this.#buffer = Buffer.isBuffer(chunk)
        ? chunk
        : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      this.#start = 0;
      this.#end = chunk.length;
      return;
    }
    // A chunk, which is the socket's, is never written to: it is full, so whatever follows needs more.
    if (this.#end + chunk.length > this.#buffer.length) {
      // Doubling makes the copies of all pushes together linear in the bytes received.
      const larger = Buffer.allocUnsafeSlow(Math.max(leastBufferBytes, 2 * (pending + chunk.length)));
      this.#buffer.copy(larger, 0, this.#start, this.#end);
      this.#buffer = larger;
      this.#start = 0;
      this.#end = pending;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /**
   * The next frame without its length, or null until more bytes come. Throws `ProtocolError` when the
   * length is negative or over the limit; since no frame can be found after that, so does every
   * later call.
   */
  next(): Buffer | null {
    if (this.#error !== null) {
      throw this.#error;
    }
    const pending = this.pendingBytes;
    if (pending < lengthBytes) {
      return null;
    }
    const length = this.#buffer.readInt32BE(this.#start);
    if (length < 0 || length > this.#maxFrameBytes) {
      this.#error = new ProtocolError(`frame: length ${length} is outside 0 to ${this.#maxFrameBytes}`);
      this.#buffer = nothing;
      this.#start = 0;
      this.#end = 0;
      throw this.#error;
    }
    if (pending < lengthBytes + length) {
      return null;
    }
    const from = this.#start + lengthBytes;
    this.#start = from + length;
    const frame = this.#buffer.subarray(from, this.#start);
    if (this.#start === this.#end) {
      // Lets go of the memory as soon as the caller is done with the frame.
      this.#buffer = nothing;
      this.#start = 0;
      this.#end = 0;
    }
    return frame;
  }
}
