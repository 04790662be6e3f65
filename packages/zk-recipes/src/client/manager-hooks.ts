import type { Socket } from "node:net";
import { type ConnectionManager, type LibraryPacket, ManagerState } from "./library.js";
import type { Packet, PendingQueue } from "./pending-queue.js";

/** The functions that replace methods of the library's connection manager. They need no `this`. */
export interface ManagerHooks {
  readonly connected: () => void;
  readonly data: (chunk: Buffer) => void;
  readonly drain: () => void;
  readonly error: (error: Error) => void;
  readonly closed: () => void;
  /** The library is about to write its own requests. */
  readonly readable: () => void;
  /** The state of the manager has become `connecting`; called before the manager's own listeners. `closing` likewise. */
  readonly connecting: () => void;
  readonly closing: () => void;
}

/**
 * Sets the hooks on this one manager, and moves its requests in flight to `pending`. Returns the beginning of a frame
 * that had already arrived on its connection, or `null`.
 */
export function hookInto(
  manager: ConnectionManager,
  pending: PendingQueue<Packet | LibraryPacket>,
  hooks: ManagerHooks,
): Buffer | null {
  for (
    let packet = manager.pendingQueue.shift();
    packet !== undefined;
    packet = manager.pendingQueue.shift()
  ) {
    pending.push(packet);
  }
  manager.pendingQueue = pending as unknown as ConnectionManager["pendingQueue"];
  const begun = manager.pendingBuffer;
  manager.pendingBuffer = null;
  manager.onSocketConnected = hooks.connected;
  manager.onSocketData = hooks.data;
  manager.onSocketDrain = hooks.drain;
  manager.onSocketError = hooks.error;
  manager.onSocketClosed = hooks.closed;
  manager.packetQueue.prependListener("readable", hooks.readable);
  manager.prependListener("state", (state: number) => {
    if (state === ManagerState.connecting) hooks.connecting();
    if (state === ManagerState.closing) hooks.closing();
  });
  const { socket } = manager;
  if (socket !== undefined && !socket.closed) takeOver(socket, manager);
  return begun;
}

/**
 * Leads the events of a socket to the present methods of `manager`. The socket may have been open before the hooks were
 * set. The library's listeners on it are then bound to the methods of its prototype, and are removed; other listeners
 * stay.
 */
function takeOver(socket: Socket, manager: ConnectionManager): void {
  const handlers = {
    connect: () => manager.onSocketConnected(),
    data: (chunk: Buffer) => manager.onSocketData(chunk),
    drain: () => manager.onSocketDrain(),
    close: (hadError: boolean) => manager.onSocketClosed(hadError),
    error: (error: Error) => manager.onSocketError(error),
  };
  for (const [event, handler] of Object.entries(handlers)) {
    for (const listener of socket.listeners(event) as ((...args: unknown[]) => void)[]) {
      // The prototype's functions have no name, so `bind()` names each bound one "bound ".
      if (listener.name === "bound ") socket.removeListener(event, listener);
    }
    socket.on(event, handler);
  }
}

/** Like `takeOver`, for a socket of our own, which becomes the manager's socket. `readyEvent`: see `Dialled`. */
export function leadEvents(socket: Socket, readyEvent: string, manager: ConnectionManager): void {
  manager.socket = socket;
  socket.setNoDelay(true);
  socket.on(readyEvent, () => manager.onSocketConnected());
  socket.on("data", (chunk: Buffer) => manager.onSocketData(chunk));
  socket.on("drain", () => manager.onSocketDrain());
  // A server that ends its side will not answer any more. Waiting until our unsent bytes have left could take for ever.
  socket.on("end", () => socket.destroy());
  socket.on("error", (error) => {
    manager.onSocketError(error);
    // After a TLS alert the socket would stay open, although nothing more comes on it.
    socket.destroy();
  });
  socket.on("close", (hadError) => manager.onSocketClosed(hadError));
}
