import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type Server } from "node:tls";
import { BackendError } from "@holdfast/core";
import { eventually, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRequest, open } from "./support.js";

let server: ZooKeeperNode;
let terminator: Server;
let ca: Buffer;
const links = new Set<{ destroy(): void }>();

/** A certificate for localhost that is valid for two days. */
function selfSigned(): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-tls-"));
  try {
    const files = ["-keyout", join(folder, "key"), "-out", join(folder, "cert")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"];
    const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    execFileSync("openssl", [...args, ...files, ...subject], { stdio: "pipe" });
    return { key: readFileSync(join(folder, "key")), cert: readFileSync(join(folder, "cert")) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

beforeAll(async () => {
  server = await startZooKeeper();
  const identity = selfSigned();
  ca = identity.cert;
  terminator = createServer(identity, (client) => {
    const backend = connectTcp({ host: server.host, port: server.port });
    links.add(client).add(backend);
    client.on("error", () => backend.destroy()).on("close", () => backend.destroy());
    backend.on("error", () => client.destroy()).on("close", () => client.destroy());
    client.pipe(backend).pipe(client);
  });
  await new Promise<void>((resolve) => terminator.listen(0, "localhost", resolve));
});

afterAll(async () => {
  for (const link of links) link.destroy();
  await new Promise((resolve) => terminator.close(resolve));
  await server.stop();
});

const connectString = (): string => `localhost:${(terminator.address() as { port: number }).port}`;

describe("a session through TLS", () => {
  test("works, and reconnects", async () => {
    const session = open(connectString(), { tls: { ca } });
    await session.whenConnected();
    const made = await session.request("create2", createRequest("/tls", 1));
    expect(made.stat.ephemeralOwner).toBe(session.id);
    for (const link of links) link.destroy();
    await eventually(() => session.connection === 2 && session.state === "connected", {
      what: "the reconnect",
    });
    expect((await session.request("exists", { path: "/tls", watch: false })).stat.ephemeralOwner).toBe(
      session.id,
    );
    await session.close();
  });

  test("fails within a second on a certificate it does not trust, and says so", async () => {
    const session = open(connectString(), { tls: {} });
    const error = await session.whenConnected().then(
      () => null,
      (reason: unknown) => reason as Error,
    );
    expect(error).toBeInstanceOf(BackendError);
    expect(error?.message).toMatch(/self-signed certificate/);
  });

  test("does not hold up a client that speaks no TLS to it for longer than its limit", async () => {
    const session = open(connectString(), { connectTimeoutMs: 1_200 });
    await expect(session.whenConnected()).rejects.toThrow(BackendError);
  });
});
