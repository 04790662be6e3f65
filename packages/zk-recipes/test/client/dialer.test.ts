import { type AddressInfo, createServer } from "node:net";
import { eventually } from "@holdfast/test-servers";
import { expect, onTestFinished, test } from "vitest";
import { open } from "../session/support.js";

/** A server that ends each connection at once. */
async function hangingUp(): Promise<{ readonly connect: string; readonly accepted: number }> {
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    socket.on("error", () => {});
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return {
    connect: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get accepted() {
      return accepted;
    },
  };
}

test("options of TLS that cannot be read once end that attempt with their error, and the next attempt is made all the same", async () => {
  const server = await hangingUp();
  let reads = 0;
  const tls = {
    get ca(): string[] {
      reads += 1;
      if (reads > 3) return [];
      throw new Error("half written");
    },
  };
  const session = open(server.connect, { tls });
  await expect(session.whenConnected({ waitMs: 1 })).rejects.toMatchObject({
    code: "HF_BACKEND",
    message: expect.stringContaining("option tls: half written"),
  });
  await eventually(() => server.accepted >= 2, {
    withinMs: 10_000,
    what: "attempts after the one that failed",
  });
  expect(reads).toBeGreaterThan(3);
});

test("a server name of TLS that becomes no string ends each attempt with its error, and opens no connection", async () => {
  const server = await hangingUp();
  let reads = 0;
  const tls = {
    get servername(): string {
      reads += 1;
      return 5 as never;
    },
  };
  const session = open(server.connect, { tls });
  await expect(session.whenConnected({ waitMs: 1 })).rejects.toMatchObject({
    code: "HF_BACKEND",
    message: expect.stringContaining("option tls: servername must be a string; got 5"),
  });
  await eventually(() => reads > 3, { withinMs: 10_000, what: "attempts after the first" });
  expect(server.accepted).toBe(0);
});
