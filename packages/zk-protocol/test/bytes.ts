import { expect } from "vitest";
import {
  decodeReplyHeader,
  decodeRequest,
  decodeRequestHeader,
  decodeResponse,
  encodeFrame,
  encodeReplyHeader,
  encodeRequest,
  encodeRequestHeader,
  encodeResponse,
  FrameReader,
  type OpName,
  opCodes,
  opNameOf,
  type ReplyHeader,
  type RequestOf,
  type ResponseOf,
  replyHeaderBytes,
  requestHeaderBytes,
} from "../src/index.js";

/** The bytes of a hex text; blanks are skipped, and `00*16` repeats a byte. */
export function bytes(hex: string): Buffer {
  const plain = hex
    .replace(/([0-9a-f]{2})\*(\d+)/g, (_, byte: string, times: string) => byte.repeat(Number(times)))
    .replace(/\s+/g, "");
  if (!/^([0-9a-f]{2})*$/.test(plain)) {
    throw new Error(`not hex: ${hex}`);
  }
  return Buffer.from(plain, "hex");
}

export function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

/** The only frame in `stream`, without its length. */
export function onlyFrame(stream: Buffer): Buffer {
  const reader = new FrameReader();
  reader.push(stream);
  const frame = reader.next();
  if (frame === null) {
    throw new Error(`incomplete frame: ${stream.toString("hex")}`);
  }
  expect(reader.pendingBytes).toBe(0);
  return frame;
}

/** Checks both directions: the request encodes to exactly these bytes, and they decode to the request. */
export function expectRequest<K extends OpName>(
  xid: number,
  op: K,
  request: RequestOf<K>,
  hex: string,
): void {
  const header = { xid, type: opCodes[op] };
  const stream = encodeFrame(encodeRequestHeader(header), encodeRequest(op, request));
  expect(stream.toString("hex")).toBe(bytes(hex).toString("hex"));
  const frame = onlyFrame(bytes(hex));
  expect(decodeRequestHeader(frame)).toEqual(header);
  expect(opNameOf(header.type)).toBe(op);
  expect(decodeRequest(op, frame.subarray(requestHeaderBytes))).toEqual(request);
}

/** Checks both directions for a reply with a body. */
export function expectReply<K extends OpName>(
  header: Omit<ReplyHeader, "err">,
  op: K,
  response: ResponseOf<K>,
  hex: string,
): void {
  const full = { ...header, err: 0 };
  const stream = encodeFrame(encodeReplyHeader(full), encodeResponse(op, response));
  expect(stream.toString("hex")).toBe(bytes(hex).toString("hex"));
  const frame = onlyFrame(bytes(hex));
  expect(decodeReplyHeader(frame)).toEqual(full);
  expect(decodeResponse(op, frame.subarray(replyHeaderBytes))).toEqual(response);
}

/** Checks both directions for a reply that is only a header. */
export function expectBareReply(header: ReplyHeader, hex: string): void {
  expect(encodeFrame(encodeReplyHeader(header)).toString("hex")).toBe(bytes(hex).toString("hex"));
  const frame = onlyFrame(bytes(hex));
  expect(frame.length).toBe(replyHeaderBytes);
  expect(decodeReplyHeader(frame)).toEqual(header);
}
