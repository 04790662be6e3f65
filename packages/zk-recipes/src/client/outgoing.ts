import { encodeRequest, opCodes, xids } from "@holdfast/zk-protocol";
import type { ConnectionManager, LibraryPacket } from "./library.js";
import { Outbox } from "./outbox.js";
import { type Packet, SentPacket } from "./packet.js";
import type { PendingQueue } from "./pending-queue.js";

/** Far below 2^31, where the library's `writeInt32BE` would throw on every request for good. */
const lastXid = 0x7ff0_0000;

const nothing = Buffer.alloc(0);

/** The frames that leave on a link, numbered in one row with those of the library's own requests. */
export class Outgoing {
  readonly #manager: ConnectionManager;
  readonly #pending: PendingQueue<SentPacket | LibraryPacket>;
  readonly #outbox: Outbox;

  constructor(manager: ConnectionManager, pending: PendingQueue<SentPacket | LibraryPacket>) {
    this.#manager = manager;
    this.#pending = pending;
    this.#outbox = new Outbox(() => manager.socket);
  }

  send(type: number, body: Buffer, packet: Packet): void {
    const xid = this.#takeXid();
    this.#pending.push(new SentPacket(xid, packet));
    this.#add(xid, type, body);
  }

  ping(): void {
    this.#add(xids.ping, opCodes.ping, nothing);
  }

  auth(scheme: string, auth: Buffer): void {
    this.#add(xids.auth, opCodes.auth, encodeRequest("auth", { type: 0, scheme, auth }));
  }

  batch(write: () => void): void {
    this.#outbox.batch(write);
  }

  flush(): void {
    this.#outbox.flush();
  }

  /** The connection is over. */
  clear(): void {
    this.#outbox.clear();
  }

  /** The library is about to number and write requests of its own. */
  makeWay(): void {
    this.flush();
    this.#wrapXid();
  }

  #add(xid: number, type: number, body: Buffer): void {
    const frame = Buffer.allocUnsafe(12 + body.length);
    frame.writeInt32BE(8 + body.length, 0);
    frame.writeInt32BE(xid, 4);
    frame.writeInt32BE(type, 8);
    frame.set(body, 12);
    this.#outbox.add(frame);
  }

  #takeXid(): number {
    this.#wrapXid();
    const { xid } = this.#manager;
    this.#manager.xid += 1;
    return xid;
  }

  #wrapXid(): void {
    if (this.#manager.xid >= lastXid) this.#manager.xid = 0;
  }
}
