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
  encodeFrame,
  encodeReplyHeader,
  encodeRequest,
  encodeRequestHeader,
  encodeResponse,
  encodeWatcherEvent,
  FrameReader,
  ListedChildren,
  type OpName,
  opCodes,
  ProtocolError,
  type RequestOf,
  type ResponseOf,
} from "../src/index.js";
import * as arbitraries from "./arbitraries.js";

const operations = Object.keys(opCodes) as OpName[];

/** Runs `decode`. A `ProtocolError` counts as an answer; any other error fails the test. */
function decodedOrRefused<T>(decode: () => T): { readonly value: T } | "refused" {
  try {
    return { value: decode() };
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError);
    return "refused";
  }
}

/** Typical damage: a changed byte, a length replaced by an extreme one, a missing end, inserted bytes. */
const damage = fc.record({
  kind: fc.constantFrom("byte", "int", "cut", "insert"),
  at: fc.nat(),
  byte: fc.nat(255),
  int: fc.constantFrom(-0x8000_0000, -2, -1, 0, 1, 0x7fff_ffff, 0x7fff_fff0, 0x00ff_ffff),
});

function damaged(
  bytes: Buffer,
  { kind, at, byte, int }: typeof damage extends fc.Arbitrary<infer D> ? D : never,
): Buffer {
  const position = bytes.length === 0 ? 0 : at % bytes.length;
  if (kind === "cut") {
    return bytes.subarray(0, position);
  }
  if (kind === "insert") {
    return Buffer.concat([bytes.subarray(0, position), Buffer.of(byte), bytes.subarray(position)]);
  }
  const copy = Buffer.from(bytes);
  if (kind === "byte" && copy.length > 0) {
    copy[position] = byte;
  }
  if (kind === "int" && copy.length >= 4) {
    copy.writeInt32BE(int, at % (copy.length - 3));
  }
  return copy;
}

interface Codec<T> {
  readonly name: string;
  encode(record: T): Buffer;
  decode(bytes: Uint8Array): T;
  readonly records: fc.Arbitrary<T>;
}

function request<K extends OpName>(op: K): Codec<RequestOf<K>> {
  return {
    name: `${op} request`,
    encode: (record) => encodeRequest(op, record),
    decode: (bytes) => decodeRequest(op, bytes),
    records: arbitraries.requests[op],
  };
}

function response<K extends OpName>(op: K): Codec<ResponseOf<K>> {
  return {
    name: `${op} response`,
    encode: (record) => encodeResponse(op, record),
    decode: (bytes) => decodeResponse(op, bytes),
    records: arbitraries.responses[op],
  };
}

/** Reads the names and the `Stat` too: `ListedChildren` accepts or refuses the bytes first, and decodes these later. */
function decodeListing(bytes: Uint8Array): ResponseOf<"getChildren2"> {
  const { children, stat } = new ListedChildren(Buffer.from(bytes), 0);
  return { children, stat };
}

const others = [
  {
    name: "listed children",
    encode: (record: ResponseOf<"getChildren2">) => encodeResponse("getChildren2", record),
    decode: decodeListing,
    records: arbitraries.responses.getChildren2,
  },
  {
    name: "request header",
    encode: encodeRequestHeader,
    decode: decodeRequestHeader,
    records: arbitraries.requestHeader,
  },
  {
    name: "reply header",
    encode: encodeReplyHeader,
    decode: decodeReplyHeader,
    records: arbitraries.replyHeader,
  },
  {
    name: "connect request",
    encode: encodeConnectRequest,
    decode: decodeConnectRequest,
    records: arbitraries.connectRequest,
  },
  {
    name: "connect response",
    encode: encodeConnectResponse,
    decode: decodeConnectResponse,
    records: arbitraries.connectResponse,
  },
  {
    name: "watch event",
    encode: encodeWatcherEvent,
    decode: decodeWatcherEvent,
    records: arbitraries.watcherEvent,
  },
];

// The tests below take a record out of one codec and put it into the same, so its type need not be known.
const codecs = [
  ...operations.map((op) => request(op)),
  ...operations.map((op) => response(op)),
  ...others,
] as unknown as readonly Codec<unknown>[];

/** The codec must refuse the bytes, or decode a value that stays the same when encoded and decoded again. */
function expectSense({ decode, encode }: Codec<unknown>, bytes: Uint8Array): void {
  const outcome = decodedOrRefused(() => decode(bytes));
  if (outcome !== "refused") {
    expect(decode(encode(outcome.value))).toEqual(outcome.value);
  }
}

describe("malformed bytes are refused with a ProtocolError and nothing else", () => {
  test.each(codecs)("arbitrary bytes as $name", (codec) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => expectSense(codec, bytes)),
      { numRuns: 300 },
    );
  });

  test.each(codecs)("damaged $name", (codec) => {
    fc.assert(
      fc.property(codec.records, fc.array(damage, { minLength: 1, maxLength: 3 }), (record, damages) => {
        expectSense(codec, damages.reduce(damaged, codec.encode(record)));
      }),
      { numRuns: 300 },
    );
  });

  // The body of deleteContainer is a bare path, and any part of a path is a path too.
  test.each(codecs.filter(({ name }) => !name.startsWith("deleteContainer")))(
    "every shorter form of $name",
    (codec) => {
      fc.assert(
        fc.property(codec.records, (record) => {
          const bytes = codec.encode(record);
          for (let length = 0; length < bytes.length; length++) {
            const outcome = decodedOrRefused(() => codec.decode(bytes.subarray(0, length)));
            if (outcome !== "refused") {
              // Only the read-only byte at the end of a handshake may be missing.
              expect(record).toHaveProperty("readOnly");
              expect(outcome.value).not.toHaveProperty("readOnly");
              expect(length).toBe(bytes.length - 1);
            }
          }
          expect(codec.decode(bytes)).toEqual(record);
        }),
        { numRuns: 30 },
      );
    },
  );
});

test("children whose names are decoded late are refused, or read, as those that are decoded at once", () => {
  const encode = (record: ResponseOf<"getChildren2">): Buffer => encodeResponse("getChildren2", record);
  const damages = fc.array(damage, { maxLength: 3 });
  fc.assert(
    fc.property(arbitraries.responses.getChildren2, damages, (record, done) => {
      const bytes = done.reduce(damaged, encode(record));
      expect(decodedOrRefused(() => decodeListing(bytes))).toEqual(
        decodedOrRefused(() => decodeResponse("getChildren2", bytes)),
      );
    }),
    { numRuns: 1_000 },
  );
});

describe("a lying length", () => {
  const huge = "7fffffff";

  test.each([
    ["data", () => decodeResponse("getData", Buffer.from(`${huge}0000`, "hex")), "data: truncated"],
    ["a path", () => decodeRequest("sync", Buffer.from(`${huge}2f61`, "hex")), "path: truncated"],
    [
      "a list of children",
      () => decodeResponse("getChildren", Buffer.from(`${huge}00000000`, "hex")),
      "children: truncated",
    ],
    [
      "children that are decoded late",
      () => new ListedChildren(Buffer.from(`${huge}00000000`, "hex"), 0),
      "children: truncated",
    ],
    [
      "an ACL",
      () => decodeResponse("getACL", Buffer.from(`${huge}00000001`, "hex")),
      "acl.scheme: truncated",
    ],
    [
      "a password",
      () => decodeConnectResponse(Buffer.from(`${"00".repeat(16)}${huge}00`, "hex")),
      "password: truncated",
    ],
  ])("of %s is refused before anything is allocated by it", (_, decode, message) => {
    const before = process.memoryUsage();
    expect(decode).toThrow(message);
    const after = process.memoryUsage();
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(8_000_000);
    expect(after.heapUsed - before.heapUsed).toBeLessThan(32_000_000);
  });

  test.each([-2, -0x8000_0000])("of %i is refused", (length) => {
    const body = Buffer.alloc(8);
    body.writeInt32BE(length, 0);
    expect(() => decodeRequest("sync", body)).toThrow("negative length");
    expect(() => decodeResponse("getData", body)).toThrow("negative length");
    expect(() => decodeResponse("getChildren", body)).toThrow("negative length");
    expect(() => decodeResponse("getACL", body)).toThrow("negative length");
  });

  test("null is refused where a value is required", () => {
    const none = Buffer.from("ffffffff", "hex");
    expect(() => decodeRequest("getData", none)).toThrow("path: null");
    expect(() => decodeResponse("getChildren", none)).toThrow("children: null");
    expect(() => decodeResponse("whoAmI", none)).toThrow("clientInfo: null");
  });
});

describe("FrameReader on hostile streams", () => {
  test("arbitrary chunks give frames or a ProtocolError, and no byte twice", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 }),
        fc.nat(64),
        (chunks, maxFrameBytes) => {
          const reader = new FrameReader({ maxFrameBytes });
          decodedOrRefused(() => {
            let received = 0;
            let returned = 0;
            for (const chunk of chunks) {
              reader.push(chunk);
              received += chunk.length;
              for (let frame = reader.next(); frame !== null; frame = reader.next()) {
                returned += 4 + frame.length;
              }
              expect(returned + reader.pendingBytes).toBe(received);
            }
          });
        },
      ),
      { numRuns: 1000 },
    );
  });

  test("damaged streams of frames give frames or a ProtocolError", () => {
    const stream = fc
      .array(fc.uint8Array({ maxLength: 30 }), { minLength: 1, maxLength: 6 })
      .map((bodies) => Buffer.concat(bodies.map((body) => encodeFrame(body))));
    fc.assert(
      fc.property(stream, damage, fc.integer({ min: 1, max: 20 }), (bytes, harm, chunkBytes) => {
        const broken = damaged(bytes, harm);
        const reader = new FrameReader();
        decodedOrRefused(() => {
          for (let at = 0; at < broken.length; at += chunkBytes) {
            reader.push(Buffer.from(broken.subarray(at, at + chunkBytes)));
            while (reader.next() !== null) {}
          }
        });
      }),
      { numRuns: 1000 },
    );
  });
});
