import { type AddressInfo, connect as connectTcp, type Socket } from "node:net";
import { createServer, type TLSSocket, type TlsOptions } from "node:tls";
import { eventually, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connected } from "../../support/providers.js";
import { type Certificate, makeCertificate } from "./certificates.js";
import { rejection } from "./rejection.js";

let server: ZooKeeperNode;
let certificate: Certificate;

beforeAll(async () => {
  [server, certificate] = await Promise.all([
    startZooKeeper(),
    makeCertificate("holdfast", "dns:localhost,ip:127.0.0.1"),
  ]);
});
afterAll(() => server.stop());

interface Terminator {
  readonly port: number;
  /** The TLS connections whose handshake succeeded. */
  readonly secured: TLSSocket[];
}

/** A TLS server that forwards everything to the real server, as stunnel does. */
async function terminator(options: TlsOptions = {}): Promise<Terminator> {
  const secured: TLSSocket[] = [];
  const open = new Set<Socket>();
  const listener = createServer(
    { pfx: certificate.pfx, passphrase: certificate.passphrase, ...options },
    (front) => {
      secured.push(front);
      const back = connectTcp({ host: server.host, port: server.port });
      for (const [socket, other] of [
        [front, back],
        [back, front],
      ] as const) {
        open.add(socket);
        socket.on("error", () => other.destroy()).on("close", () => other.destroy());
        socket.pipe(other);
      }
    },
  );
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    listener.close();
  });
  return { port: (listener.address() as AddressInfo).port, secured };
}

describe("the option tls", () => {
  it.each(["localhost", "127.0.0.1"])("carries a lock over TLS to %s, and through a cut", async (host) => {
    const { port, secured } = await terminator();
    const locks = await connected(`${host}:${port}`, { tls: { ca: certificate.pem } });
    const handle = await locks.mutex("/tls/lock").acquire();
    expect(secured).toHaveLength(1);
    expect(secured[0]?.getProtocol()).toMatch(/^TLSv1\.[23]$/);
    const plain = await connected(server.connectString);
    expect(await plain.mutex("/tls/lock").tryAcquire()).toBeNull();
    secured[0]?.destroy();
    await eventually(() => secured.length === 2 && handle.state === "held" && locks.state === "connected", {
      what: "the session over a second connection",
    });
    await handle.confirm();
    expect(await handle.release()).toBe("released");
  });

  it("shows the client's own certificate to a server that asks for one", async () => {
    const { port, secured } = await terminator({ requestCert: true, ca: certificate.pem });
    const { pfx, passphrase, pem: ca } = certificate;
    const locks = await connected(`localhost:${port}`, { tls: { ca, pfx, passphrase } });
    await using _ = await locks.mutex("/tls/mutual").acquire();
    expect(secured[0]?.getPeerCertificate().subject.CN).toBe("holdfast");
  });

  it.each([
    ["a certificate that no authority vouches for", () => ({}), /self.signed/],
    [
      "a certificate of another name",
      () => ({ ca: certificate.pem, servername: "elsewhere.example" }),
      /altnames|does not match/,
    ],
  ])("does not talk to %s, and says so", async (_what, tls, message) => {
    const { port, secured } = await terminator();
    const locks = zookeeperLocks({ connect: `localhost:${port}`, tls: tls(), connectTimeoutMs: 2_000 });
    onTestFinished(async () => void (await locks.close()));
    const { error, tookMs } = await rejection(() => locks.mutex("/tls/never").acquire());
    expect(error).toMatchObject({ code: "HF_BACKEND" });
    expect(error.message).toMatch(message);
    expect(tookMs).toBeLessThan(8_000);
    for (const socket of secured) expect(socket.bytesRead).toBe(0);
  });

  it("against a server that speaks plain TCP is an outage with its cause", async () => {
    const locks = zookeeperLocks({ connect: server.connectString, tls: {}, connectTimeoutMs: 2_000 });
    onTestFinished(async () => void (await locks.close()));
    const { error, tookMs } = await rejection(() => locks.ready());
    expect(error).toMatchObject({ code: "HF_BACKEND" });
    expect(error.message).toContain(server.connectString);
    console.log(`TLS to a plain server: ${error.message}`);
    expect(tookMs).toBeLessThan(8_000);
  });
});
