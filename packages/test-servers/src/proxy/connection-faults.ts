import {
  type ConnectResponse,
  decodeConnectRequest,
  decodeRequest,
  encodeConnectResponse,
  encodeFrame,
  encodeReplyHeader,
  encodeRequest,
  encodeRequestHeader,
  encodeResponse,
  errorCodes,
  type OpName,
  opCodes,
  ProtocolError,
  passwordLength,
} from "@holdfast/zk-protocol";
import { type FaultAction, pointOf } from "../embedded/faults/actions.js";
import { pathsOf } from "../embedded/faults/match.js";
import { grown } from "../embedded/faults/rules.js";
import { Gate } from "../embedded/gate.js";
import { TestServerError } from "../errors.js";
import type { Pending, ProxyFaults } from "./proxy-faults.js";
import type { TraceEntry } from "./trace.js";

/** What happens to a request or handshake. */
export type UpFate =
  | { readonly kind: "forward"; readonly bytes: Buffer; readonly thenWait: boolean }
  /** The server does not get it. */
  | { readonly kind: "drop" }
  | { readonly kind: "close"; readonly reset: boolean }
  /** Like `drop`, but the client gets these bytes and FIN. */
  | { readonly kind: "reply-and-close"; readonly bytes: Buffer }
  /** Like `drop`, and from here on the connection neither reads nor sends. */
  | { readonly kind: "deaf" };

/** What happens to a reply or event. `next` has the same meaning as in the embedded server. */
export type DownFate =
  | { readonly kind: "send"; readonly bytes: Buffer; readonly next: "go-on" | "close" | "stall" | "deaf" }
  | { readonly kind: "drop" }
  | { readonly kind: "close"; readonly reset: boolean };

/**
 * Yields each gate that it waits for, and everything behind it in this direction waits too. Returns what is to happen.
 */
export type Steps<Fate> = Generator<Gate, Fate>;

/** What is known of the connection at that time. */
export interface Known {
  readonly handshake: ConnectResponse | undefined;
  readonly lastZxid: bigint;
}

const watching: ReadonlySet<string> = new Set(["exists", "getData", "getChildren", "getChildren2"]);

/** The faults of one connection: decides what happens to its frames, without a socket. */
export class ConnectionFaults {
  readonly #faults: ProxyFaults;
  readonly #known: Known;
  readonly #pending = new WeakMap<TraceEntry, readonly Pending[]>();
  /** Replacements for the server's replies, for requests in place of which the server got another request. */
  readonly #instead = new WeakMap<TraceEntry, { err: number; body: Buffer; unknownOp: boolean }>();
  /** A reply that waits for the next request. */
  #withheld: Gate | undefined;

  constructor(faults: ProxyFaults, known: Known) {
    this.#faults = faults;
    this.#known = known;
  }

  /** @returns undefined when no fault is set for it. */
  request(entry: TraceEntry, frame: Buffer): Steps<UpFate> | undefined {
    this.#withheld?.open();
    this.#withheld = undefined;
    if (!this.#faults.active) return undefined;
    const handshake = entry.op === "connect";
    const op = entry.op === "unknown" ? undefined : (entry.op as OpName | "connect");
    const session = handshake ? askedFor(frame) : (this.#known.handshake?.sessionId ?? 0n);
    const paths = op === undefined || op === "connect" ? [] : pathsOf({ op, body: frame.subarray(12) });
    const pending = this.#faults.takers({ target: op, session, paths }, entry.xid, this.#known.lastZxid);
    if (pending.length === 0) return undefined;
    if (handshake) return this.#handshake(pending, frame);
    this.#pending.set(entry, pending);
    return this.#up(entry, pending, frame);
  }

  /** @param request the request that it answers. */
  reply(entry: TraceEntry, request: TraceEntry | undefined, frame: Buffer): Steps<DownFate> | undefined {
    const pending = request === undefined ? undefined : this.#pending.get(request);
    if (pending === undefined || request === undefined) return undefined;
    return this.#down(entry, request, pending, frame);
  }

  event(entry: TraceEntry, frame: Buffer): Steps<DownFate> | undefined {
    if (!this.#faults.active || entry.event === undefined) return undefined;
    const session = this.#known.handshake?.sessionId ?? 0n;
    const subject = { target: "event", session, paths: [entry.path ?? ""], event: entry.event } as const;
    const pending = this.#faults.takers(subject, -1, this.#known.lastZxid);
    return pending.length === 0 ? undefined : this.#event(pending, frame);
  }

  *#handshake(pending: readonly Pending[], frame: Buffer): Steps<UpFate> {
    for (const each of pending) {
      const { action } = each.fault;
      switch (action.do) {
        case "close":
          return { kind: "close", reset: action.reset === true };
        case "reject":
          return { kind: "reply-and-close", bytes: rejection(frame) };
        case "hold":
        case "run":
          yield* this.#wait(each);
          break;
        default:
          throw new TestServerError(`a handshake cannot have the fault "${action.do}"`);
      }
    }
    return { kind: "forward", bytes: frame, thenWait: false };
  }

  *#up(entry: TraceEntry, pending: readonly Pending[], frame: Buffer): Steps<UpFate> {
    let bytes = frame;
    let instead: UpFate | undefined;
    for (const each of pending) if (pointOf(each.fault.action) === "frame") yield* this.#wait(each);
    for (const each of pending) {
      const { action } = each.fault;
      switch (action.do) {
        case "close":
          if ((action.when ?? "before") !== "before") break;
          return { kind: "close", reset: action.reset === true };
        case "drop":
          return { kind: "drop" };
        case "expire":
          if ((action.when ?? "before") !== "before") break;
          if (action.silent !== true) {
            yield this.#expiry();
            return { kind: "close", reset: false };
          }
          // The expiry is not waited for, because the connection neither sends nor reads any more.
          void this.#faults.expire(this.#session());
          return { kind: "deaf" };
        case "answer":
          if (action.apply === true) break;
          return this.#substitute(entry, errorCodes[action.err], false);
        case "unknown-op":
          return this.#substitute(entry, errorCodes.Unimplemented, true);
        case "lose-watch":
          if (entry.op === "addWatch")
            instead = this.#substitute(entry, 0, false, encodeResponse("addWatch", { err: 0 }));
          else bytes = withoutWatch(entry.op, bytes);
          break;
        default:
          if (pointOf(action) === "prep") yield* this.#wait(each);
          break;
      }
    }
    if (instead !== undefined) return instead;
    return { kind: "forward", bytes, thenWait: pending.some(({ fault }) => stopsReading(fault.action)) };
  }

  *#down(
    entry: TraceEntry,
    request: TraceEntry,
    pending: readonly Pending[],
    frame: Buffer,
  ): Steps<DownFate> {
    let bytes = frame;
    const instead = this.#instead.get(request);
    if (instead !== undefined) {
      bytes = reply(entry, instead.err, instead.unknownOp ? -1n : undefined, instead.body);
      const ending = instead.unknownOp || instead.err === errorCodes.AuthFailed;
      if (ending) return { kind: "send", bytes, next: "close" };
    }
    for (const each of pending) {
      const { action } = each.fault;
      if (action.do === "close" && action.when === "applied")
        return { kind: "close", reset: action.reset === true };
      if (action.do === "expire" && action.when === "applied") {
        yield this.#expiry();
        if (action.silent === true) return { kind: "send", bytes: Buffer.alloc(0), next: "deaf" };
      }
      if (action.do === "answer" && action.apply === true) bytes = reply(entry, errorCodes[action.err]);
      if (pointOf(action) === "applied") yield* this.#wait(each);
    }
    for (const each of pending) {
      const { action } = each.fault;
      switch (action.do) {
        case "no-reply":
          return { kind: "send", bytes: Buffer.alloc(0), next: "stall" };
        case "cut-reply":
          return { kind: "send", bytes: bytes.subarray(0, action.bytes), next: action.next ?? "close" };
        case "grow-reply":
          bytes = grown(bytes, action.bytes);
          break;
        case "expire":
          if (action.when === "applied") return { kind: "send", bytes, next: "close" };
          break;
        case "hold":
          if (action.at === "reply") yield* this.#wait(each);
          break;
        case "withhold":
          this.#withheld = each.fault.gate();
          yield this.#withheld;
          break;
        default:
          break;
      }
    }
    return { kind: "send", bytes, next: "go-on" };
  }

  *#event(pending: readonly Pending[], frame: Buffer): Steps<DownFate> {
    for (const each of pending) {
      const { action } = each.fault;
      if (action.do === "drop") return { kind: "drop" };
      if (action.do !== "hold") throw new TestServerError(`an event cannot have the fault "${action.do}"`);
      yield* this.#wait(each);
    }
    return { kind: "send", bytes: frame, next: "go-on" };
  }

  *#wait({ fault, hit }: Pending): Generator<Gate, void> {
    const { action } = fault;
    if (action.do === "run") {
      const waiting = action.call(hit);
      if (waiting === undefined) return;
      const gate = fault.gate();
      // A callback that rejects fails its test by an unhandled rejection; the connection continues either way.
      void waiting.finally(() => gate.open());
      yield gate;
      return;
    }
    const gate = fault.gate();
    if (action.do === "hold" && action.forMs !== undefined)
      setTimeout(() => gate.open(), action.forMs).unref();
    yield gate;
  }

  #expiry(): Gate {
    const gate = new Gate();
    // If the expiry fails, the test fails by an unhandled rejection.
    void this.#faults.expire(this.#session()).finally(() => gate.open());
    return gate;
  }

  #session(): ConnectResponse {
    const { handshake } = this.#known;
    if (handshake === undefined) throw new TestServerError("a session cannot end before it was opened");
    return handshake;
  }

  /** Sends the server a read that changes nothing, so that the made-up answer comes in its turn. */
  #substitute(entry: TraceEntry, err: number, unknownOp: boolean, body: Buffer = Buffer.alloc(0)): UpFate {
    this.#instead.set(entry, { err, body, unknownOp });
    const header = encodeRequestHeader({ xid: entry.xid, type: opCodes.exists });
    const bytes = encodeFrame(header, encodeRequest("exists", { path: "/", watch: false }));
    return { kind: "forward", bytes, thenWait: unknownOp };
  }
}

/** Whether requests behind this one are kept from the server until this one is applied. */
function stopsReading(action: FaultAction): boolean {
  switch (action.do) {
    case "close":
    case "expire":
      return action.when === "applied";
    case "hold":
    case "run":
      return action.at === "applied";
    default:
      return false;
  }
}

function askedFor(frame: Buffer): bigint {
  try {
    return decodeConnectRequest(frame.subarray(4)).sessionId;
  } catch (error) {
    if (error instanceof ProtocolError) return 0n;
    throw error;
  }
}

function rejection(request: Buffer): Buffer {
  const { readOnly } = decodeConnectRequest(request.subarray(4));
  const over = { protocolVersion: 0, timeoutMs: 0, sessionId: 0n, password: Buffer.alloc(passwordLength) };
  return encodeFrame(
    encodeConnectResponse({ ...over, ...(readOnly === undefined ? {} : { readOnly: false }) }),
  );
}

/** The frame that the client gets instead of the server's reply. The entry in the trace is changed to show it. */
function reply(
  entry: TraceEntry,
  err: number,
  zxid: bigint = entry.zxid ?? 0n,
  body: Buffer = Buffer.alloc(0),
): Buffer {
  entry.err = err;
  delete entry.created;
  return encodeFrame(encodeReplyHeader({ xid: entry.xid, zxid, err }), body);
}

function withoutWatch(op: TraceEntry["op"], frame: Buffer): Buffer {
  if (watching.has(op)) {
    const copy = Buffer.from(frame);
    copy.writeUInt8(0, copy.length - 1); // `watch` is the last field of each of these requests
    return copy;
  }
  if (op !== "setWatches" && op !== "setWatches2") return frame;
  const { relativeZxid } = decodeRequest(op, frame.subarray(12));
  const none = {
    dataWatches: [],
    existWatches: [],
    childWatches: [],
    persistentWatches: [],
    persistentRecursiveWatches: [],
  };
  return encodeFrame(frame.subarray(4, 12), encodeRequest(op, { relativeZxid, ...none }));
}
