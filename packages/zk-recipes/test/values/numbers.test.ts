import { LayoutConflictError } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { decodeInt, decodeLong, encodeInt, encodeLong } from "../../src/layout/numbers.js";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe("numbers in nodes", () => {
  it("are as Curator writes them", () => {
    expect(hex(encodeInt(6))).toBe("00000006");
    expect(hex(encodeInt(-2))).toBe("fffffffe");
    expect(hex(encodeLong(42n))).toBe("000000000000002a");
    expect(hex(encodeLong(-1n))).toBe("ffffffffffffffff");
  });

  it("are read as they were written", () => {
    for (const int of [0, 1, -1, 2 ** 31 - 1, -(2 ** 31)]) expect(decodeInt("/x", encodeInt(int))).toBe(int);
    for (const long of [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n)]) {
      expect(decodeLong("/x", encodeLong(long))).toBe(long);
    }
  });

  it("are read as 0 where a long has no bytes, and refused at any other size", () => {
    expect(decodeLong("/x", null)).toBe(0n);
    expect(decodeLong("/x", new Uint8Array(0))).toBe(0n);
    for (const bytes of [1, 4, 7, 9, 16]) {
      expect(() => decodeLong("/x", new Uint8Array(bytes))).toThrow(LayoutConflictError);
    }
    expect(() => decodeInt("/x", null)).toThrow(LayoutConflictError);
    for (const bytes of [0, 1, 3, 5, 8]) {
      expect(() => decodeInt("/x", new Uint8Array(bytes))).toThrow(LayoutConflictError);
    }
  });
});
