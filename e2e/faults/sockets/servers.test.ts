import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { startDashboard } from "@holdfast/dashboard";
import { eventually, startEmbeddedZooKeeper, startProxy } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serveShop } from "../../../apps/order-stock/src/shop/serve.js";

interface Opened {
  readonly port: number;
  close(): unknown;
}

interface Kind {
  /** The request of a client. The server answers it with at least one byte. */
  readonly request: Buffer;
  open(): Promise<Opened>;
}

const portOf = (address: string): number => Number(address.split(":").at(-1));

async function dashboard(): Promise<Opened> {
  const opened = await startDashboard({ listen: { port: 0 }, clusters: [] }, { directory: ".", env: {} });
  return { port: Number(new URL(opened.url).port), close: () => opened.close() };
}

const kinds: Readonly<Record<string, Kind>> = {
  "an answer of the dashboard": {
    request: Buffer.from("GET /api/v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
    open: dashboard,
  },
  "the stream of events of the dashboard": {
    request: Buffer.from("GET /api/v1/events?overview HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
    open: dashboard,
  },
  "the embedded ZooKeeper": {
    request: Buffer.from("srvr"),
    open: async () => {
      const server = await startEmbeddedZooKeeper();
      return { port: portOf(server.connectString), close: () => server.stop() };
    },
  },
  "a fault proxy": {
    request: Buffer.from("srvr"),
    open: async () => {
      const server = await startEmbeddedZooKeeper();
      const proxy = await startProxy({ target: server.connectString });
      return { port: proxy.port, close: () => Promise.all([proxy.close(), server.stop()]) };
    },
  },
  "the shop of the example": {
    request: Buffer.from('{"op":"look"}\n'),
    open: async () => {
      const { server, port } = await serveShop();
      return { port, close: () => server.close() };
    },
  },
};

/** How much of its request a client sends before it leaves; `answered`: all, and it has read the first bytes of the answer. */
const steps = ["nothing", "half", "all", "answered"] as const;

const cuts: Readonly<Record<string, (socket: Socket) => void>> = {
  FIN: (socket) => socket.destroySoon(),
  "half close": (socket) => socket.end(),
  RST: (socket) => socket.resetAndDestroy(),
  "nonsense and RST": (socket) => socket.write(Buffer.alloc(64, 7), () => socket.resetAndDestroy()),
};

const uncaught: string[] = [];
const monitor = (error: Error): void => void uncaught.push(error.message);
beforeAll(() => void process.on("uncaughtExceptionMonitor", monitor));
afterAll(() => void process.off("uncaughtExceptionMonitor", monitor));

async function goAway(
  port: number,
  request: Buffer,
  step: string,
  cut: (socket: Socket) => void,
): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  await once(socket, "connect");
  if (step !== "nothing") socket.write(step === "half" ? request.subarray(0, request.length / 2) : request);
  if (step === "answered") await once(socket, "data");
  socket.resume();
  cut(socket);
  return socket;
}

for (const [name, { request, open }] of Object.entries(kinds)) {
  test(`no error of a socket goes uncaught when clients go at each step and in each way: ${name}`, async () => {
    const server = await open();
    const gone = await Promise.all(
      steps.flatMap((step) => Object.values(cuts).map((cut) => goAway(server.port, request, step, cut))),
    );
    // The server still answers the next client.
    const last = await goAway(server.port, request, "answered", () => {});
    await server.close();
    for (const socket of [...gone, last]) socket.destroy();
    await eventually(() => [...gone, last].every(({ closed }) => closed), { what: "the clients to be gone" });
    expect(uncaught).toEqual([]);
  });
}
