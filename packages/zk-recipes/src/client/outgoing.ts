import { InvalidArgumentError } from "@holdfast/core";
import { maxRequestBytes, type OpName, RequestFrames, type RequestOf, xids } from "@holdfast/zk-protocol";
import type { ConnectionManager, LibraryPacket } from "./library.js";
import type { Packet, PendingQueue } from "./pending-queue.js";

/** Far below 2^31, where the library's `writeInt32BE` would throw on every request for good. */
const lastXid = 0x7ff0_0000;

/**
 * The frames that leave on a link, numbered in one row with those of the library's own requests. All that is sent in one turn of
 * the event loop, and in the microtasks behind it, leaves in one write. The socket takes any amount: order never depends on its
 * back pressure, where the library stops in the middle of its queue.
 */
export class Outgoing {
  readonly #manager: ConnectionManager;
  readonly #pending: PendingQueue<Packet | LibraryPacket>;
  #frames = new RequestFrames();
  #flushDue = false;
  #writes = 0;

  constructor(manager: ConnectionManager, pending: PendingQueue<Packet | LibraryPacket>) {
    this.#manager = manager;
    this.#pending = pending;
  }

  /** How many writes there were: what is sent between two of them leaves together. */
  get writes(): number {
    return this.#writes;
  }

  /** Throws for what no server takes, and sends nothing then. */
  send<K extends OpName>(op: K, request: RequestOf<K>, packet: Packet): void {
    this.#wrapXid();
    const { xid } = this.#manager;
    const bytes = this.#frames.add(xid, op, request);
    if (bytes > maxRequestBytes) {
      this.#frames.removeLast(bytes);
      // The server would close the connection without a word, under all the other requests too.
      throw new InvalidArgumentError(
        `${op} of ${bytes} bytes is over the ${maxRequestBytes} that a ZooKeeper server accepts`,
      );
    }
    this.#manager.xid = xid + 1;
    packet.xid = xid;
    this.#pending.push(packet);
    this.#flushLater();
  }

  ping(): void {
    this.#frames.add(xids.ping, "ping", undefined);
    this.#flushLater();
  }

  auth(scheme: string, auth: Buffer): void {
    this.#frames.add(xids.auth, "auth", { type: 0, scheme, auth });
    this.#flushLater();
  }

  flush(): void {
    this.#writes += 1;
    const frames = this.#frames.take();
    if (frames === null) return;
    const { socket } = this.#manager;
    // A destroyed socket is about to emit `close`, which fails the packets.
    if (socket !== undefined && !socket.destroyed) socket.write(frames);
  }

  /** The connection is over. */
  clear(): void {
    this.#writes += 1;
    this.#frames = new RequestFrames();
  }

  /** The library is about to number and write requests of its own. */
  makeWay(): void {
    this.flush();
    this.#wrapXid();
  }

  #flushLater(): void {
    if (this.#flushDue) return;
    this.#flushDue = true;
    process.nextTick(() => {
      this.#flushDue = false;
      this.flush();
    });
  }

  #wrapXid(): void {
    if (this.#manager.xid >= lastXid) this.#manager.xid = 0;
  }
}
