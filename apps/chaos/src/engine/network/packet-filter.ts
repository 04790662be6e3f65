/**
 * The programs that a port of the switch runs on packets, for the kernel's classic packet filter, which every kernel
 * with `tc` has. Only iproute2 is needed. A program is replaced as a whole, so a cut of any shape takes effect at once.
 */

/** Offsets in an Ethernet frame. */
const etherType = 12;
const ipSource = 26;
const ipDestination = 30;
const ipv4 = 0x0800;

/** The two answers of a program to the kernel: "drop the packet" and "no opinion". */
const drop = 2;
const pass = 0xffff_ffff;

/** The kernel answers a load from this address with 32 random bits. */
const randomWord = 0xffff_f000 + 56;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

const loadHalf = 0x28;
const loadWord = 0x20;
const jumpIfEqual = 0x15;
const jumpIfGreater = 0x25;
const answer = 0x06;

export interface PacketRule {
  /** Which address of a packet is compared. */
  readonly by: "source" | "destination";
  /** IPv4 addresses whose packets are all dropped. */
  readonly drop: readonly string[];
  /** The share of the other packets that is dropped, from 0 to 1. */
  readonly loss: number;
}

/** The rule as the text that `tc filter ... bpf da bytecode` takes. Only IPv4 is filtered, so ARP still works. */
export function bytecodeOf(rule: PacketRule): string {
  const { by, drop: dropped, loss } = rule;
  if (!(loss >= 0 && loss <= 1)) throw new RangeError(`a loss of ${loss} is not between 0 and 1`);
  const lossy: Instruction[] =
    loss === 0
      ? []
      : [
          [loadWord, 0, 0, randomWord],
          // A greater number means "pass". The `drop` answer is one instruction further on.
          [jumpIfGreater, 0, 1, Math.min(pass, Math.floor(loss * 2 ** 32))],
        ];
  const tail: Instruction[] = [...lossy, [answer, 0, 0, pass], [answer, 0, 0, drop]];
  const rest = tail.length - 1;
  const comparisons = dropped.map((address, index): Instruction => {
    const remaining = dropped.length - 1 - index;
    return [jumpIfEqual, remaining + rest, 0, addressNumber(address)];
  });
  const behind = 1 + comparisons.length;
  const program: Instruction[] = [
    [loadHalf, 0, 0, etherType],
    // For a packet that is not IPv4, jump over the address and everything else to `pass`.
    [jumpIfEqual, 0, behind + lossy.length, ipv4],
    [loadWord, 0, 0, by === "source" ? ipSource : ipDestination],
    ...comparisons,
    ...tail,
  ];
  return `${program.length},${program.map((instruction) => instruction.join(" ")).join(",")},`;
}

function addressNumber(address: string): number {
  const bytes = address.split(".").map(Number);
  if (bytes.length !== 4 || !bytes.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256)) {
    throw new RangeError(`${address} is not an IPv4 address`);
  }
  return bytes.reduce((number, byte) => number * 256 + byte, 0);
}
