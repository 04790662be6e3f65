import { createServer, type Socket } from "node:net";
import { eventually } from "@holdfast/test-servers";
import { errorCodes } from "@holdfast/zk-protocol";
import { describe, expect, onTestFinished, test } from "vitest";
import { adoptSession } from "../../src/session/open-session.js";
import type { ZooKeeperSession } from "../../src/session/types.js";
import { type MakeClient, ours, stock } from "./clients-under-test.js";
import { countTurns } from "./clock-of-turns.js";
import { type ScriptedConnection, type ScriptedRequest, ScriptedServer } from "./scripted-server.js";
import { stockClient } from "./stock-client.js";
import { open, runtime } from "./support.js";

countTurns();

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Ends the present connection, and leaves the next handshakes without an answer. */
function cutOff(server: ScriptedServer): void {
  server.greet = () => null;
  server.last.socket.destroy();
}

/** Ends the session at the server, which reports that at the next handshake and then closes the connection. */
function expire(server: ScriptedServer): void {
  server.greet = ({ socket }) => {
    setImmediate(() => socket.end());
    return "expired";
  };
  server.last.socket.destroy();
}

/** The stock library must show each defect. Otherwise its absence in our session proves nothing. */
describe("what becomes of a session over the library and over us:", () => {
  describe("a session that the server has expired", () => {
    async function aftermath(make: MakeClient): Promise<{ state: string; later: string | null }> {
      const server = await ScriptedServer.start();
      const client = await make(server.connectString, { sessionTimeoutMs: 2_000 });
      expire(server);
      await eventually(() => client.over && !client.connected, { what: "the end of the session" });
      await pause(50); // in this time stock may report more
      return { state: client.state, later: await client.exists("/a") };
    }

    test("reads as disconnected with stock, and its requests as if the link alone were gone", async () =>
      expect(await aftermath(stock)).toEqual({ state: "DISCONNECTED", later: "CONNECTION_LOSS" }));
    test("is lost with us, and every request says so", async () =>
      expect(await aftermath(ours)).toEqual({ state: "lost", later: "SessionLostError" }));
  });

  describe("a session whose credentials were refused", () => {
    async function aftermath(make: MakeClient): Promise<{ state: string; later: string | null }> {
      const server = await ScriptedServer.start();
      server.onRequest = (request, connection) => {
        if (request.op !== "auth") return false;
        connection.refuse(request.xid, errorCodes.AuthFailed, 0n).flush();
        connection.socket.end();
        return true;
      };
      const wishes = { sessionTimeoutMs: 2_000, auth: { scheme: "custom", auth: "x" } };
      const client = await make(server.connectString, wishes, false);
      await eventually(() => client.over, { what: "the refusal" });
      await pause(50);
      return { state: client.state, later: await client.exists("/a") };
    }

    test("reads as disconnected with stock", async () =>
      expect(await aftermath(stock)).toEqual({ state: "DISCONNECTED", later: "CONNECTION_LOSS" }));
    test("is lost with us", async () =>
      expect(await aftermath(ours)).toEqual({ state: "lost", later: "SessionLostError" }));
  });

  describe("an expired client that is asked to connect once more", () => {
    test("sends the dead session again with stock, and expires again", async () => {
      const server = await ScriptedServer.start();
      const options = { sessionTimeoutMs: 2_000, spinDelayMs: 20 };
      const { client, states, connected } = stockClient(server.connectString, options);
      await connected();
      expire(server);
      await eventually(() => states.at(-2) === "EXPIRED", { what: "the end of the session" });
      expect(server.connections.length).toBe(2);
      client.connect();
      await eventually(() => states.filter((state) => state === "EXPIRED").length === 2, {
        what: "the second end",
      });
      expect(server.connections.length).toBe(3);
      expect(server.last.handshake?.sessionId).toBe(server.sessionId);
    });

    test("refuses the wait for a connection with us, and no server is bothered", async () => {
      const server = await ScriptedServer.start();
      const session = open(server.connectString);
      await session.whenConnected();
      expire(server);
      await eventually(() => session.state === "lost", { what: "the end of the session" });
      const dialled = server.connections.length;
      await expect(session.whenConnected()).rejects.toThrow(/session is over/);
      await pause(200); // longer than the first pauses between two attempts
      expect(server.connections.length).toBe(dialled);
    });
  });

  describe("no server within reach for twice the session time-out", () => {
    async function knowsItsEnd(make: MakeClient): Promise<boolean> {
      const server = await ScriptedServer.start();
      server.timeoutMs = 600;
      const client = await make(server.connectString, { sessionTimeoutMs: 600 });
      await server.stop();
      const startMs = performance.now();
      while (!client.over && performance.now() - startMs < 1_200) await pause(10);
      return client.over;
    }

    test("leaves stock hoping for its session", async () => expect(await knowsItsEnd(stock)).toBe(false));
    test("ends the session with us, by its own clock", async () =>
      expect(await knowsItsEnd(ours)).toBe(true));
  });

  describe("a write asked for while the link is down, whose caller has given up", () => {
    async function fate(make: MakeClient): Promise<{ answer: string | null; sentLater: boolean }> {
      const server = await ScriptedServer.start();
      // The server is named twice, so that stock goes on at once after the attempt without an answer.
      const both = `${server.connectString},${server.connectString}`;
      const client = await make(both, { sessionTimeoutMs: 2_000 });
      cutOff(server);
      await eventually(() => !client.connected, { what: "the cut" });
      const answer = await client.create("/late", { withinMs: 200 });
      server.greet = () => "welcome";
      server.last.socket.destroy();
      await eventually(() => client.connected, { what: "the reconnect" });
      expect(await client.exists("/a")).toBe("ok");
      const { ops } = server.last;
      return { answer, sentLater: ops.includes("create") || ops.includes("create2") };
    }

    test("is sent by stock all the same when the link is back", async () =>
      expect(await fate(stock)).toEqual({ answer: null, sentLater: true }));
    test("is refused by us at once, and never sent", async () =>
      expect(await fate(ours)).toEqual({ answer: "NotConnectedError", sentLater: false }));
  });

  describe("a create whose connection ends before the answer", () => {
    /** Counts how often the server received the create. */
    function counting(server: ScriptedServer): () => number {
      let creates = 0;
      server.onRequest = (request: ScriptedRequest, connection: ScriptedConnection) => {
        if (request.op !== "create" && request.op !== "create2") return false;
        creates += 1;
        connection.socket.destroy();
        return true;
      };
      return () => creates;
    }

    test("is sent again by stock's `retries`, which makes a second sequential node", async () => {
      const server = await ScriptedServer.start();
      server.timeoutMs = 400; // also bounds the pause before the retry
      const creates = counting(server);
      const options = { sessionTimeoutMs: 400, retries: 1, spinDelayMs: 20 };
      const { client, connected } = stockClient(server.connectString, options);
      await connected();
      client.create("/lock-", Buffer.from(""), 2, () => {});
      await eventually(() => creates() === 2, { what: "the second create" });
    });

    test("is sent once by us, and its outcome is unknown", async () => {
      const server = await ScriptedServer.start();
      const creates = counting(server);
      const client = await ours(server.connectString, { sessionTimeoutMs: 2_000 });
      expect(await client.create("/lock-")).toBe("OutcomeUnknownError");
      await eventually(() => client.connected, { what: "the reconnect" });
      expect(await client.exists("/a")).toBe("ok");
      expect(creates()).toBe(1);
    });
  });

  describe("asking for the connection twice", () => {
    test("opens two sockets with stock, and greets twice on one of them", async () => {
      const received: number[] = [];
      const mute = createServer((socket) => {
        const index = received.push(0) - 1;
        socket.on("error", () => {});
        socket.on("data", (chunk: Buffer) => {
          received[index] = (received[index] as number) + chunk.length;
        });
      });
      await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
      const address = `127.0.0.1:${(mute.address() as { port: number }).port}`;
      // The server is named twice. With one server the library would look for a second one, which is an uncaught TypeError.
      const { client } = stockClient(`${address},${address}`, { sessionTimeoutMs: 2_000 });
      onTestFinished(() => void mute.close());
      const sockets: Socket[] = [];
      mute.on("connection", (socket) => sockets.push(socket));
      onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
      client.connect();
      client.connect();
      const greetingBytes = 48;
      await eventually(() => Math.max(0, ...received) === 2 * greetingBytes, { what: "both greetings" });
      expect([...received].sort((a, b) => a - b)).toEqual([0, 2 * greetingBytes]);
    });

    // Our session has no connect() to call twice: it dials from the start, and a caller that needs a connection waits.
    test("is not possible with us: one socket serves all calls that wait", async () => {
      const server = await ScriptedServer.start();
      const session = open(server.connectString);
      await Promise.all([session.whenConnected(), session.whenConnected()]);
      await session.whenConnected();
      await session.request("sync", { path: "/" });
      expect(server.connections.length).toBe(1);
    });
  });

  describe("what waits for a connection that takes three attempts", () => {
    /** The order in which the server at last gets a credential, a watch, and a request made while the link was down. */
    async function order(adopted: "never" | "before" | "at the third attempt"): Promise<string[]> {
      const server = await ScriptedServer.start();
      const threefold = Array.from({ length: 3 }, () => server.connectString).join(",");
      const { client, connected } = stockClient(threefold, { sessionTimeoutMs: 6_000, spinDelayMs: 20 });
      const adopt = (): ZooKeeperSession => {
        const session = adoptSession(client, { runtime });
        onTestFinished(() => session.close());
        return session;
      };
      client.addAuthInfo("digest", Buffer.from("u:p"));
      await connected();
      if (adopted === "before") await adopt().whenConnected();
      await new Promise((resolve) => client.getData("/watched", () => {}, resolve));
      const dialled = server.connections.length;
      let asked: Promise<unknown> | null = null;
      client.once("disconnected", () => {
        asked = new Promise((resolve) => client.exists("/asked", resolve));
      });
      server.greet = ({ socket }) => {
        if (server.connections.length < dialled + 3) socket.destroy();
        return null;
      };
      server.last.socket.destroy();
      const third = await eventually(() => server.connections[dialled + 2], { what: "the third attempt" });
      await eventually(() => third.handshake !== null, { what: "its greeting" });
      if (adopted === "at the third attempt") adopt();
      third.welcome();
      await asked;
      return third.ops.filter((op) => op === "auth" || op === "setWatches" || op === "exists");
    }

    test("is the request first with stock, then credentials and watches once per attempt", async () => {
      const perAttempt = ["auth", "setWatches"];
      expect(await order("never")).toEqual(["exists", ...perAttempt, ...perAttempt, ...perAttempt]);
    });
    test("is credentials, watches, request with us, each once", async () =>
      expect(await order("before")).toEqual(["auth", "setWatches", "exists"]));
    test("is so with us too when the client was adopted with leftovers of its attempts", async () =>
      expect(await order("at the third attempt")).toEqual(["auth", "setWatches", "exists"]));
  });

  describe("a transaction that fails with a code newer than the library", () => {
    async function result(make: MakeClient): Promise<{ answer: string | null; thrown: number }> {
      const server = await ScriptedServer.start();
      server.onRequest = (request, connection) => {
        if (request.op !== "multi") return false;
        connection.refuse(request.xid, errorCodes.QuotaExceeded).flush();
        return true;
      };
      const client = await make(server.connectString, { sessionTimeoutMs: 9_000 });
      return { answer: await client.deleteIfVersion0("/a", 300), thrown: client.thrown.length };
    }

    test("ends the process with stock", async () =>
      expect(await result(stock)).toEqual({ answer: null, thrown: 1 }));
    test("is an error like any other with us", async () =>
      expect(await result(ours)).toEqual({ answer: "QuotaExceeded", thrown: 0 }));
  });
});
