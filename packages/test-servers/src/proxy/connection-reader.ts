import {
  type ConnectResponse,
  decodeConnectResponse,
  decodeReplyHeader,
  decodeRequestHeader,
  decodeWatcherEvent,
  type OpName,
  opNameOf,
  ProtocolError,
  xids,
} from "@holdfast/zk-protocol";
import type { TraceEntry } from "./trace.js";

const withoutPath: ReadonlySet<OpName> = new Set([
  "ping",
  "multi",
  "multiRead",
  "reconfig",
  "auth",
  "sasl",
  "setWatches",
  "setWatches2",
  "whoAmI",
  "createSession",
  "closeSession",
] satisfies OpName[]);

const creating: ReadonlySet<string> = new Set([
  "create",
  "create2",
  "createContainer",
  "createTTL",
] satisfies OpName[]);

/** A request that has not been answered yet. */
interface Outstanding {
  entry: TraceEntry;
  xid: number;
}

/**
 * Makes trace entries of the frames of one connection. It knows the handshake, and which request a reply belongs to. It
 * never throws on bytes: what cannot be read becomes an entry with the operation `unknown`.
 */
export class ConnectionReader {
  readonly #connection: number;
  readonly #outstanding: Outstanding[] = [];
  #shookUp = false;
  #shookDown = false;
  /** The server's answer to the handshake, once it has been read. */
  handshake: ConnectResponse | undefined;
  /** When that answer was read, on the clock of `performance.now()`. */
  handshakeAt = 0;
  /** The highest zxid in an answer so far. */
  lastZxid = 0n;

  constructor(connection: number) {
    this.#connection = connection;
  }

  /** @param frame with its four length bytes. */
  request(frame: Buffer): TraceEntry {
    const entry = this.#entry("up", "request", frame);
    if (!this.#shookUp) {
      this.#shookUp = true;
      entry.op = "connect";
      return entry;
    }
    reading(() => {
      const { xid, type } = decodeRequestHeader(frame.subarray(4));
      const op = opNameOf(type);
      entry.xid = xid;
      entry.op = op ?? "unknown";
      if (op !== undefined && !withoutPath.has(op)) setText(entry, "path", frame, 4 + 8);
      this.#outstanding.push({ entry, xid: op === "ping" ? xids.ping : xid });
    });
    return entry;
  }

  /**
   * @param frame with its four length bytes.
   * @returns the entry, and for a reply the request that it answers.
   */
  answer(frame: Buffer): { entry: TraceEntry; request?: TraceEntry } {
    const entry = this.#entry("down", "reply", frame);
    if (!this.#shookDown) {
      this.#shookDown = true;
      entry.op = "connect";
      reading(() => {
        this.handshake = decodeConnectResponse(frame.subarray(4));
        this.handshakeAt = performance.now();
        entry.err = 0;
      });
      return { entry };
    }
    let request: TraceEntry | undefined;
    reading(() => {
      const { xid, zxid, err } = decodeReplyHeader(frame.subarray(4));
      entry.xid = xid;
      entry.zxid = zxid;
      if (zxid > this.lastZxid) this.lastZxid = zxid;
      entry.err = err;
      if (xid === xids.event) {
        const { type, path } = decodeWatcherEvent(frame.subarray(4 + 16));
        delete entry.err;
        entry.kind = "event";
        entry.op = "event";
        entry.event = type;
        entry.path = path;
        return;
      }
      // Replies come in the order of the requests, except that pings may be answered out of turn.
      const at = this.#outstanding.findIndex((waiting) => waiting.xid === xid);
      if (at === -1) return;
      request = this.#outstanding.splice(at, 1)[0]?.entry;
      if (request === undefined) return;
      entry.op = request.op;
      if (request.path !== undefined) entry.path = request.path;
      if (err === 0 && creating.has(entry.op)) setText(entry, "created", frame, 4 + 16);
    });
    return request === undefined ? { entry } : { entry, request };
  }

  /** Forgets a request that the server does not get: no reply belongs to it. */
  forget(request: TraceEntry): void {
    const at = this.#outstanding.findIndex(({ entry }) => entry === request);
    if (at !== -1) this.#outstanding.splice(at, 1);
  }

  #entry(direction: "up" | "down", kind: "request" | "reply", frame: Buffer): TraceEntry {
    return {
      connection: this.#connection,
      direction,
      kind,
      xid: 0,
      op: "unknown",
      bytes: frame.length,
      at: performance.now(),
      fate: "forwarded",
    };
  }
}

function setText(entry: TraceEntry, field: "path" | "created", frame: Buffer, at: number): void {
  if (frame.length < at + 4) return;
  const length = frame.readInt32BE(at);
  if (length >= 0 && frame.length >= at + 4 + length)
    entry[field] = frame.toString("utf8", at + 4, at + 4 + length);
}

function reading(read: () => void): void {
  try {
    read();
  } catch (error) {
    // A test may send broken bytes to see how the other side reacts: they are passed on unchanged.
    if (!(error instanceof ProtocolError)) throw error;
  }
}
