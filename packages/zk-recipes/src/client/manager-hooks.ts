import { type ConnectionManager, type LibraryPacket, ManagerState } from "./library.js";
import type { SentPacket } from "./packet.js";
import type { PendingQueue } from "./pending-queue.js";
import { takeOver } from "./take-over.js";

/** What is done in the library's stead. */
export interface ManagerHooks {
  connected(): void;
  data(chunk: Buffer): void;
  drain(): void;
  error(error: Error): void;
  closed(): void;
  /** The library is about to write requests of its own. */
  readable(): void;
  /** Its state became so, before its own listeners are told. */
  connecting(): void;
  closing(): void;
}

/**
 * Sets the hooks on this one manager, with what it has in flight moved to `pending`. The result is the beginning of a frame
 * that had arrived on its connection, if there is one.
 */
export function hookInto(
  manager: ConnectionManager,
  pending: PendingQueue<SentPacket | LibraryPacket>,
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
  manager.onSocketConnected = (): void => hooks.connected();
  manager.onSocketData = (chunk): void => hooks.data(chunk);
  manager.onSocketDrain = (): void => hooks.drain();
  manager.onSocketError = (error): void => hooks.error(error);
  manager.onSocketClosed = (): void => hooks.closed();
  manager.packetQueue.prependListener("readable", () => hooks.readable());
  manager.prependListener("state", (state: number) => {
    if (state === ManagerState.connecting) hooks.connecting();
    if (state === ManagerState.closing) hooks.closing();
  });
  const { socket } = manager;
  if (socket !== undefined && !socket.closed) takeOver(socket, manager);
  return begun;
}
