import { Reader, Writer } from "./jute.js";
import { defaultMaxFrameBytes } from "./limits.js";
import { type OpName, opCodes, type RequestOf, writeRequest } from "./operations.js";
import { ProtocolError } from "./protocol-error.js";

/**
 * The xids that clients reserve for these purposes. A server answers a ping with the xid of pings, whatever xid it was
 * sent with. It answers every other request with the xid of that request.
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
   * The last zxid that the server had applied when it answered. It is 0 for auth, and -1 for events (up to 3.8) and
   * unknown operations. Take the "last zxid seen" from replies with a value over 0 only.
   */
  readonly zxid: bigint;
  /** One of `errorCodes`. A body follows only if the code is 0. */
  readonly err: number;
}

/** The offset of the body in a request frame. */
export const requestHeaderBytes = 8;

/** The offset of the body in a reply frame. */
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

/** A frame of the given parts in order. In front of them is their total length, in four bytes. */
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

/** Collects the frames of requests that leave together. */
export class RequestFrames {
  #writer: Writer | null = null;

  /**
   * Adds a frame, and returns how many bytes it has without its length. If it throws, as `encodeRequest` does, nothing is
   * added.
   */
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

  /** Removes the last frame. `bytes` is the number that `add` returned for it. */
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
 * Cuts a stream of bytes into frames, in whatever chunks the bytes come.
 *
 * A frame that lies in one chunk is a view of that chunk. Any other frame is a view of a buffer of the reader's own. That
 * buffer is only ever appended to and replaced, never moved or reused, so a frame keeps its content. A chunk belongs to
 * the reader once it was pushed, and must not be written to again.
 *
 * Memory grows with the bytes that arrived, not with the length that a peer announces.
 */
export class FrameReader {
  readonly #maxFrameBytes: number;
  #buffer: Buffer = nothing;
  /** The unread bytes are between `#start` and `#end`. */
  #start = 0;
  #end = 0;
  #error: ProtocolError | null = null;

  /**
   * `maxFrameBytes` does not count the four length bytes; default `defaultMaxFrameBytes`. Throws `RangeError` unless it
   * is a whole number: compared with NaN, no frame would be too long.
   */
  constructor(options: { readonly maxFrameBytes?: number } = {}) {
    const { maxFrameBytes = defaultMaxFrameBytes } = options;
    if (!Number.isInteger(maxFrameBytes) || maxFrameBytes < 0) {
      throw new RangeError(`maxFrameBytes must be a whole number of bytes, not ${maxFrameBytes}`);
    }
    this.#maxFrameBytes = maxFrameBytes;
  }

  /** The number of received bytes that `next` has not returned yet. */
  get pendingBytes(): number {
    return this.#end - this.#start;
  }

  /** Takes the bytes that the socket received. Never throws. */
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
    // A chunk of the socket is never written to: it fills its buffer, so any further bytes need a larger one.
    if (this.#end + chunk.length > this.#buffer.length) {
      // With doubling, the copies of all pushes together stay linear in the bytes received.
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
   * The next frame without its length, or `null` until more bytes come. Throws `ProtocolError` when the length is
   * negative or over the limit. No frame can be found after that, so every later call throws the same error.
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
      // Releases the memory as soon as the caller is done with the frame.
      this.#buffer = nothing;
      this.#start = 0;
      this.#end = 0;
    }
    return frame;
  }
}
