import dns from "node:dns";
import { InvalidArgumentError } from "@holdfast/core";
import { eventually, freePort } from "@holdfast/test-servers";
import zookeeper from "node-zookeeper-client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ManagerState, managerOf } from "../../src/client/library.js";
import { parseConnectString } from "../../src/session/connect-string.js";
import { countTurns } from "./clock-of-turns.js";
import { ScriptedServer } from "./scripted-server.js";
import { stockClient } from "./stock-client.js";
import { open, statesOf } from "./support.js";

countTurns();

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The stock library must show each defect. Otherwise its absence in our session proves nothing. */
describe("closing, as the library does it and as we do:", () => {
  describe("before there is any socket", () => {
    test("is a TypeError with stock", async () => {
      const { client } = stockClient(`127.0.0.1:${await freePort()}`, { sessionTimeoutMs: 2_000 });
      expect(() => client.close()).toThrow(TypeError);
    });

    test("is an ordinary end with us", async () => {
      const session = open(`127.0.0.1:${await freePort()}`);
      const states = statesOf(session);
      await session.close();
      expect(states).toEqual(["closed"]);
    });
  });

  describe("in the turn of the loop that began to connect", () => {
    test("is a TypeError with stock, which connects all the same, throws and stays connected", async () => {
      const server = await ScriptedServer.start();
      const { client, manager, thrown } = stockClient(server.connectString, { sessionTimeoutMs: 2_000 });
      client.connect();
      expect(() => client.close()).toThrow(TypeError);
      await eventually(() => thrown.length > 0, { what: "the exception" });
      expect(thrown[0]?.message).toMatch(/Unknown code/);
      expect(server.last.handshake).not.toBe(null);
      await pause(50);
      expect(manager.socket?.destroyed).toBe(false);
    });

    test("is an end with us, and no socket stays", async () => {
      const server = await ScriptedServer.start();
      const session = open(server.connectString);
      await session.close();
      expect(session.state).toBe("closed");
      await pause(50); // by now there would be a socket
      expect(server.connections.filter(({ socket }) => !socket.destroyed)).toEqual([]);
    });
  });

  describe("while the greeting is unanswered", () => {
    async function slowToGreet(): Promise<ScriptedServer> {
      const server = await ScriptedServer.start();
      server.greet = () => null;
      return server;
    }
    const greeting = (server: ScriptedServer): Promise<unknown> =>
      eventually(() => (server.connections.at(-1)?.handshake ?? null) !== null, { what: "the greeting" });

    test("takes the answer to the greeting for an answer to the close with stock, and throws", async () => {
      const server = await slowToGreet();
      const { client, thrown } = stockClient(server.connectString, { sessionTimeoutMs: 2_000 });
      client.connect();
      await greeting(server);
      client.close();
      server.last.welcome();
      await eventually(() => thrown.length > 0, { what: "the exception" });
      // This is half of the session's id, read as an error code.
      expect(thrown[0]?.message).toBe(`Unknown code: ${server.sessionId}`);
    });

    test("lets go of the socket with us", async () => {
      const server = await slowToGreet();
      const session = open(server.connectString);
      await greeting(server);
      const gone = new Promise((resolve) => server.last.socket.once("close", resolve));
      await session.close();
      server.last.welcome();
      await gone;
      expect(session.state).toBe("closed");
      expect(session.id).toBe(0n);
    });
  });

  describe("while no server is within reach", () => {
    test("ends without any event with stock, in the state it was in", async () => {
      const server = await ScriptedServer.start();
      const options = { sessionTimeoutMs: 2_000, spinDelayMs: 20 };
      const { client, manager, states, connected } = stockClient(server.connectString, options);
      await connected();
      await server.stop();
      await eventually(() => states.at(-1) === "DISCONNECTED", { what: "the cut" });
      const told = states.length;
      client.close();
      await eventually(() => manager.state === ManagerState.closed, { what: "the end" });
      await pause(50);
      expect(states.length).toBe(told);
      expect(client.getState()).toBe(zookeeper.State.DISCONNECTED);
    });

    test("is reported with us, to the calls that wait and to the listeners", async () => {
      const server = await ScriptedServer.start();
      const session = open(server.connectString);
      await session.whenConnected();
      const states = statesOf(session);
      await server.stop();
      await eventually(() => session.state === "suspended", { what: "the cut" });
      await session.close({ waitMs: 100 });
      expect(states).toEqual(["suspended", "closed"]);
      expect(session.state).toBe("closed");
    });
  });

  describe("with a peer that has fallen silent", () => {
    async function silent(): Promise<ScriptedServer> {
      const server = await ScriptedServer.start();
      server.timeoutMs = 600;
      server.onRequest = () => true;
      return server;
    }

    test("has no limit with stock, not even the session time-out", async () => {
      const server = await silent();
      const { client, manager, connected } = stockClient(server.connectString, { sessionTimeoutMs: 600 });
      await connected();
      const { socket } = manager;
      client.close();
      await pause(900);
      expect(socket?.destroyed).toBe(false);
      expect(manager.state).toBe(ManagerState.closing);
    });

    test("ends within its limit with us, and the socket goes", async () => {
      const server = await silent();
      const session = open(server.connectString);
      await session.whenConnected();
      const gone = new Promise((resolve) => server.last.socket.once("close", resolve));
      const startMs = performance.now();
      await session.close({ waitMs: 200 });
      await gone;
      expect(performance.now() - startMs).toBeLessThan(500);
    });
  });

  describe("twice", () => {
    test("leaves stock closing for good", async () => {
      const server = await ScriptedServer.start();
      const { client, manager, connected } = stockClient(server.connectString, { sessionTimeoutMs: 2_000 });
      await connected();
      client.close();
      await eventually(() => manager.state === ManagerState.closed, { what: "the end" });
      client.close();
      await pause(200);
      expect(manager.state).toBe(ManagerState.closing);
    });

    test("is the same as once with us", async () => {
      const server = await ScriptedServer.start();
      const session = open(server.connectString);
      await session.whenConnected();
      const states = statesOf(session);
      await session.close();
      await session.close();
      expect(session.state).toBe("closed");
      expect(states).toEqual(["closed"]);
      expect(server.connections.flatMap(({ ops }) => ops.filter((op) => op === "closeSession"))).toEqual([
        "closeSession",
      ]);
    });
  });

  describe("during a connect that takes long", () => {
    /** Delays of the timers set from now on that are neither over nor cancelled, and that would keep a process alive. */
    function armedTimers(): () => number[] {
      const armed = new Map<NodeJS.Timeout, number>();
      const { setTimeout: set, clearTimeout: clear } = globalThis;
      // No spies are used. They are restored once more at the end of the file, which would bring back the earlier fake clock.
      globalThis.setTimeout = ((run: (...args: unknown[]) => void, delayMs: number, ...args: unknown[]) => {
        const timer = set(() => {
          armed.delete(timer);
          run(...args);
        }, delayMs);
        armed.set(timer, delayMs);
        return timer;
      }) as typeof setTimeout;
      globalThis.clearTimeout = (timer) => {
        armed.delete(timer as NodeJS.Timeout);
        clear(timer);
      };
      onTestFinished(() => {
        globalThis.setTimeout = set;
        globalThis.clearTimeout = clear;
      });
      return () => [...armed].filter(([timer]) => timer.hasRef()).map(([, delayMs]) => delayMs);
    }

    /** A name whose look-up lasts as long as the test. */
    function slowName(): { connect: string; asked: () => boolean } {
      const lookup = vi.spyOn(dns, "lookup").mockImplementation((() => {}) as unknown as typeof dns.lookup);
      onTestFinished(() => lookup.mockRestore());
      return { connect: "slow.invalid:2181", asked: () => lookup.mock.calls.length > 0 };
    }

    test("leaves the timer of the connect with stock, which holds the process", async () => {
      const { connect, asked } = slowName();
      const armed = armedTimers();
      const { client } = stockClient(connect, { sessionTimeoutMs: 7_531 });
      client.connect();
      await eventually(asked, { what: "the look-up" });
      client.close();
      await pause(50);
      expect(armed()).toEqual([7_531]);
    });

    test("leaves no timer with us", async () => {
      const { connect, asked } = slowName();
      const armed = armedTimers();
      const session = open(connect, { sessionTimeoutMs: 7_531 });
      await eventually(asked, { what: "the look-up" });
      await session.close();
      expect(armed()).toEqual([]);
    });
  });
});

describe("a connect string", () => {
  const hostsOf = (text: string): string[] =>
    managerOf(zookeeper.createClient(text))
      .servers.map(({ host }) => host)
      .sort();

  test("with a chroot behind each server loses all servers but one with stock, and is refused by us", () => {
    const text = "h1/app,h2/app";
    expect(hostsOf(text)).toEqual(["h1"]);
    expect(managerOf(zookeeper.createClient(text)).chrootPath).toBe("/app,h2/app");
    expect(() => parseConnectString(text)).toThrow(InvalidArgumentError);
  });

  test("with a slash at its end is a failed assertion with stock, and ours names the text", () => {
    expect(() => zookeeper.createClient("h/app/")).toThrow(/must not end with/);
    expect(() => zookeeper.createClient("h/app/")).not.toThrow(InvalidArgumentError);
    expect(() => parseConnectString("h/app/")).toThrow(InvalidArgumentError);
    expect(() => parseConnectString("h/app/")).toThrow('"h/app/"');
  });

  test("with a space behind its comma has it in the host's name with stock, and not with us", () => {
    expect(hostsOf("h1, h2")).toEqual([" h2", "h1"]);
    expect(parseConnectString("h1, h2").servers.map(({ host }) => host)).toEqual(["h1", "h2"]);
  });

  test("keeps a port that is no number with stock, and is refused by us", () => {
    expect(managerOf(zookeeper.createClient("h1:first")).servers[0]?.port).toBe("first");
    expect(() => parseConnectString("h1:first")).toThrow(InvalidArgumentError);
  });
});
