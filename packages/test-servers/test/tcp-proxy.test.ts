import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually, startProxy, type TcpProxy } from "../src/index.js";
import { resetSocket } from "../src/reset-socket.js";
import { type EchoServer, PlainClient, startEchoServer } from "./support/echo-server.js";

let echo: EchoServer;
let proxy: TcpProxy;

beforeEach(async () => {
  echo = await startEchoServer();
  proxy = await startProxy({ target: `127.0.0.1:${echo.port}` });
});

afterEach(async () => {
  await proxy.close();
  await echo.close();
});

/** A connection over which bytes have come back, so both halves of it exist. */
async function talking(): Promise<PlainClient> {
  const client = await PlainClient.connect(proxy.port);
  client.socket.write("hello ");
  await client.receives("hello ");
  return client;
}

/** Waits for the answer on a fresh connection. By then everything that was under way in this process has arrived. */
async function settled(): Promise<void> {
  const direct = await PlainClient.connect(echo.port);
  direct.socket.write("x");
  await direct.receives("x");
  direct.socket.destroy();
}

test("ok passes bytes both ways and the end of each direction by itself", async () => {
  const client = await talking();
  client.socket.end("bye");
  await client.receives("hello bye");
  await client.ends("fin");
  await eventually(() => proxy.open === 0, { what: "the connection to be forgotten" });
  expect(proxy.bytes).toEqual({ up: 9, down: 9 });
  expect(proxy.accepted).toBe(1);
});

test("a hole swallows both ways, keeps the sockets, and resets what lost bytes when it ends", async () => {
  const client = await talking();
  const idle = await talking();
  const before = echo.received;
  await proxy.setMode("hole");
  client.socket.write("lost");
  await eventually(() => client.socket.bytesWritten === 10 && client.socket.writableLength === 0, {
    what: "the write",
  });
  await settled();
  expect(echo.received - before).toBe(1);
  expect(client.state).toBe("open");

  await proxy.setMode("ok");
  await client.ends("ECONNRESET");
  idle.socket.write("goes on");
  await idle.receives("hello goes on");
});

test("a hole accepts new connections and does not lead them on", async () => {
  await proxy.setMode("hole");
  const accepted = echo.sockets.length;
  const client = await PlainClient.connect(proxy.port);
  await eventually(() => proxy.accepted === 1, { what: "the proxy to accept" });
  await settled();
  expect(echo.sockets.length - accepted).toBe(1);
  await proxy.setMode("ok");
  client.socket.write("late");
  await client.receives("late");
});

test("hole-up: the server hears nothing, the client still does", async () => {
  const client = await talking();
  await proxy.setMode("hole-up");
  client.socket.write("lost");
  echo.sockets[0]?.write("news");
  await client.receives("hello news");
  expect(echo.received).toBe(6);
});

test("hole-down: the server hears everything, the client nothing", async () => {
  const client = await talking();
  await proxy.setMode("hole-down");
  client.socket.write("heard");
  await eventually(() => echo.received === 11, { what: "the server to hear it" });
  const late = await PlainClient.connect(proxy.port);
  late.socket.write("too");
  await eventually(() => echo.received === 14, { what: "the server to hear a new connection" });
  await settled();
  expect(client.text).toBe("hello ");
  expect(late.text).toBe("");
});

test("a change from one hole to another resets a connection as soon as a gap could be seen", async () => {
  const client = await talking();
  await proxy.setMode("hole-up");
  client.socket.write("lost");
  echo.sockets[0]?.write("news");
  await client.receives("hello news");
  await eventually(() => client.socket.writableLength === 0, { what: "the write" });
  await settled();
  await proxy.setMode("hole-down");
  await client.ends("ECONNRESET");
});

test("a stall holds everything back and delivers it late, in order", async () => {
  const client = await talking();
  await proxy.setMode("stall");
  client.socket.write("one ");
  client.socket.write("two ");
  const late = await PlainClient.connect(proxy.port);
  late.socket.write("three");
  await settled();
  expect(echo.received).toBe(6 + 1);
  await proxy.setMode("ok");
  await client.receives("hello one two ");
  await late.receives("three");
});

test("stall-down: the server hears everything at once, the client late", async () => {
  const client = await talking();
  await proxy.setMode("stall-down");
  client.socket.write("heard");
  await eventually(() => echo.received === 11, { what: "the server to hear it" });
  await settled();
  expect(client.text).toBe("hello ");
  await proxy.setMode("ok");
  await client.receives("hello heard");
});

test("stall-up: the server hears it late, what it says comes at once", async () => {
  const client = await talking();
  await proxy.setMode("stall-up");
  client.socket.write("late");
  echo.sockets[0]?.write("news ");
  await client.receives("hello news ");
  expect(echo.received).toBe(6);
  await proxy.setMode("ok");
  await client.receives("hello news late");
});

test("refuse: the kernel refuses new connections, old ones go on, and ok listens again", async () => {
  const client = await talking();
  await proxy.setMode("refuse");
  const refused = new PlainClient(proxy.port);
  await refused.ends("ECONNREFUSED");
  client.socket.write("on");
  await client.receives("hello on");
  await proxy.setMode("ok");
  await talking();
});

test("reset: all connections are reset, and each new one after it was accepted", async () => {
  const client = await talking();
  await proxy.setMode("reset");
  await client.ends("ECONNRESET");
  const late = new PlainClient(proxy.port);
  await late.ends("ECONNRESET");
  expect(proxy.accepted).toBe(2);
  await proxy.setMode("ok");
  await talking();
});

test("mute: new connections are accepted and never answered, old ones go on", async () => {
  const client = await talking();
  await proxy.setMode("mute");
  const late = await PlainClient.connect(proxy.port);
  late.socket.write("anybody?");
  client.socket.write("on");
  await client.receives("hello on");
  await eventually(() => proxy.accepted === 2, { what: "the proxy to accept" });
  await settled();
  expect(late.text).toBe("");
  expect(echo.received).toBe(8 + 1);
  await proxy.setMode("ok");
  await late.ends("ECONNRESET");
});

test("resetAll and endAll act on the connections there are and on no later ones", async () => {
  const first = await talking();
  proxy.resetAll();
  await first.ends("ECONNRESET");
  const second = await talking();
  proxy.endAll();
  await second.ends("fin");
  await talking();
});

test("a delay counts each way", async () => {
  const client = await talking();
  proxy.setDelayMs(60);
  const startMs = performance.now();
  client.socket.write("slow");
  await client.receives("hello slow");
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(118);

  proxy.setDelayMs({ down: 60 });
  const downMs = performance.now();
  client.socket.write("er");
  await client.receives("hello slower");
  expect(performance.now() - downMs).toBeGreaterThanOrEqual(59);

  proxy.setDelayMs(0);
  client.socket.write("!");
  await client.receives("hello slower!");

  // The server receives this without a delay. Its answer is due only after the end of the test.
  proxy.setDelayMs({ down: 3_600_000 });
  client.socket.write("?");
  await eventually(() => echo.received === 14, { what: "the server to hear it" });
  expect(client.text).toBe("hello slower!");
});

test("a rate lets bytes trickle", async () => {
  const client = await talking();
  proxy.setRate({ up: 3_000 });
  const startMs = performance.now();
  client.socket.write(Buffer.alloc(3_000, "x"));
  await eventually(() => echo.received === 3_006, { what: "all bytes", everyMs: 1 });
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(990);
  await client.receives(`hello ${"x".repeat(3_000)}`);
  expect(client.chunks.length).toBeGreaterThan(3);
});

test("cutAfter ends the connection after exactly that many bytes, once", async () => {
  const client = await talking();
  const cut = proxy.cutAfter(5, "up");
  client.socket.write("123");
  await client.receives("hello 123");
  client.socket.write("456");
  await cut;
  await eventually(() => client.state !== "open", { what: "the end" });
  await eventually(() => echo.received === 11, { what: "five bytes of six" });
  await settled();
  expect(echo.received).toBe(11 + 1);
  await talking();
});

test("cutAfter down delivers the piece and then ends in order", async () => {
  const client = await talking();
  const cut = proxy.cutAfter(4, "down");
  client.socket.write("123456");
  await cut;
  await client.ends("fin");
  expect(client.text).toBe("hello 1234");
});

test("a dead target resets the client; with dialForMs the connection waits for it", async () => {
  await echo.close();
  const client = new PlainClient(proxy.port);
  await client.ends("ECONNRESET");

  const patient = await startProxy({ target: { host: "127.0.0.1", port: echo.port }, dialForMs: 5_000 });
  const waiting = await PlainClient.connect(patient.port);
  waiting.socket.write("first thing");
  await eventually(() => patient.accepted === 1, { what: "the proxy to accept" });
  await echo.listen();
  await waiting.receives("first thing");
  await patient.close();
});

test("a flood in one direction comes through whole", async () => {
  const client = await talking();
  const bytes = Buffer.alloc(20 << 20, "abcdefgh");
  client.socket.write(bytes);
  await eventually(() => client.text.length === bytes.length + 6, { what: "20 MiB back", everyMs: 50 });
  expect(client.text.endsWith("abcdefgh")).toBe(true);
});

test("close resets what is open and frees the port", async () => {
  const client = await talking();
  await proxy.close();
  await client.ends("ECONNRESET");
  await new PlainClient(proxy.port).ends("ECONNREFUSED");
  await expect(proxy.setMode("ok")).rejects.toThrow("closed");
});

test("wrong arguments are refused with what is wrong", async () => {
  await expect(startProxy({ target: "nowhere" })).rejects.toThrow('host:port, not "nowhere"');
  await expect(proxy.setMode("hole-left" as "hole")).rejects.toThrow("hole-left");
  expect(() => proxy.setRate(0)).toThrow("more than 0");
  expect(() => proxy.cutAfter(-1, "up")).toThrow("cutAfter(-1)");
});

test("a socket whose own end is on its way is closed by a reset all the same, and lets the process go", async () => {
  const client = await PlainClient.connect(echo.port);
  const closed = new Promise<void>((resolve) => client.socket.once("close", () => resolve()));
  client.socket.write("x".repeat(1_000_000));
  client.socket.end();
  resetSocket(client.socket);
  await closed;
  expect(client.socket.destroyed).toBe(true);
});

test("an address that moves leads new connections to the next server and leaves old ones where they are", async () => {
  const old = await talking();
  const next = await startEchoServer();
  try {
    proxy.lead(`127.0.0.1:${next.port}`);
    expect(proxy.target).toEqual({ host: "127.0.0.1", port: next.port });
    const client = await talking();
    expect(next.received).toBe(6);
    old.socket.write("still here");
    await old.receives("hello still here");
    expect(next.received).toBe(6);
    proxy.resetAll();
    await Promise.all([old.ends("ECONNRESET"), client.ends("ECONNRESET")]);
  } finally {
    await next.close();
  }
});
