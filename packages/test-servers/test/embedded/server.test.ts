import { encodeFrame, encodeRequestHeader, opCodes } from "@holdfast/zk-protocol";
import { afterEach, expect, test, vi } from "vitest";
import { ManualClock, startEmbeddedZooKeeper } from "../../src/embedded/index.js";
import { Random } from "../../src/embedded/random.js";
import { eventually, fourLetterWord } from "../../src/index.js";
import { Bench } from "./support/embedded.js";
import { childrenOf, create, createOf, ephemeral, ok, sequential, statOf } from "./support/requests.js";
import { connectFrame, requestFrame } from "./support/wire.js";

afterEach(() => {
  vi.useRealTimers();
});

test("garbage closes its own connection and disturbs no other", async () => {
  const seed = Date.now() % 1_000_000;
  const random = new Random(seed);
  // The client that must not be disturbed sends nothing for 300 rounds, however long they take. Its session must last for them.
  await using bench = await Bench.start({ clock: new ManualClock() });
  const good = await bench.open({ timeoutMs: 10_000 });
  await create(good, "/e", ephemeral);
  await ok(good.ask("getChildren", { path: "/", watch: true }));
  const before = bench.server.describe();
  const codes = Object.values(opCodes).filter((code) => code !== opCodes.closeSession);
  for (let run = 0; run < 300; run++) {
    const bytes = Buffer.from(Array.from({ length: 1 + random.below(60) }, () => random.below(256)));
    const socket = bench.raw();
    switch (random.below(4)) {
      case 0: // random bytes
        socket.write(bytes);
        break;
      case 1: // frames of random bytes
        socket.write(encodeFrame(bytes), encodeFrame(bytes));
        break;
      case 2: // a handshake, then half of a frame
        socket.write(connectFrame({ timeoutMs: 1_000 }), encodeFrame(bytes).subarray(0, bytes.length));
        break;
      default: {
        // a handshake, then real operations with bodies of random bytes
        const type = codes[random.below(codes.length)] ?? 1;
        socket.write(
          connectFrame({ timeoutMs: 1_000 }),
          encodeFrame(encodeRequestHeader({ xid: 1, type }), bytes),
        );
      }
    }
    socket.socket.end();
    await socket.closed();
  }
  expect((await good.ask("ping", undefined)).err).toBe(0);
  expect({ seed, ended: good.ended, events: good.types }).toEqual({ seed, ended: false, events: [] });
  expect(bench.server.describe()).toBe(before);
});

test("a peer that announces much and sends little holds up no other client", async () => {
  await using bench = await Bench.start();
  const length = Buffer.alloc(4);
  length.writeInt32BE(0xfffff);
  for (let i = 0; i < 50; i++) {
    const wire = await bench.open();
    wire.write(length, Buffer.alloc(10));
  }
  expect(await create(await bench.open(), "/a")).toBe("/a");
});

test("a thousand idle connections disturb no client, and are closed without a handshake", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock });
  const idle = Array.from({ length: 1_000 }, () => bench.raw());
  await eventually(() => idle.every(({ socket }) => socket.readyState === "open"), {
    what: "a thousand connections",
  });
  const wire = await bench.open();
  await create(wire, "/e", ephemeral);
  clock.advance(4_000);
  await wire.ask("ping", undefined);
  clock.advance(4_000);
  await wire.ask("ping", undefined);
  clock.advance(2_001);
  await eventually(() => idle.every(({ ended }) => ended), { what: "them to be closed" });
  expect(idle.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(0);
  expect((await statOf(wire, "/e"))?.ephemeralOwner).toBe(wire.session.sessionId);
});

test("bytes may come one at a time, from the handshake on", async () => {
  await using bench = await Bench.start();
  const wire = bench.start();
  const reply = wire.expect("create");
  for (const byte of requestFrame(1, "create", createOf("/a"))) {
    wire.write(Buffer.from([byte]));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  expect((await ok(reply)).path).toBe("/a");
});

test("a four-letter word may come in pieces", async () => {
  await using bench = await Bench.start({ words: ["ruok"] });
  const socket = bench.raw();
  const texts: string[] = [];
  socket.socket.removeAllListeners("data");
  socket.socket.on("data", (chunk) => texts.push(chunk.toString()));
  socket.write(Buffer.from("ru"));
  await new Promise<void>((resolve) => setImmediate(resolve));
  socket.write(Buffer.from("ok\n"));
  await socket.closed();
  expect(texts.join("")).toBe("imok");
});

test("conf, isro, stat and wchc say what operators look for", async () => {
  await using bench = await Bench.start({ words: "all", tickTimeMs: 200, maxSessionTimeoutMs: 9_000 });
  const wire = await bench.open();
  await ok(wire.ask("exists", { path: "/", watch: true }));
  const { server } = bench;
  const conf = await fourLetterWord("conf", server);
  expect(conf).toContain(`clientPort=${server.port}\n`);
  expect(conf).toContain("tickTime=200\n");
  expect(conf).toContain("minSessionTimeout=400\nmaxSessionTimeout=9000\n");
  expect(await fourLetterWord("isro", server)).toBe("rw");
  expect(await fourLetterWord("stat", server)).toMatch(/\nClients:\n {1}\/127\.0\.0\.1:\d+\[/);
  expect(await fourLetterWord("wchc", server)).toContain(`0x${wire.session.sessionId.toString(16)}\n\t/\n`);
  const version = "3.8.0-holdfast-embedded, built on 1970-01-01 00:00 UTC\n";
  expect(await fourLetterWord("srvr", server)).toContain(`Zookeeper version: ${version}`);
  expect(await fourLetterWord("envi", server)).toContain(`\nzookeeper.version=${version}`);
  expect(await fourLetterWord("dirs", server)).toContain("whitelist");
});

test("connections past the limit are closed at once", async () => {
  await using bench = await Bench.start({ maxClientCnxns: 2 });
  const first = await bench.open();
  await bench.open();
  await bench.start().closed();
  first.destroy();
  await eventually(async () => (await bench.open()).greeted, { what: "a place to be free" });
});

test("time that is driven by hand expires a session in its tick and cleans containers at their interval", async () => {
  const clock = new ManualClock();
  await using bench = await Bench.start({ clock, containerCheckIntervalMs: 60_000 });
  const wire = await bench.open({ timeoutMs: 1_000 });
  await ok(wire.ask("createContainer", createOf("/c", { flags: 4 })));
  await create(wire, "/c/e", ephemeral);
  clock.advance(1_000);
  expect(bench.server.sessions()).toMatchObject([
    { timeoutMs: 1_000, connected: true, ephemerals: ["/c/e"] },
  ]);
  clock.advance(500);
  expect(bench.server.sessions()).toEqual([]);
  await wire.closed();
  expect(bench.server.nodes("/c").map(({ path, kind }) => [path, kind])).toEqual([["/c", "container"]]);
  clock.advance(58_499);
  expect(bench.server.describe()).toBe("/ persistent\n/c container");
  clock.advance(1);
  expect(bench.server.describe()).toBe("/ persistent");
});

test("sequences can be preset, below parents that are made for them", async () => {
  await using bench = await Bench.start({ sequences: { "/locks": 100, "/locks/deep/q": 1_999_999_999 } });
  const wire = await bench.open();
  expect(await create(wire, "/locks/deep/q/s-", sequential)).toBe("/locks/deep/q/s-1999999999");
  // The node that was made below it does not count.
  expect(await create(wire, "/locks/s-", sequential)).toBe("/locks/s-0000000100");
  expect(() => bench.server.setSequence("/absent", 1)).toThrow("/absent");
  expect(() => bench.server.setSequence("/locks", 2 ** 31)).toThrow(RangeError);
});

test("the server goes on in a process whose timers are faked", async () => {
  await using bench = await Bench.start();
  const wire = await bench.open({ timeoutMs: 1_000 });
  vi.useFakeTimers();
  const closed = new Promise<void>((resolve) => wire.socket.on("end", resolve));
  expect((await wire.ask("ping", undefined)).err).toBe(0);
  await closed; // the session has expired
});

test("operators see and change nodes without a session, and get the errors that a client would get", async () => {
  await using bench = await Bench.start();
  const { operator } = bench.server;
  expect(operator.create("/a", { data: Buffer.from("1") })).toBe("/a");
  expect(operator.create("/a/s-", { flags: 2 })).toBe("/a/s-0000000000");
  expect(operator.setData("/a", Buffer.from("2"), 0).version).toBe(1);
  expect(Buffer.from(operator.getData("/a") ?? []).toString()).toBe("2");
  expect(operator.getChildren("/a")).toEqual(["s-0000000000"]);
  expect(() => operator.delete("/a")).toThrow("NotEmpty");
  expect(operator.exists("/absent")).toBeNull();
});

test("stopping ends connections and gives the port back", async () => {
  const first = await startEmbeddedZooKeeper();
  const second = startEmbeddedZooKeeper({ port: first.port });
  await expect(second).rejects.toThrow("EADDRINUSE");
  await first.stop();
  await first.stop();
  const third = await startEmbeddedZooKeeper({ port: first.port });
  expect(third.connectString).toBe(`127.0.0.1:${first.port}`);
  await third.stop();
});

test("a listing shows exactly the children, of all clients", async () => {
  await using bench = await Bench.start();
  const wires = [await bench.open(), await bench.open()];
  await Promise.all(
    wires.flatMap((wire) => Array.from({ length: 50 }, () => create(wire, "/s-", sequential))),
  );
  const numbers = Array.from({ length: 100 }, (_, n) => `s-${String(n).padStart(10, "0")}`);
  expect(await childrenOf(wires[0] ?? (await bench.open()), "/")).toEqual([...numbers, "zookeeper"]);
});

test("sessions of two starts without state have other ids and passwords, also by a clock that stands", async () => {
  await using bench = await Bench.start({ clock: new ManualClock() });
  await bench.open();
  const [before] = bench.server.sessions();
  await bench.server.restart({ keepState: false });
  await bench.open();
  const [after] = bench.server.sessions();
  expect(after?.id).not.toBe(before?.id);
  expect(after?.password).not.toEqual(before?.password);
});

test("a server that is stopped while it restarts stays down", async () => {
  const server = await startEmbeddedZooKeeper();
  const { port } = server;
  let opened = (): void => {};
  const gate = new Promise<void>((resolve) => {
    opened = resolve;
  });
  const restarted = server.restart({ whileDown: () => gate });
  await server.stop();
  opened();
  await restarted;
  await expect(fourLetterWord("ruok", { port })).rejects.toThrow();
});

test("the connect string of a server at an IPv6 address has it in brackets", async () => {
  await using server = await startEmbeddedZooKeeper({ host: "::1" });
  expect(server.connectString).toBe(`[::1]:${server.port}`);
});
