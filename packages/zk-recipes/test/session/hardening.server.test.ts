import { createServer } from "node:net";
import {
  eventually,
  startProxy,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type ClientUnderTest, type MakeClient, ours, stock } from "./clients-under-test.js";
import { ScriptedServer } from "./scripted-server.js";
import { createRequest, open, runtime, statesOf } from "./support.js";

let server: ZooKeeperNode;
let paths = 0;
const freshPath = (): string => {
  paths += 1;
  return `/hardening-${paths}`;
};

beforeAll(async () => {
  server = await startZooKeeper({ minSessionTimeoutMs: 600 });
});

afterAll(() => server.stop());

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Each scenario returns what became of the client. A scenario is worth its time only because the stock library shows the defect.
 * As the library's version is pinned, only a full run checks that.
 */
const fullRun = process.env.HOLDFAST_FULL === "1";
console.log(`share ${fullRun ? 11 : 0}/11 scenarios on the stock library`);
function testStock(title: string, body: () => Promise<void>): void {
  if (fullRun) test(title, body);
}

describe("what the library gets wrong and the session does not:", () => {
  describe("a silent peer", () => {
    /** Whether the client notices within two time-outs that the peer is silent. */
    async function noticed(make: MakeClient): Promise<boolean> {
      const proxy = await startProxy({ target: server.connectString });
      onTestFinished(() => proxy.close());
      const client = await make(proxy.connectString, { sessionTimeoutMs: 1_500 });
      await proxy.setMode("hole");
      const endMs = performance.now() + 3_000;
      while (client.connected && performance.now() < endMs) await pause(10);
      return !client.connected;
    }

    testStock("is believed by stock for as long as the test looks", async () =>
      expect(await noticed(stock)).toBe(false),
    );
    test("is noticed by us", async () => expect(await noticed(ours)).toBe(true));

    test("is left for the next server in time to keep the session", async () => {
      const proxy = await startProxy({ target: server.connectString });
      onTestFinished(() => proxy.close());
      const session = open(`${proxy.connectString},${server.connectString}`, {
        sessionTimeoutMs: 3_000,
        runtime: { ...runtime, random: () => 0.999_999 }, // leaves the order of the servers as it is
      });
      await session.whenConnected();
      expect(proxy.accepted).toBe(1);
      const path = freshPath();
      await session.request("create2", createRequest(path, 1));
      const states = statesOf(session);
      await proxy.setMode("hole");
      await eventually(() => states.length === 2, { what: "the next server", everyMs: 5 });
      expect(states).toEqual(["suspended", "connected"]);
      const { stat } = await session.request("exists", { path, watch: false });
      expect(stat.ephemeralOwner).toBe(session.id);
    });
  });

  describe("a server that accepts and never answers the handshake", () => {
    async function connects(make: MakeClient): Promise<boolean> {
      const mute = createServer((socket) => socket.on("error", () => {}));
      await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void mute.close());
      const { port } = mute.address() as { port: number };
      const client = await make(
        `127.0.0.1:${port},${server.connectString}`,
        { sessionTimeoutMs: 2_000 },
        false,
      );
      const startMs = performance.now();
      while (!client.connected && performance.now() - startMs < 3_000) await pause(10);
      return client.connected;
    }

    testStock("holds stock for good", async () => expect(await connects(stock)).toBe(false));
    test("holds us for a share of the time-out", async () => expect(await connects(ours)).toBe(true));
  });

  describe("a connection cut in the middle of a frame", () => {
    async function recovers(make: MakeClient): Promise<boolean> {
      const proxy = await startProxy({ target: server.connectString });
      onTestFinished(() => proxy.close());
      // A client that does not notice the cut believes in its connection for two thirds of this, longer than the attempts take.
      const client = await make(proxy.connectString, { sessionTimeoutMs: 9_000 });
      const path = freshPath();
      expect(await client.create(path, { data: "x".repeat(200_000) })).toBe("ok");
      const cut = proxy.cutAfter(100_000, "down");
      const answer = client.getData(path);
      await cut;
      expect(await answer).not.toBe("ok");
      // The client asks again at once, so that the reconnected session answers and not a new one.
      for (let attempt = 0; attempt < 30; attempt += 1) {
        if ((await client.getData(path, 100)) === "ok") return true;
        await pause(50);
      }
      return false;
    }

    testStock("wedges stock", async () => expect(await recovers(stock)).toBe(false));
    test("costs us a reconnect", async () => expect(await recovers(ours)).toBe(true));
  });

  describe("an error code that the library does not know", () => {
    async function answer(make: MakeClient): Promise<{ result: string | null; thrown: number }> {
      const client = await make(server.connectString, { sessionTimeoutMs: 4_000 });
      return { result: await client.raw("removeWatches", "/nobody-watches"), thrown: client.thrown.length };
    }

    testStock("is thrown out of stock's socket handler and never reaches the caller", async () =>
      expect(await answer(stock)).toEqual({ result: null, thrown: 1 }),
    );
    test("is an ordinary error of ours", async () =>
      expect(await answer(ours)).toEqual({ result: "NoWatcher", thrown: 0 }));
  });

  describe("an operation newer than the library", () => {
    testStock("is done by the server while stock loses connection and callback", async () => {
      const client = await stock(server.connectString, { sessionTimeoutMs: 4_000 });
      const path = freshPath();
      expect(await client.raw("createContainer", path)).toBe(null);
      expect(await client.exists(path)).toBe("ok");
    });

    test("is answered for us", async () => {
      const client = await ours(server.connectString, { sessionTimeoutMs: 4_000 });
      expect(await client.raw("createContainer", freshPath())).toBe("ok");
    });
  });

  describe("the end of the session while a request waits", () => {
    /** How a request ends that was made while the link was down, if the session turns out to be over. */
    async function outcome(make: MakeClient): Promise<string | null> {
      const scripted = await ScriptedServer.start();
      const client = await make(scripted.connectString, { sessionTimeoutMs: 2_000 });
      scripted.greet = () => null;
      scripted.last.socket.destroy();
      await eventually(() => !client.connected, { what: "the cut" });
      const waiting = client.exists("/a", 1_500);
      await eventually(() => scripted.connections.length > 1, { what: "the next attempt" });
      scripted.greet = () => "expired";
      scripted.last.socket.destroy();
      await eventually(() => client.over, { what: "the end of the session" });
      return waiting;
    }

    testStock("leaves the caller of stock without an answer", async () =>
      expect(await outcome(stock)).toBe(null),
    );
    test("leaves none of ours without", async () => expect(await outcome(ours)).toBe("NotConnectedError"));
  });

  describe("a client that only receives", () => {
    /** Whether the session still lives after three time-outs in which only notifications came. */
    async function survives(make: MakeClient): Promise<boolean> {
      const other = open(server.connectString);
      await other.whenConnected();
      const base = freshPath();
      await other.request("create2", createRequest(base));
      const count = 40;
      for (let number = 0; number < count; number += 1) {
        await other.request("create2", createRequest(`${base}/${number}`));
      }
      const client = await make(server.connectString, { sessionTimeoutMs: 2_000 });
      let fired = 0;
      await Promise.all(
        Array.from({ length: count }, (_, number) => client.watch(`${base}/${number}`, () => (fired += 1))),
      );
      for (let number = 0; number < count; number += 1) {
        await other.request("setData", { path: `${base}/${number}`, data: null, version: -1 });
        await pause(150);
      }
      expect(fired).toBeGreaterThan(5);
      return fired === count && !client.over;
    }

    testStock("loses its session with stock, which pings only when nothing comes", async () =>
      expect(await survives(stock)).toBe(false),
    );
    test("keeps it with us", async () => expect(await survives(ours)).toBe(true));
  });

  describe("a transaction that asks for version 0", () => {
    async function deletesVersion1(make: MakeClient): Promise<string | null> {
      const other = open(server.connectString);
      await other.whenConnected();
      const path = freshPath();
      await other.request("create2", createRequest(path));
      await other.request("setData", { path, data: null, version: -1 });
      const client = await make(server.connectString, { sessionTimeoutMs: 4_000 });
      return client.deleteIfVersion0(path);
    }

    testStock("deletes any version with stock", async () => expect(await deletesVersion1(stock)).toBe("ok"));
    test("is refused with us", async () => expect(await deletesVersion1(ours)).toBe("Error"));
  });

  describe("16,000 watches with paths of 70 bytes through a cut link", () => {
    const names = Array.from(
      { length: 16_000 },
      (_, number) => `/${"w".repeat(63)}${String(number).padStart(6, "0")}`,
    );

    async function survive(
      make: MakeClient,
      withinMs: number,
    ): Promise<{ fired: boolean; connections: number }> {
      const proxy = await startZooKeeperProxy({ target: server.connectString, traceLimit: 10 });
      onTestFinished(() => proxy.close());
      const client = await make(proxy.connectString, { sessionTimeoutMs: 10_000 });
      const heard: string[] = [];
      await client.watchMany(names, (path) => heard.push(path));
      const other = open(server.connectString);
      await other.whenConnected();
      const before = proxy.accepted;
      await proxy.setMode("refuse");
      proxy.resetAll();
      const [missed, later] = [names[15_999], names[1]] as [string, string];
      await other.request("create2", createRequest(missed, 1));
      await proxy.setMode("ok");
      const endMs = performance.now() + withinMs;
      while (heard.length === 0 && performance.now() < endMs) await pause(20);
      await other.request("create2", createRequest(later, 1));
      while (heard.length < 2 && performance.now() < endMs) await pause(20);
      await other.close();
      return {
        fired: heard[0] === missed && heard[1] === later && heard.length === 2,
        connections: proxy.accepted - before,
      };
    }

    testStock("make stock connect again and again, in vain", async () => {
      const { fired, connections } = await survive(stock, 3_000);
      expect(fired).toBe(false);
      expect(connections).toBeGreaterThan(5);
    });
    test("come back with us on one connection", async () =>
      expect(await survive(ours, 30_000)).toEqual({ fired: true, connections: 1 }));
  });

  describe("a callback that throws", () => {
    /** Which of ten answers in one chunk were passed on before anything else arrived. */
    async function handled(
      make: MakeClient,
    ): Promise<{ client: ClientUnderTest; done: number[]; uncaught: string[] }> {
      const scripted = await ScriptedServer.start();
      const held: (() => void)[] = [];
      scripted.onRequest = (request, connection) => {
        if (request.op !== "exists") return false;
        held.push(() => connection.refuse(request.xid, -101));
        if (held.length === 10) {
          for (const answer of held) answer();
          connection.flush();
        }
        return true;
      };
      const client = await make(scripted.connectString, { sessionTimeoutMs: 30_000 });
      const uncaught: string[] = [];
      const others = process.listeners("uncaughtException");
      process.removeAllListeners("uncaughtException");
      process.on("uncaughtException", (error) => uncaught.push(error.message));
      onTestFinished(() => {
        process.removeAllListeners("uncaughtException");
        for (const listener of others) process.on("uncaughtException", listener);
      });
      const done: number[] = [];
      client.readMany("/a", 10, (index) => {
        done.push(index);
        if (index === 3) throw new Error("thrown by a callback");
      });
      await eventually(() => done.length >= 4, { what: "four answers" });
      await pause(200);
      return { client, done, uncaught };
    }

    testStock("keeps the answers behind it from stock's callers", async () => {
      const { client, done } = await handled(stock);
      expect(done).toEqual([0, 1, 2, 3]);
      expect(client.thrown.length).toBe(1);
    });
    test("does not hold up the others with us, and its error is not hidden", async () => {
      const { done, uncaught } = await handled(ours);
      expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(uncaught).toEqual(["thrown by a callback"]);
    });
  });

  describe("an answer that the server sits on until something else arrives", () => {
    async function answered(make: MakeClient): Promise<string | null> {
      const proxy = await startZooKeeperProxy({ target: server.connectString });
      onTestFinished(() => proxy.close());
      const client = await make(proxy.connectString, { sessionTimeoutMs: 9_000 });
      await client.exists("/"); // by now everything that a client sends by itself at the start has passed
      proxy.holdReply({ op: "exists", until: "ping" });
      // This is less than a third of the time-out.
      return client.exists("/", 2_500);
    }

    testStock("stays there with stock until a third of the time-out has passed", async () =>
      expect(await answered(stock)).toBe(null),
    );
    test("is chased by us", async () => expect(await answered(ours)).toBe("ok"));
  });

  describe("an IPv6 address in brackets", () => {
    test("is cut at its first colon by stock, and parsed by us", async () => {
      const { default: zookeeper } = await import("node-zookeeper-client");
      const { managerOf } = await import("../../src/client/library.js");
      const { parseConnectString } = await import("../../src/session/connect-string.js");
      expect(managerOf(zookeeper.createClient("[::1]:2181")).servers[0]?.host).toBe("[");
      expect(parseConnectString("[::1]:2181").servers).toEqual([{ host: "::1", port: 2181 }]);
    });
  });
});
