import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeRequest,
  defaultMaxFrameBytes,
  encodeFrame,
  encodeRequest,
  encodeRequestHeader,
  FrameReader,
  maxRequestBytes,
  opCodes,
  ProtocolError,
  RequestFrames,
  requestHeaderBytes,
} from "../src/index.js";

function drain(reader: FrameReader): Buffer[] {
  const frames: Buffer[] = [];
  for (let frame = reader.next(); frame !== null; frame = reader.next()) {
    frames.push(frame);
  }
  return frames;
}

function withLength(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(length, 0);
  return bytes;
}

describe("encodeFrame", () => {
  test("puts the length of all parts in front", () => {
    expect(encodeFrame(Buffer.from("ab"), Uint8Array.of(), Buffer.from("c")).toString("hex")).toBe(
      "00000003616263",
    );
    expect(encodeFrame().toString("hex")).toBe("00000000");
  });
});

describe("FrameReader", () => {
  test("finds the same frames in whatever chunks they come", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 20 }),
        fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 1, maxLength: 10 }),
        fc.boolean(),
        (bodies, chunkSizes, drainEachTime) => {
          const stream = Buffer.concat(bodies.map((body) => encodeFrame(body)));
          const reader = new FrameReader();
          const frames: Buffer[] = [];
          let at = 0;
          for (let i = 0; at < stream.length; i++) {
            const size = chunkSizes[i % chunkSizes.length] ?? 1;
            reader.push(Buffer.from(stream.subarray(at, at + size)));
            at += size;
            if (drainEachTime) {
              frames.push(...drain(reader));
            }
          }
          frames.push(...drain(reader));
          // Compared at the very end: a frame must not change while later chunks arrive.
          expect(frames.map((frame) => frame.toString("hex"))).toEqual(
            bodies.map((body) => Buffer.from(body).toString("hex")),
          );
          expect(reader.pendingBytes).toBe(0);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test("a frame stays what it was while many later ones pass through the same reader", () => {
    const bodies = Array.from({ length: 3000 }, (_, i) => Buffer.alloc(40, i % 251));
    const stream = Buffer.concat(bodies.map((body) => encodeFrame(body)));
    const reader = new FrameReader();
    const frames: Buffer[] = [];
    for (let at = 0; at < stream.length; at += 1009) {
      reader.push(Buffer.from(stream.subarray(at, at + 1009)));
      frames.push(...drain(reader));
    }
    expect(frames).toHaveLength(3000);
    expect(frames.findIndex((frame, i) => !frame.equals(bodies[i] ?? Buffer.of()))).toBe(-1);
  });

  test("does not write into a chunk that was pushed", () => {
    const slab = Buffer.concat([encodeFrame(Buffer.from("one")).subarray(0, 6), Buffer.alloc(100, 0x2a)]);
    const reader = new FrameReader();
    reader.push(slab.subarray(0, 6));
    reader.push(encodeFrame(Buffer.from("one")).subarray(6));
    expect(drain(reader).map(String)).toEqual(["one"]);
    expect(slab.subarray(6).equals(Buffer.alloc(100, 0x2a))).toBe(true);
  });

  test("returns a hundred thousand frames of one chunk without recursing", () => {
    const reader = new FrameReader();
    reader.push(Buffer.alloc(400_000));
    expect(drain(reader)).toHaveLength(100_000);
  });

  test("assembles a large frame from small chunks in time linear in its size", () => {
    const body = Buffer.alloc(8_000_000, 7);
    const stream = encodeFrame(body);
    const reader = new FrameReader();
    for (let at = 0; at < stream.length; at += 1000) {
      expect(reader.next()).toBeNull();
      reader.push(stream.subarray(at, at + 1000));
    }
    expect(reader.next()?.equals(body)).toBe(true);
  });

  test("accepts the longest frame and refuses one byte more, and a negative length", () => {
    const longest = new FrameReader({ maxFrameBytes: maxRequestBytes });
    longest.push(encodeFrame(Buffer.alloc(maxRequestBytes)));
    expect(longest.next()?.length).toBe(maxRequestBytes);
    for (const length of [maxRequestBytes + 1, -1, -0x8000_0000, 0x7fff_ffff]) {
      const reader = new FrameReader({ maxFrameBytes: maxRequestBytes });
      reader.push(withLength(length));
      expect(() => reader.next()).toThrow(ProtocolError);
    }
  });

  test.each([Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY])("refuses %d as a limit", (maxFrameBytes) => {
    expect(() => new FrameReader({ maxFrameBytes })).toThrow(RangeError);
  });

  test("has a limit of its own well over what servers accept", () => {
    const reader = new FrameReader();
    reader.push(withLength(defaultMaxFrameBytes + 1));
    expect(() => reader.next()).toThrow(
      `length ${defaultMaxFrameBytes + 1} is outside 0 to ${defaultMaxFrameBytes}`,
    );
    expect(defaultMaxFrameBytes).toBeGreaterThanOrEqual(4 * 1024 * 1024);
  });

  test("after a bad length it stays refused: where the next frame starts is unknown", () => {
    const reader = new FrameReader();
    reader.push(withLength(-5));
    expect(() => reader.next()).toThrow(ProtocolError);
    reader.push(encodeFrame(Buffer.from("late")));
    expect(() => reader.next()).toThrow(ProtocolError);
    expect(reader.pendingBytes).toBe(0);
  });

  test("returns the frames before a bad length first", () => {
    const reader = new FrameReader();
    reader.push(Buffer.concat([encodeFrame(Buffer.from("good")), withLength(-1)]));
    expect(String(reader.next())).toBe("good");
    expect(() => reader.next()).toThrow(ProtocolError);
  });

  test("an announced length takes no memory before its bytes come", () => {
    const before = process.memoryUsage().arrayBuffers;
    const readers = Array.from({ length: 50 }, () => {
      const reader = new FrameReader();
      reader.push(withLength(defaultMaxFrameBytes));
      expect(reader.next()).toBeNull();
      reader.push(Buffer.alloc(100));
      expect(reader.next()).toBeNull();
      return reader;
    });
    const taken = process.memoryUsage().arrayBuffers - before;
    expect(readers.map((reader) => reader.pendingBytes)).toEqual(readers.map(() => 104));
    expect(taken).toBeLessThan(defaultMaxFrameBytes);
  });
});

describe("frames of requests that leave together", () => {
  const path = (name: string) => ({ path: name, watch: false });

  test("are those that each request would have alone, and are handed out once", () => {
    const frames = new RequestFrames();
    expect(frames.take()).toBeNull();
    expect(frames.add(7, "exists", path("/a"))).toBe(8 + encodeRequest("exists", path("/a")).length);
    frames.add(-2, "ping", undefined);
    const exists = encodeFrame(
      encodeRequestHeader({ xid: 7, type: opCodes.exists }),
      encodeRequest("exists", path("/a")),
    );
    const ping = encodeFrame(encodeRequestHeader({ xid: -2, type: opCodes.ping }));
    expect(frames.take()).toEqual(Buffer.concat([exists, ping]));
    expect(frames.take()).toBeNull();
  });

  test("have nothing of a request that cannot be encoded, or that was taken back", () => {
    const frames = new RequestFrames();
    const mistake = { path: "/".repeat(5_000), version: 0.5 };
    expect(() => frames.add(1, "delete", mistake)).toThrow(RangeError);
    expect(frames.take()).toBeNull();
    frames.add(1, "exists", path("/a"));
    expect(() => frames.add(2, "delete", mistake)).toThrow(RangeError);
    frames.removeLast(frames.add(2, "exists", path("/b".repeat(5_000))));
    frames.add(2, "exists", path("/c"));
    const reader = new FrameReader();
    reader.push(frames.take() as Buffer);
    const sent = drain(reader).map(
      (frame) => decodeRequest("exists", frame.subarray(requestHeaderBytes)).path,
    );
    expect(sent).toEqual(["/a", "/c"]);
  });
});
