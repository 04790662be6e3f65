import { Socket } from "node:net";
import { expect, test } from "vitest";
import type { ConnectionManager } from "../../src/client/library.js";
import { leadEvents } from "../../src/client/manager-hooks.js";

test("a socket ends with its error, also where it would stay open by itself", () => {
  const seen: string[] = [];
  const manager = { onSocketError: (error: Error) => seen.push(error.message), onSocketClosed: () => {} };
  const socket = new Socket();
  leadEvents(socket, "connect", manager as unknown as ConnectionManager);
  // A TLS socket reports an alert after its handshake like this, and stays open.
  socket.emit("error", new Error("alert"));
  expect(seen).toEqual(["alert"]);
  expect(socket.destroyed).toBe(true);
});
