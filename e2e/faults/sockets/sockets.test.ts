import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { createServer, type Server } from "node:tls";
import {
  type EmbeddedZooKeeper,
  eventually,
  makeRedisCertificate,
  startEmbeddedZooKeeper,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cut, type CutPlan, CuttingProxy } from "./cutting-proxy.js";
import { FakeRedis } from "./fake-redis.js";
import { type ClientTls, type Kind, kinds } from "./kinds.js";

const { certificate, key } = makeRedisCertificate();
const identity = { cert: certificate, key };

let zookeeper: EmbeddedZooKeeper;
/** A TLS server in front of ZooKeeper. */
let terminator: Server;
/** Errors that would have ended the process. */
const uncaught: string[] = [];
const monitor = (error: Error): void => void uncaught.push(error.message);

beforeAll(async () => {
  process.on("uncaughtExceptionMonitor", monitor);
  zookeeper = await startEmbeddedZooKeeper();
  const [host = "", port = ""] = zookeeper.connectString.split(":");
  terminator = createServer(identity, (client) => {
    const server = connect({ host, port: Number(port) });
    client.on("error", () => server.destroy()).on("close", () => server.destroy());
    server.on("error", () => client.destroy()).on("close", () => client.destroy());
    client.pipe(server).pipe(client);
  });
  terminator.listen(0, "127.0.0.1");
  await once(terminator, "listening");
});
afterAll(async () => {
  process.off("uncaughtExceptionMonitor", monitor);
  terminator?.close();
  await zookeeper?.stop();
});

const wires: readonly { readonly name: string; readonly tls: ClientTls | undefined }[] = [
  { name: "plain TCP", tls: undefined },
  { name: "TLS", tls: { ca: certificate } },
  { name: "TLS with a certificate that is not trusted", tls: {} },
];

function* plansOf(kind: Kind, tls: ClientTls | undefined): Generator<CutPlan> {
  const cuts: Cut[] = ["fin", "half close", "rst", "alert", "own close", "own close, rst"];
  const pieces = tls === undefined ? kind.pieces : tls.ca === undefined ? 1 : kind.pieces + 1;
  for (let piece = 0; piece <= pieces; piece++) {
    for (const cut of cuts) yield { piece, cut };
    if (tls !== undefined && piece > 0) {
      yield { piece, cut: "late alert" };
      yield { piece, cut: "late alert, rst" };
    }
  }
}

async function serverOf(kind: Kind, tls: ClientTls | undefined): Promise<{ port: number; fake?: FakeRedis }> {
  if (kind.server === "redis") {
    const fake = await FakeRedis.open(tls === undefined ? undefined : identity);
    return { port: fake.port, fake };
  }
  return {
    port:
      tls === undefined
        ? Number(zookeeper.connectString.split(":")[1])
        : (terminator.address() as AddressInfo).port,
  };
}

async function cutOnce(kind: Kind, tls: ClientTls | undefined, plan: CutPlan): Promise<void> {
  const { port, fake } = await serverOf(kind, tls);
  const proxy = await CuttingProxy.open(port, plan);
  if (fake !== undefined) fake.publicPort = proxy.port;
  const client = kind.open(proxy.port, tls);
  proxy.closeClient = () => void client.close();
  await eventually(() => proxy.cut > 0, { what: `piece ${plan.piece}, ${plan.cut}`, withinMs: 15_000 });
  await client.over;
  await client.close();
  await proxy.close();
  await fake?.close();
}

/**
 * How many clients are cut at the same time. Both ends of their connections are in this process, and a client has half a second
 * to connect. On a slow machine some fifty TLS handshakes take longer, and would begin again and again.
 */
const atATime = 12;

for (const [name, kind] of Object.entries(kinds)) {
  for (const { name: wire, tls } of wires.filter((each) => kind.tls || each.tls === undefined)) {
    test(`no error of a socket goes uncaught, cut at each step and in each way: ${name}, over ${wire}`, async () => {
      const before = uncaught.length;
      // Closes a client in the turn in which it begins to connect, to a port without a server.
      await kind.open(1, tls).close();
      const plans = [...plansOf(kind, tls)];
      for (let from = 0; from < plans.length; from += atATime)
        await Promise.all(plans.slice(from, from + atATime).map((plan) => cutOnce(kind, tls, plan)));
      expect(uncaught.slice(before)).toEqual([]);
    });
  }
}
