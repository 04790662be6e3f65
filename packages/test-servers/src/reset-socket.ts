import type { Socket } from "node:net";

/**
 * Sends RST instead of FIN, now. A socket whose own end is on its way cannot be reset any more: Node would keep its
 * handle, and with it the process, for ever. So such a socket is destroyed as usual.
 */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded && !socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}
