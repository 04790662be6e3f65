import { type AddressInfo, createServer } from "node:net";
import { eventually } from "@holdfast/test-servers";
import { expect, onTestFinished, test } from "vitest";
import { open } from "../session/support.js";

test("options of TLS that cannot be read once end that attempt with their error, and the next attempt is made all the same", async () => {
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    socket.on("error", () => {});
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  let reads = 0;
  const tls = {
    get ca(): string[] {
      reads += 1;
      if (reads > 3) return [];
      throw new Error("half written");
    },
  };
  const session = open(`127.0.0.1:${(server.address() as AddressInfo).port}`, { tls });
  await expect(session.whenConnected({ waitMs: 1 })).rejects.toMatchObject({
    code: "HF_BACKEND",
    message: expect.stringContaining("option tls: half written"),
  });
  await eventually(() => accepted >= 2, { withinMs: 10_000, what: "attempts after the one that failed" });
  expect(reads).toBeGreaterThan(3);
});
