import type { Socket } from "node:net";
import type { ConnectionManager } from "./library.js";

/**
 * Leads the events of a socket to what is on `manager` now. On a socket that was open before the hooks were set, the library's
 * own listeners are bound to its prototype; no others are touched.
 */
export function takeOver(socket: Socket, manager: ConnectionManager): void {
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
