import dns from "node:dns";
import { type AddressInfo, createServer } from "node:net";
import { eventually, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { expect, onTestFinished, test, vi } from "vitest";
import { open, runtime } from "./support.js";

test("a session gets past a server that greets no client to the next address of the same name", async () => {
  const server = await startEmbeddedZooKeeper({ host: "127.0.0.2" });
  onTestFinished(() => server.stop());
  let accepted = 0;
  const mute = createServer((socket) => {
    accepted += 1;
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => mute.listen(server.port, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => mute.close(() => resolve())));
  expect((mute.address() as AddressInfo).port).toBe(server.port);
  const found = ["127.0.0.1", "127.0.0.2"].map((address) => ({ address, family: 4 }));
  const answer = (_: string, __: unknown, callback: (error: null, all: typeof found) => void) =>
    setImmediate(callback, null, found);
  const lookup = vi.spyOn(dns, "lookup").mockImplementation(answer as unknown as typeof dns.lookup);
  onTestFinished(() => lookup.mockRestore());
  const session = open(`several.invalid:${server.port}`, { runtime: { ...runtime, random: () => 0 } });
  await eventually(() => session.state === "connected", {
    withinMs: 10_000,
    what: "the second address to be tried",
  });
  expect(accepted).toBe(1);
});
