import type { ReplyHeader } from "@holdfast/zk-protocol";

/** One request of ours on its way. The link calls exactly one of the two, exactly once. */
export interface Packet {
  /** Monotonic, when it was handed to the link: never later than the bytes left. */
  readonly sentAtMs: number;
  /** In frame order. `body` is what follows the reply header; it is there only if `header.err` is 0. */
  answered(header: ReplyHeader, body: Buffer): void;
  /** The connection ended first. */
  unanswered(): void;
}

/** How a packet of ours lies in the library's queue, among those the library made itself. */
export class SentPacket {
  readonly xid: number;
  readonly packet: Packet;

  constructor(xid: number, packet: Packet) {
    this.xid = xid;
    this.packet = packet;
  }
}
