import { eventually } from "@holdfast/test-servers";
import { encodeFrame, encodeReplyHeader, xids } from "@holdfast/zk-protocol";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type MakeClient, ours, stock } from "./clients-under-test.js";
import { countTurns } from "./clock-of-turns.js";
import { ScriptedServer, someStat } from "./scripted-server.js";
import { stockClient } from "./stock-client.js";
import { open } from "./support.js";

countTurns();

const wishes = { sessionTimeoutMs: 9_000 };

/** The stock library must show each defect. Otherwise its absence in our session proves nothing. */
describe("what becomes of watches with the library and with us:", () => {
  describe("one function that watches one path twice", () => {
    async function calls(make: MakeClient): Promise<number> {
      const server = await ScriptedServer.start();
      const client = await make(server.connectString, wishes);
      let heard = 0;
      const listener = (): void => {
        heard += 1;
      };
      await client.watch("/w", listener);
      await client.watch("/w", listener);
      server.last.event("deleted", "/w").flush();
      expect(await client.exists("/a")).toBe("ok"); // the event came before this answer
      return heard;
    }

    test("is called once by stock", async () => expect(await calls(stock)).toBe(1));
    test("is called for each watch by us", async () => expect(await calls(ours)).toBe(2));
  });

  describe("eleven watchers on one path", () => {
    async function warnings(make: MakeClient): Promise<string[]> {
      const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
      onTestFinished(() => warned.mockRestore());
      const server = await ScriptedServer.start();
      const client = await make(server.connectString, wishes);
      let heard = 0;
      for (let number = 0; number < 11; number += 1) {
        await client.watch("/w", () => {
          heard += 1;
        });
      }
      server.last.event("deleted", "/w").flush();
      await eventually(() => heard === 11, { what: "all eleven" });
      return warned.mock.calls.map(([warning]) => (warning as Error).name);
    }

    test("are taken for a leak by stock", async () =>
      expect(await warnings(stock)).toEqual(["MaxListenersExceededWarning"]));
    test("are nothing out of the way with us", async () => expect(await warnings(ours)).toEqual([]));
  });

  describe("a watch that fires in the very chunk that brings the answer of its read", () => {
    async function scripted(): Promise<ScriptedServer> {
      const server = await ScriptedServer.start();
      server.onRequest = (request, connection) => {
        if (request.op !== "getData") return false;
        const answer = { data: null, stat: someStat };
        connection.reply(request.xid, "getData", answer).event("deleted", "/w").flush();
        return true;
      };
      return server;
    }

    /** Without nested callbacks, a promise is the only way to read with stock. Code after `await` runs last. */
    test("is heard before what waits for the read's promise with stock", async () => {
      const server = await scripted();
      const { client, connected } = stockClient(server.connectString, wishes);
      await connected();
      const order: string[] = [];
      await new Promise<void>((resolve, reject) => {
        client.getData(
          "/w",
          () => order.push("fired"),
          (error) => (error ? reject(error) : resolve()),
        );
      });
      order.push("answered");
      expect(order).toEqual(["fired", "answered"]);
    });

    test("is heard after the answer with us: a watched read gives no promise at all", async () => {
      const server = await scripted();
      const session = open(server.connectString);
      await session.whenConnected();
      const order: string[] = [];
      const handle: unknown = session.watchData("/w", {
        answered: (outcome) => order.push(outcome.ok ? "answered" : outcome.error.name),
        fired: () => order.push("fired"),
      });
      expect(handle).not.toHaveProperty("then");
      await eventually(() => order.length === 2, { what: "both" });
      expect(order).toEqual(["answered", "fired"]);
    });
  });

  describe("an event of an unknown type", () => {
    async function outcome(
      make: MakeClient,
    ): Promise<{ thrown: number; answer: string | null; later: string | null }> {
      const server = await ScriptedServer.start();
      const client = await make(server.connectString, wishes);
      const body = Buffer.alloc(14);
      body.writeInt32BE(99, 0);
      body.writeInt32BE(3, 4);
      body.writeInt32BE(2, 8);
      body.write("/w", 12);
      const header = encodeReplyHeader({ xid: xids.event, zxid: -1n, err: 0 });
      server.onRequest = (request, connection) => {
        if (request.op !== "getData") return false;
        // The answer comes after the event, in the same chunk.
        const answer = { data: null, stat: someStat };
        connection.raw(encodeFrame(header, body)).reply(request.xid, "getData", answer).flush();
        return true;
      };
      const answer = await client.getData("/a", 300);
      await eventually(() => client.connected, { what: "a connection" });
      return { thrown: client.thrown.length, answer, later: await client.exists("/a") };
    }

    test("is thrown out of stock's socket handler, and keeps back the answers behind it", async () =>
      expect(await outcome(stock)).toEqual({ thrown: 1, answer: null, later: "ok" }));
    test("costs us the connection, and no request is left without an end", async () =>
      expect(await outcome(ours)).toEqual({ thrown: 0, answer: "OutcomeUnknownError", later: "ok" }));
  });
});
