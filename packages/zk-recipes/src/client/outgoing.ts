import { InvalidArgumentError } from "@holdfast/core";
import { maxRequestBytes, type OpName, RequestFrames, type RequestOf, xids } from "@holdfast/zk-protocol";
import type { ConnectionManager, LibraryPacket } from "./library.js";
import type { Packet, PendingQueue } from "./pending-queue.js";

/** From this value on the xid starts again at 0. At 2^31 the library's `writeInt32BE` would throw on every further request. */
const lastXid = 0x7ff0_0000;

/**
 * Numbers and sends the frames of a link; the library's own requests share the numbering. All that is sent in one turn of
 * the event loop, and in the microtasks behind it, leaves in one write.
 *
 * The order of frames never depends on the back pressure of the socket, which takes any amount. The library stops in the
 * middle of its queue under back pressure.
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

  /** The number of writes so far. Frames that are sent between two writes leave together. */
  get writes(): number {
    return this.#writes;
  }

  /** Throws for a request that no server accepts, and then sends nothing. */
  send<K extends OpName>(op: K, request: RequestOf<K>, packet: Packet): void {
    this.#wrapXid();
    const { xid } = this.#manager;
    const bytes = this.#frames.add(xid, op, request);
    if (bytes > maxRequestBytes) {
      this.#frames.removeLast(bytes);
      // The server would close the connection without an answer, and so end all other requests on it too.
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
