import fc from "fast-check";
import { expect, test } from "vitest";
import { FrameSplitter } from "../src/proxy/frame-splitter.js";

function frame(payload: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

/** Cuts the stream into pieces. Their sizes are those in `sizes`, over and over. */
function chunks(stream: Buffer, sizes: readonly number[]): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0, turn = 0; at < stream.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    parts.push(stream.subarray(at, at + size));
    at += size;
  }
  return parts;
}

const payloads = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 20 });
const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 8 });

test("frames come out whole, in order and with their lengths, however they are chunked", () => {
  fc.assert(
    fc.property(payloads, sizes, (all, cuts) => {
      const frames = all.map(frame);
      const splitter = new FrameSplitter();
      const seen = chunks(Buffer.concat(frames), cuts).flatMap((chunk) => splitter.push(chunk));
      expect(seen).toEqual(frames);
      expect(splitter.takeRest()).toHaveLength(0);
    }),
  );
});

test("an incomplete frame stays inside and comes out as the rest", () => {
  fc.assert(
    fc.property(payloads, sizes, fc.integer({ min: 1, max: 299 }), (all, cuts, missing) => {
      const whole = all.map(frame);
      const torn = frame(Buffer.alloc(300)).subarray(0, 304 - missing);
      const splitter = new FrameSplitter();
      const seen = chunks(Buffer.concat([...whole, torn]), cuts).flatMap((chunk) => splitter.push(chunk));
      expect(seen).toEqual(whole);
      expect(splitter.takeRest()).toEqual(torn);
    }),
  );
});

test("no bytes are lost or changed, whatever they are", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), sizes, (bytes, cuts) => {
      const splitter = new FrameSplitter();
      const seen = chunks(Buffer.from(bytes), cuts).flatMap((chunk) => splitter.push(chunk));
      expect(Buffer.concat([...seen, splitter.takeRest()])).toEqual(Buffer.from(bytes));
    }),
  );
});

test("a four-letter word at the start makes the stream raw", () => {
  const splitter = new FrameSplitter();
  expect(splitter.push(Buffer.from("sr"))).toEqual([]);
  expect(splitter.push(Buffer.from("vr"))).toEqual([Buffer.from("srvr")]);
  expect(splitter.raw).toBe(true);
  expect(splitter.push(Buffer.from("more"))).toEqual([Buffer.from("more")]);
});

test("an impossible length makes the stream raw from there on", () => {
  const splitter = new FrameSplitter();
  const good = frame(Buffer.from("good"));
  const bad = Buffer.from("ffffffff00", "hex");
  expect(splitter.push(Buffer.concat([good, bad]))).toEqual([good, bad]);
  expect(splitter.raw).toBe(true);
});
