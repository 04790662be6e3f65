import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeConnectRequest,
  decodeConnectResponse,
  decodeReplyHeader,
  decodeRequest,
  decodeRequestHeader,
  decodeResponse,
  decodeWatcherEvent,
  encodeConnectRequest,
  encodeConnectResponse,
  encodeReplyHeader,
  encodeRequest,
  encodeRequestHeader,
  encodeResponse,
  encodeWatcherEvent,
  type OpName,
  opCodes,
} from "../src/index.js";
import * as arbitraries from "./arbitraries.js";

const operations = Object.keys(opCodes) as OpName[];

function roundTrip<T>(
  values: fc.Arbitrary<T>,
  encode: (value: T) => Buffer,
  decode: (bytes: Buffer) => T,
): void {
  fc.assert(
    fc.property(values, (value) => {
      expect(decode(encode(value))).toEqual(value);
    }),
    { numRuns: 200 },
  );
}

describe("what was encoded decodes to the same", () => {
  test.each(operations)("%s, request", <K extends OpName>(op: K) => {
    roundTrip(
      arbitraries.requests[op],
      (request) => encodeRequest(op, request),
      (body) => decodeRequest(op, body),
    );
  });

  test.each(operations)("%s, response", <K extends OpName>(op: K) => {
    roundTrip(
      arbitraries.responses[op],
      (response) => encodeResponse(op, response),
      (body) => decodeResponse(op, body),
    );
  });

  test("request headers", () =>
    roundTrip(arbitraries.requestHeader, encodeRequestHeader, decodeRequestHeader));
  test("reply headers", () => roundTrip(arbitraries.replyHeader, encodeReplyHeader, decodeReplyHeader));
  test("connect requests", () =>
    roundTrip(arbitraries.connectRequest, encodeConnectRequest, decodeConnectRequest));
  test("connect responses", () =>
    roundTrip(arbitraries.connectResponse, encodeConnectResponse, decodeConnectResponse));
  test("watch events", () => roundTrip(arbitraries.watcherEvent, encodeWatcherEvent, decodeWatcherEvent));
});

describe("the edges of a record", () => {
  test("null and empty data are different values", () => {
    const request = { path: "/a", version: 0 };
    const empty = decodeRequest("setData", encodeRequest("setData", { ...request, data: new Uint8Array(0) }));
    expect(empty.data).toEqual(new Uint8Array(0));
    const none = decodeRequest("setData", encodeRequest("setData", { ...request, data: null }));
    expect(none.data).toBeNull();
  });

  test("a byte order mark in a name survives", () => {
    const path = "/\uFEFFname\uFEFF";
    expect(decodeResponse("sync", encodeResponse("sync", { path }))).toEqual({ path });
  });

  test("text that is not UTF-8 is read with replacement characters, as servers read it", () => {
    const body = Buffer.from("000000022fff", "hex");
    expect(decodeRequest("sync", body)).toEqual({ path: "/\uFFFD" });
  });

  test("bytes after a record are ignored", () => {
    const request = { path: "/a", version: 3 };
    const body = Buffer.concat([encodeRequest("delete", request), Buffer.from([1, 2, 3, 4])]);
    expect(decodeRequest("delete", body)).toEqual(request);
  });

  test("decoded data does not change when the frame it came from is overwritten", () => {
    const body = encodeRequest("setData", { path: "/a", data: Uint8Array.of(1, 2, 3), version: 0 });
    const { data } = decodeRequest("setData", body);
    body.fill(0xff);
    expect(data).toEqual(Uint8Array.of(1, 2, 3));
  });

  test("a plain Uint8Array is decoded in place, at its own offset", () => {
    const body = encodeRequest("delete", { path: "/a", version: 7 });
    const shifted = new Uint8Array(body.length + 5);
    shifted.set(body, 5);
    expect(decodeRequest("delete", shifted.subarray(5))).toEqual({ path: "/a", version: 7 });
  });

  test("records larger than any first guess are written whole", () => {
    const children = Array.from({ length: 30_000 }, (_, i) => `lock-${String(i).padStart(10, "0")}`);
    const body = encodeResponse("getChildren", { children });
    expect(body.length).toBe(4 + 30_000 * 19);
    expect(decodeResponse("getChildren", body).children).toEqual(children);
  });

  test("a single field larger than all before it is written whole", () => {
    const data = new Uint8Array(100_000).fill(7);
    const body = encodeRequest("setData", { path: "/a", data, version: 1 });
    expect(decodeRequest("setData", body)).toEqual({ path: "/a", data, version: 1 });
  });

  test.each([Number.NaN, 0.5, 0x8000_0000, -0x8000_0001, Number.POSITIVE_INFINITY])(
    "version %d does not fit its field and is refused, not bent",
    (version) => {
      expect(() => encodeRequest("delete", { path: "/a", version })).toThrow(RangeError);
    },
  );

  test("a 64-bit value that does not fit its field is refused", () => {
    const request = { path: "/a", data: null, acl: null, flags: 5 };
    expect(() => encodeRequest("createTTL", { ...request, ttlMs: 1n << 63n })).toThrow(RangeError);
  });
});

test.each([
  0n,
  1n,
  -1n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
])("the number %s is read to the last digit", (zxid) => {
  expect(decodeReplyHeader(encodeReplyHeader({ xid: 1, zxid, err: 0 })).zxid).toBe(zxid);
});
