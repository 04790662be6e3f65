import { describe, expect, test } from "vitest";
import { bytecodeOf, type PacketRule } from "../../../src/engine/network/packet-filter.js";

const dropped = 2;
const passed = 0xffff_ffff;

/** Runs a filter program on a frame as the kernel would. `random`: the number that the program draws. */
function verdict(rule: PacketRule, frame: Buffer, random = 0): number {
  const [count, ...instructions] = bytecodeOf(rule).replace(/,$/, "").split(",");
  expect(instructions).toHaveLength(Number(count));
  let register = 0;
  for (let at = 0; at < instructions.length; at++) {
    const [code, ifTrue = 0, ifFalse = 0, value = 0] = (instructions[at] ?? "").split(" ").map(Number);
    if (code === 0x28) register = frame.readUInt16BE(value);
    else if (code === 0x20) register = value >= 0xffff_f000 ? random : frame.readUInt32BE(value);
    else if (code === 0x15) at += register === value ? ifTrue : ifFalse;
    else if (code === 0x25) at += register > value ? ifTrue : ifFalse;
    else if (code === 0x06) return value;
    else throw new Error(`instruction ${code}`);
  }
  throw new Error("the program ran over its end");
}

function frame(from: string, to: string, etherType = 0x0800): Buffer {
  const bytes = Buffer.alloc(64);
  bytes.writeUInt16BE(etherType, 12);
  Buffer.from(from.split(".").map(Number)).copy(bytes, 26);
  Buffer.from(to.split(".").map(Number)).copy(bytes, 30);
  return bytes;
}

const a = "10.99.0.10";
const b = "10.99.0.11";
const c = "10.99.0.12";

describe("a rule of the switch", () => {
  test("drops what comes from the named addresses, and nothing else", () => {
    const rule: PacketRule = { by: "source", drop: [a, c], loss: 0 };
    expect(verdict(rule, frame(a, b))).toBe(dropped);
    expect(verdict(rule, frame(c, b))).toBe(dropped);
    expect(verdict(rule, frame(b, a))).toBe(passed);
    expect(verdict(rule, frame("10.99.0.1", a))).toBe(passed);
  });

  test("by destination, looks at the other end", () => {
    const rule: PacketRule = { by: "destination", drop: [a], loss: 0 };
    expect(verdict(rule, frame(b, a))).toBe(dropped);
    expect(verdict(rule, frame(a, b))).toBe(passed);
  });

  test("without addresses and loss lets everything through", () => {
    expect(verdict({ by: "source", drop: [], loss: 0 }, frame(a, b))).toBe(passed);
  });

  test("lets through what is not IPv4, so that addresses are still found after a cut", () => {
    const arp = frame(a, b, 0x0806);
    expect(verdict({ by: "source", drop: [a], loss: 0 }, arp)).toBe(passed);
    expect(verdict({ by: "source", drop: [a], loss: 1 }, arp)).toBe(passed);
  });

  test("loses its share of what it does not drop", () => {
    const rule: PacketRule = { by: "source", drop: [a], loss: 0.25 };
    expect(verdict(rule, frame(b, c), 0.2 * 2 ** 32)).toBe(dropped);
    expect(verdict(rule, frame(b, c), 0.3 * 2 ** 32)).toBe(passed);
    expect(verdict(rule, frame(a, c), 0.3 * 2 ** 32)).toBe(dropped);
    expect(verdict({ ...rule, loss: 1 }, frame(b, c), 2 ** 32 - 1)).toBe(dropped);
  });

  test("knows many addresses: jumps stay in their range", () => {
    const many = Array.from({ length: 64 }, (_, at) => `10.99.0.${at + 10}`);
    const rule: PacketRule = { by: "source", drop: many, loss: 0.5 };
    expect(verdict(rule, frame("10.99.0.10", b))).toBe(dropped);
    expect(verdict(rule, frame("10.99.0.73", b))).toBe(dropped);
    expect(verdict(rule, frame("10.99.0.74", b), 2 ** 32 - 1)).toBe(passed);
  });

  test.each(["10.99.0", "10.99.0.256", "::1", "host"])("refuses %s as an address", (address) => {
    expect(() => bytecodeOf({ by: "source", drop: [address], loss: 0 })).toThrow(RangeError);
  });

  test.each([-0.1, 1.1, Number.NaN])("refuses a loss of %s", (loss) => {
    expect(() => bytecodeOf({ by: "source", drop: [], loss })).toThrow(RangeError);
  });
});
