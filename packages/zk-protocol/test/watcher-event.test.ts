import { describe, expect, test } from "vitest";
import {
  decodeReplyHeader,
  decodeWatcherEvent,
  encodeFrame,
  encodeReplyHeader,
  encodeWatcherEvent,
  ProtocolError,
  replyHeaderBytes,
  syncConnectedState,
  type WatchEventType,
  xids,
} from "../src/index.js";
import { bytes, onlyFrame } from "./bytes.js";

// Bytes captured from a ZooKeeper 3.8.0 server.
const captured: readonly (readonly [WatchEventType, string, string])[] = [
  ["created", "/v/a", "00000020 ffffffff ffffffffffffffff 00000000 00000001 00000003 00000004 2f762f61"],
  ["deleted", "/v/a", "00000020 ffffffff ffffffffffffffff 00000000 00000002 00000003 00000004 2f762f61"],
  ["data-changed", "/v/a", "00000020 ffffffff ffffffffffffffff 00000000 00000003 00000003 00000004 2f762f61"],
  ["children-changed", "/w", "0000001e ffffffff ffffffffffffffff 00000000 00000004 00000003 00000002 2f77"],
];

describe("watch events", () => {
  test.each(captured)("%s is read and written as a server sends it", (type, path, hex) => {
    const header = { xid: xids.event, zxid: -1n, err: 0 };
    const event = { type, state: syncConnectedState, path };
    const stream = encodeFrame(encodeReplyHeader(header), encodeWatcherEvent(event));
    expect(stream.toString("hex")).toBe(bytes(hex).toString("hex"));
    const frame = onlyFrame(bytes(hex));
    expect(decodeReplyHeader(frame)).toEqual(header);
    expect(decodeWatcherEvent(frame.subarray(replyHeaderBytes))).toEqual(event);
  });

  test.each([-1, 0, 5, 6, 7])("type %i, which no server sends, is malformed rather than skipped", (type) => {
    const body = bytes("00000000 00000003 00000002 2f77");
    body.writeInt32BE(type, 0);
    expect(() => decodeWatcherEvent(body)).toThrow(ProtocolError);
  });
});
