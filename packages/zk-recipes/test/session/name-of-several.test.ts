import dns from "node:dns";
import { type AddressInfo, createServer } from "node:net";
import { eventually, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { expect, onTestFinished, test, vi } from "vitest";
import { open, runtime } from "./support.js";

test("a session gets past a server that greets no client to the next address of the same name", async () => {
  let accepted = 0;
  const mute = createServer((socket) => {
    accepted += 1;
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => mute.close(() => resolve())));
  const { port } = mute.address() as AddressInfo;
  // Clients on this machine connect from 127.0.0.1, so none of them has taken the same port of another address.
  const server = await startEmbeddedZooKeeper({ host: "127.0.0.2", port });
  onTestFinished(() => server.stop());
  const found = ["127.0.0.1", "127.0.0.2"].map((address) => ({ address, family: 4 }));
  const answer = (_: string, __: unknown, callback: (error: null, all: typeof found) => void) =>
    setImmediate(callback, null, found);
  const lookup = vi.spyOn(dns, "lookup").mockImplementation(answer as unknown as typeof dns.lookup);
  onTestFinished(() => lookup.mockRestore());
  const session = open(`several.invalid:${port}`, { runtime: { ...runtime, random: () => 0 } });
  await eventually(() => session.state === "connected", {
    withinMs: 10_000,
    what: "the second address to be tried",
  });
  expect(accepted).toBe(1);
});
