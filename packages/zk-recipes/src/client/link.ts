import type { Millis, Runtime } from "@holdfast/core";
import {
  type ConnectResponse,
  errorCodes,
  type OpName,
  type RequestOf,
  type SetWatchesRequest,
  type WatcherEvent,
} from "@holdfast/zk-protocol";
import { DialPace } from "./dial-pace.js";
import type { Dialer } from "./dialer.js";
import { guarded, throwLater } from "./guarded.js";
import { Handshake } from "./handshake.js";
import { Incoming } from "./incoming.js";
import {
  type Client,
  type ConnectionManager,
  type LibraryPacket,
  libraryError,
  ManagerState,
  managerOf,
} from "./library.js";
import { LibrarySide } from "./library-side.js";
import type { LinkListener } from "./link-listener.js";
import { hookInto, leadEvents } from "./manager-hooks.js";
import { Outgoing } from "./outgoing.js";
import { Packet, PendingQueue, PlainPacket } from "./pending-queue.js";
import { ReadTurns } from "./read-turns.js";
import { mergePaths, noPaths } from "./set-watches.js";
import { WatchRestorer } from "./watch-restorer.js";

/**
 * A chunk smaller than this is the last one that the socket had. While the socket has more, a chunk is 16 KiB with TLS,
 * and 64 KiB without.
 */
const partBytes = 8 * 1024;

/**
 * A client of the library whose weak parts are replaced on this instance alone, so that no other client in the process
 * changes.
 *
 * Kept: the library's state machine, its events, its queue of requests made through its own API, and its dialling where
 * the client is the user's. Replaced: frame parsing, the handshake and the order of what follows it, the bookkeeping of
 * zxid and xid, the return of watches to a new connection, and the end of a connection. The library's own parsing keeps
 * half a frame across connections, stops at a throwing callback, and dies of unknown error codes.
 */
export class Link {
  readonly pending: PendingQueue<Packet | LibraryPacket> = new PendingQueue();
  readonly #manager: ConnectionManager;
  readonly library: LibrarySide;
  /** Set for a given client; our own clients have a `Dialer`. */
  readonly pace: DialPace | null;
  readonly #outgoing: Outgoing;
  readonly #incoming: Incoming;
  readonly #handshake: Handshake;
  readonly #restorer: WatchRestorer;
  readonly #dialer: Dialer | null;
  readonly #turns: ReadTurns | null;
  readonly #runtime: Runtime;
  #listener: LinkListener | null = null;
  #up = false;
  #stopped = false;
  #ref = false;
  #lastError: Error | null = null;
  #attemptSinceMs: Millis | null = null;

  /** `dialer`: for a client of our own; `null` for a user's client, which dials as before. `turnMs`: see `SessionOptions`. */
  constructor(client: Client, dialer: Dialer | null, runtime: Runtime, turnMs?: Millis) {
    this.#manager = managerOf(client);
    this.library = new LibrarySide(this.#manager);
    this.#runtime = runtime;
    this.#outgoing = new Outgoing(this.#manager, this.pending);
    this.#incoming = this.#makeIncoming();
    this.#handshake = new Handshake(this.#manager, this.#outgoing);
    this.#restorer = this.#makeRestorer();
    this.#dialer = dialer;
    this.pace = dialer === null ? new DialPace(this.#manager) : null;
    this.#turns =
      turnMs === undefined
        ? null
        : new ReadTurns(turnMs, { nowMs: () => runtime.nowMs(), nextTurn: (fn) => void setImmediate(fn) });
    this.#hook();
  }

  get up(): boolean {
    return this.#up;
  }

  /** The server has accepted all credentials on this connection, or there are none. */
  get authenticated(): boolean {
    return this.#handshake.settled;
  }

  /** No other connection will come. */
  get stopped(): boolean {
    return this.#stopped || this.#manager.state < ManagerState.closing;
  }

  /**
   * Whether the library watches this path, or may do so soon. The library registers a watcher only when it has the answer
   * to its read, and by then the server has the watch.
   */
  mayBeWatchedByLibrary(path: string, table: "data" | "child"): boolean {
    const asks = (packet: Packet | LibraryPacket): boolean =>
      !(packet instanceof Packet) && packet.request.payload?.watch === true;
    const { queue } = this.#manager.packetQueue;
    return this.library.watchesPath(path, table) || queue.some(asks) || this.pending.contents().some(asks);
  }

  /** See `ReadTurns.behind`. */
  get behind(): boolean {
    return this.#turns?.behind === true;
  }

  get sessionId(): bigint {
    return this.#manager.sessionId.readBigInt64BE();
  }

  /** The time-out as granted; before the first handshake, the one that was asked for. */
  get timeoutMs(): Millis {
    return this.#manager.sessionTimeout;
  }

  /** The zxid of the last reply; above 0 once there was one. */
  get lastZxid(): bigint {
    return this.#manager.zxid.readBigInt64BE();
  }

  /** When the present attempt at a connection began; `null` when there is no attempt. */
  get attemptSinceMs(): Millis | null {
    return this.#attemptSinceMs;
  }

  listen(listener: LinkListener | null): void {
    this.#listener = listener;
  }

  start(): void {
    this.#manager.connect();
  }

  /** Whether the socket, or the pause before the next one, keeps the process alive. */
  hold(ref: boolean): void {
    this.#ref = ref;
    const { socket } = this.#manager;
    if (this.#dialer === null || socket === undefined) return;
    if (ref) socket.ref();
    else socket.unref();
  }

  /**
   * Call it only while `up`. The bytes leave with everything else that is sent in this turn of the event loop. Throws for
   * a request that no server accepts, and then sends nothing.
   */
  send<K extends OpName>(op: K, request: RequestOf<K>, packet: Packet): void {
    this.#outgoing.send(op, request, packet);
  }

  /** See `Outgoing.writes`. */
  get writes(): number {
    return this.#outgoing.writes;
  }

  ping(): void {
    this.#outgoing.ping();
  }

  /** Leaves this server: ends the connection or the attempt, and goes on to the next server. */
  cut(reason: string): void {
    this.#giveUp();
    this.#lastError = new Error(reason);
    this.#incoming.reset();
    this.#manager.socket?.destroy();
    guarded(() => this.#listener?.broken());
  }

  /** For our own clients only: ends everything, and sends nothing to the server. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#dialer?.cancel();
    const { socket } = this.#manager;
    this.#giveUp();
    if (socket === undefined || socket.closed) this.#end();
    else socket.destroy(); // its `close` ends the rest
  }

  #hook(): void {
    const manager = this.#manager;
    const begun = hookInto(manager, this.pending, {
      connected: () => this.#onConnected(),
      data: (chunk) => this.#onData(chunk),
      drain: () => this.#onDrain(),
      error: (error) => this.#onError(error),
      closed: () => this.#onClosed(),
      // Our own frames leave first, so that the order of the bytes is the order of the xids.
      readable: () => this.#outgoing.makeWay(),
      // With our own `Dialer` an attempt begins when the socket is made, not with the pause before it.
      connecting: () => {
        this.pace?.dialling();
        if (this.#dialer === null) this.#dialling();
      },
      closing: () => {
        this.#giveUp(); // whatever follows a close request is discarded
        guarded(() => this.#listener?.over());
      },
    });
    if (begun !== null) this.#incoming.add(begun);
    const dialer = this.#dialer;
    if (dialer !== null) manager.connect = (): void => this.#dial(dialer, false);
    if (manager.state === ManagerState.connecting) this.#attemptSinceMs = this.#runtime.nowMs();
    this.#up = manager.state === ManagerState.connected;
  }

  #dial(dialer: Dialer, afterService: boolean): void {
    if (this.#stopped) return;
    const manager = this.#manager;
    guarded(() => manager.setState(ManagerState.connecting));
    dialer.dial(manager.sessionTimeout, afterService, this.#ref, ({ socket, readyEvent }) => {
      if (!this.#ref) socket.unref();
      leadEvents(socket, readyEvent, manager);
      this.#dialling();
    });
  }

  #dialling(): void {
    this.#attemptSinceMs = this.#runtime.nowMs();
    guarded(() => this.#listener?.dialling());
  }

  #onConnected(): void {
    this.#clearConnectTimer();
    this.#incoming.reset();
    this.#listener?.greeting();
    this.#handshake.begin();
  }

  #onData(chunk: Buffer): void {
    const { socket } = this.#manager;
    if (this.#turns === null || socket === undefined || chunk.length < partBytes) this.#take(chunk);
    else this.#turns.take(socket, () => this.#take(chunk));
  }

  #take(chunk: Buffer): void {
    this.#incoming.add(chunk);
    try {
      this.#listener?.received();
    } catch (error) {
      throwLater(error);
    }
    this.#incoming.handOut();
  }

  #makeIncoming(): Incoming {
    return new Incoming(this.#manager, this.pending, this.library, {
      handshake: (response) => this.#onHandshake(response),
      credentials: (code) => this.#onCredentials(code),
      event: (event) => this.#onEvent(event),
      served: () => {
        this.#dialer?.progress();
        this.pace?.progress();
      },
      nonsense: (reason) => this.cut(reason),
    });
  }

  #makeRestorer(): WatchRestorer {
    const setWatches = (request: SetWatchesRequest, answered: Packet["answered"]): void => {
      this.send("setWatches", request, new PlainPacket(this.#runtime.nowMs(), answered));
    };
    const failed = (error: Error): void => this.cut(`watches were not restored: ${error.message}`);
    return new WatchRestorer({ setWatches, failed }, this.#runtime);
  }

  #onHandshake(response: ConnectResponse): void {
    const manager = this.#manager;
    this.#attemptSinceMs = null;
    if (response.timeoutMs <= 0) {
      // The server has refused to make a session; no session of ours has ended. Another request to it would be refused at
      // once, and so on without end.
      if (this.sessionId === 0n) return this.cut("the server has made no session");
      guarded(() => manager.setState(ManagerState.sessionExpired));
      guarded(() => this.#listener?.expired());
      manager.socket?.destroy();
      return;
    }
    this.#handshake.complete(response);
    this.library.dropHousekeeping();
    this.#handshake.sendCredentials();
    // The library's own watches are restored too, also when no session of ours uses the link: our hook has replaced the
    // library's.
    const watched = mergePaths(this.#listener?.watched() ?? noPaths, this.library.watches());
    this.#restorer.restore(watched, this.lastZxid, () => this.#onRestored());
  }

  /** All watches were sent to the server: requests that are sent from now on come behind them. */
  #onRestored(): void {
    const manager = this.#manager;
    this.#up = true;
    guarded(() => this.#listener?.greeted());
    this.#outgoing.flush();
    if (!this.#up) return;
    if (this.#dialer === null) {
      // The user's client keeps its idle ping: once our session is closed, only that ping keeps an idle session alive.
      manager.socket?.setTimeout(manager.pingTimeout, () => manager.onSocketTimeout());
    }
    guarded(() => manager.setState(ManagerState.connected));
    // A listener of the library's may have sent through us.
    this.#outgoing.makeWay();
    guarded(() => manager.onPacketQueueReadable());
    if (this.#up) guarded(() => this.#listener?.up());
  }

  #onCredentials(code: number): void {
    if (code === 0) {
      if (this.#handshake.accepted()) guarded(() => this.#listener?.up());
      return;
    }
    this.#giveUp();
    guarded(() => this.#manager.setState(ManagerState.authenticationFailed));
    guarded(() => this.#listener?.authFailed(libraryError(code)));
    this.#manager.socket?.destroy();
  }

  #onEvent(event: WatcherEvent): void {
    guarded(() => this.#listener?.event(event));
    this.library.event(event);
  }

  #onDrain(): void {
    this.#outgoing.flush();
    this.library.drained();
  }

  #onError(error: Error): void {
    this.#clearConnectTimer();
    this.#lastError = error;
  }

  #onClosed(): void {
    const manager = this.#manager;
    const wasUp = manager.state === ManagerState.connected || manager.state === ManagerState.closing;
    const packets = this.pending.drain();
    this.#giveUp();
    this.#attemptSinceMs = null;
    this.#outgoing.clear();
    this.#incoming.reset();
    this.#clearConnectTimer();
    const { closeCode } = this.library;
    const code = closeCode ?? errorCodes.ConnectionLoss;
    const cause = this.#lastError;
    this.#lastError = null;
    guarded(() => manager.setState(ManagerState.disconnected));
    guarded(() => this.#listener?.down(cause, wasUp));
    for (const sent of packets) {
      if (sent instanceof Packet) guarded(() => sent.unanswered());
      else this.library.unanswered(sent, code);
    }
    if (this.#stopped || closeCode !== undefined) {
      this.library.giveUpQueue(code);
      this.#end();
    } else if (this.#dialer !== null) {
      this.#dial(this.#dialer, wasUp);
    } else {
      manager.connect();
    }
  }

  /** The connection is of no use any more: counts it as down, and stops restoring watches. */
  #giveUp(): void {
    this.#up = false;
    this.#restorer.reset();
  }

  #end(): void {
    this.#stopped = true;
    guarded(() => this.#manager.setState(ManagerState.closed));
    guarded(() => this.#listener?.over());
  }

  #clearConnectTimer(): void {
    if (this.#manager.connectTimeoutHandler !== null) clearTimeout(this.#manager.connectTimeoutHandler);
  }
}
