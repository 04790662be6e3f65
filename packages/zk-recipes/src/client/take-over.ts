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
