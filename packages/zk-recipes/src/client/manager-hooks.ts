import type { Socket } from "node:net";
import { type ConnectionManager, type LibraryPacket, ManagerState } from "./library.js";
import type { Packet, PendingQueue } from "./pending-queue.js";

/** What is done in the library's stead: functions that need no `this`. */
export interface ManagerHooks {
  readonly connected: () => void;
  readonly data: (chunk: Buffer) => void;
  readonly drain: () => void;
  readonly error: (error: Error) => void;
  readonly closed: () => void;
  /** The library is about to write requests of its own. */
  readonly readable: () => void;
  /** The manager's state became so, before its own listeners are called. */
  readonly connecting: () => void;
  readonly closing: () => void;
}

/**
 * Sets the hooks on this one manager, with what it has in flight moved to `pending`. The result is the beginning of a frame
 * that had arrived on its connection, if there is one.
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
 * Leads the events of a socket to what is on `manager` now. On a socket that was open before the hooks were set, the library's
 * own listeners are bound to its prototype; no others are touched.
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
      // The prototype's functions have no name, so bind() gives them this one.
      if (listener.name === "bound ") socket.removeListener(event, listener);
    }
    socket.on(event, handler);
  }
}

/** The same for a socket of our own, which becomes the manager's. `readyEvent`: see `Dialled`. */
export function leadEvents(socket: Socket, readyEvent: string, manager: ConnectionManager): void {
  manager.socket = socket;
  socket.setNoDelay(true);
  socket.on(readyEvent, () => manager.onSocketConnected());
  socket.on("data", (chunk: Buffer) => manager.onSocketData(chunk));
  socket.on("drain", () => manager.onSocketDrain());
  // A peer that says goodbye will not answer any more; waiting for our unsent bytes could take for ever.
  socket.on("end", () => socket.destroy());
  socket.on("error", (error) => {
    manager.onSocketError(error);
    // A TLS socket that has read an alert stays open by itself, and nothing comes on it any more.
    socket.destroy();
  });
  socket.on("close", (hadError) => manager.onSocketClosed(hadError));
}
