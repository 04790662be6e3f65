import { Socket } from "node:net";
import { InvalidArgumentError } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import {
  decodeRequest,
  encodeFrame,
  encodeReplyHeader,
  type WatchEventType,
  type ZooKeeperError,
} from "@holdfast/zk-protocol";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Outcome } from "../../src/session/types.js";
import { countTurns } from "./clock-of-turns.js";
import { ScriptedServer, someStat } from "./scripted-server.js";
import { createRequest, open, outcomeOf, runtime, statesOf } from "./support.js";

countTurns();

async function connected(server: ScriptedServer, options: Parameters<typeof open>[1] = {}) {
  const session = open(server.connectString, { sessionTimeoutMs: server.timeoutMs, ...options });
  await session.whenConnected();
  return session;
}

describe("requests", () => {
  test("are refused before the first connection, without being sent and not within send()", async () => {
    const server = await ScriptedServer.start();
    const session = open(server.connectString);
    let returned = false;
    const outcome = await new Promise<{ name: string; returned: boolean }>((resolve) => {
      session.send("exists", { path: "/a", watch: false }, (result) =>
        resolve({ name: result.ok ? "ok" : result.error.name, returned }),
      );
      returned = true;
    });
    expect(outcome).toEqual({ name: "NotConnectedError", returned: true });
    await session.whenConnected();
    expect(server.last.ops).not.toContain("exists");
  });

  test("that were sent and cut off have an unknown outcome, and are not sent again", async () => {
    const server = await ScriptedServer.start();
    server.onRequest = (request, connection) => {
      if (request.op !== "create2") return false;
      connection.socket.destroy();
      return true;
    };
    const session = await connected(server);
    const states = statesOf(session);
    const outcome = await outcomeOf(session, "create2", createRequest("/a"));
    expect(outcome.ok ? null : outcome.error.name).toBe("OutcomeUnknownError");
    await eventually(() => session.connection === 2 && session.state === "connected", {
      what: "the second connection",
    });
    expect(states).toEqual(["suspended", "connected"]);
    await session.request("exists", { path: "/b", watch: false });
    expect(server.last.ops).not.toContain("create2");
  });

  test("see the session suspended when their connection ends under them", async () => {
    const server = await ScriptedServer.start();
    server.onRequest = (request, connection) =>
      request.op === "exists" && connection.socket.destroy() !== undefined;
    const session = await connected(server);
    const seen = await new Promise<string>((resolve) => {
      session.send("exists", { path: "/a", watch: false }, () => resolve(session.state));
    });
    expect(seen).toBe("suspended");
  });

  test("get errors that no table knows", async () => {
    const server = await ScriptedServer.start();
    server.onRequest = (request, connection) => {
      if (request.op !== "exists") return false;
      connection.refuse(request.xid, -9_999).flush();
      return true;
    };
    const session = await connected(server);
    const outcome = await outcomeOf(session, "exists", { path: "/a", watch: false });
    expect(outcome.ok ? null : (outcome.error as ZooKeeperError).code).toBe(-9_999);
    expect(session.connection).toBe(1);
  });

  // The names of a listing are decoded later. Whether the answer is a listing at all is checked at once.
  test.each(["exists", "getChildren2"] as const)(
    "whose answer is nonsense have an unknown outcome, and the session goes to the next connection: %s",
    async (op) => {
      const server = await ScriptedServer.start();
      let nonsense = true;
      server.onRequest = (request, connection) => {
        if (request.op !== op || !nonsense) return false;
        nonsense = false;
        const header = encodeReplyHeader({ xid: request.xid, zxid: 5n, err: 0 });
        connection.raw(encodeFrame(header, Buffer.from("short"))).flush();
        return true;
      };
      const session = await connected(server);
      const outcome = await outcomeOf(session, op, { path: "/a", watch: false });
      expect(outcome.ok ? null : outcome.error.name).toBe("OutcomeUnknownError");
      await eventually(() => session.connection === 2 && session.state === "connected", {
        what: "the next connection",
      });
      expect((await outcomeOf(session, "exists", { path: "/a", watch: false })).ok).toBe(true);
    },
  );

  test("answered out of turn end the connection rather than settle another request", async () => {
    const server = await ScriptedServer.start();
    let once = true;
    server.onRequest = (request, connection) => {
      if (request.op !== "exists" || !once) return false;
      once = false;
      connection.reply(request.xid + 1, "exists", { stat: someStat }).flush();
      return true;
    };
    const session = await connected(server);
    const outcomes = await Promise.all([
      outcomeOf(session, "exists", { path: "/a", watch: false }),
      outcomeOf(session, "getData", { path: "/b", watch: false }),
    ]);
    expect(outcomes.map((outcome) => (outcome.ok ? "ok" : outcome.error.name))).toEqual([
      "OutcomeUnknownError",
      "OutcomeUnknownError",
    ]);
  });

  test("over the server's frame limit are refused at once instead of ending the connection", async () => {
    const server = await ScriptedServer.start();
    const session = await connected(server);
    expect(() => session.send("create2", createRequest("/a", 0, "x".repeat(1_048_576)), () => {})).toThrow(
      InvalidArgumentError,
    );
    expect((await outcomeOf(session, "exists", { path: "/a", watch: false })).ok).toBe(true);
    expect(session.connection).toBe(1);
  });

  test("of one turn of the event loop, and of the microtasks behind it, leave in one write and in order", async () => {
    const server = await ScriptedServer.start();
    const session = await connected(server);
    await session.request("exists", { path: "/first", watch: false });
    const write = vi.spyOn(Socket.prototype, "write");
    onTestFinished(() => write.mockRestore());
    const port = Number(server.connectString.split(":")[1]);
    const { requests } = server.last;
    requests.length = 0;
    const done: number[] = [];
    await new Promise<void>((resolve) => {
      const send = (from: number, below: number): void => {
        for (let number = from; number < below; number += 1) {
          session.send("exists", { path: `/n${number}`, watch: false }, () => {
            done.push(number);
            if (done.length === 200) resolve();
          });
        }
      };
      send(0, 100);
      queueMicrotask(() => send(100, 200));
    });
    const written = (write.mock.contexts as Socket[]).filter(({ remotePort }) => remotePort === port);
    expect(written).toHaveLength(1);
    expect(requests.map((request) => decodeRequest("exists", request.body).path)).toEqual(
      Array.from({ length: 200 }, (_, number) => `/n${number}`),
    );
    expect(done).toEqual(Array.from({ length: 200 }, (_, number) => number));
  });

  test("10,000 in one turn are all answered in order", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 30_000; // the session is not the subject, and a slow machine needs time for so many
    const session = await connected(server);
    const done: number[] = [];
    await new Promise<void>((resolve) => {
      for (let number = 0; number < 10_000; number += 1) {
        session.send("getData", { path: `/some/path/of/usual/length/${number}`, watch: false }, (outcome) => {
          if (outcome.ok) done.push(number);
          if (number === 9_999) resolve();
        });
      }
    });
    expect(done).toEqual(Array.from({ length: 10_000 }, (_, number) => number));
  });

  test("are reported with operation, outcome and time to who asks for it", async () => {
    const server = await ScriptedServer.start();
    const settled: { op: string; outcome: string; tookMs: number }[] = [];
    const session = await connected(server, {
      meter: { wanted: true, settled: (info) => settled.push(info) },
    });
    await outcomeOf(session, "exists", { path: "/a", watch: false });
    await outcomeOf(session, "create2", createRequest("/a"));
    const seen = settled.filter(({ op }) => op !== "sync").map(({ op, outcome }) => `${op} ${outcome}`);
    expect(seen).toEqual(["exists ok", "create2 NoNode"]);
    expect(settled.every(({ tookMs }) => tookMs >= 0 && tookMs < 5_000)).toBe(true);
  });
});

describe("the time of a request", () => {
  test("is that of its own write, however long ago the one before it was sent", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 60_000; // the clock is set forward below
    let passedMs = 0;
    const took: number[] = [];
    const session = await connected(server, {
      runtime: { ...runtime, nowMs: () => performance.now() + passedMs },
      meter: { wanted: true, settled: ({ op, tookMs }) => void (op === "exists" && took.push(tookMs)) },
    });
    await session.request("exists", { path: "/a", watch: false });
    passedMs += 10_000;
    await session.request("exists", { path: "/b", watch: false });
    expect(took).toHaveLength(2);
    for (const tookMs of took) expect(tookMs).toBeLessThan(5_000);
  });
});

describe("callbacks", () => {
  test("run in frame order within the chunk, without waiting for promises", async () => {
    const server = await ScriptedServer.start();
    const held: number[] = [];
    server.onRequest = (request, connection) => {
      if (request.op !== "getData" && request.op !== "exists") return false;
      held.push(request.xid);
      const [first, second] = held;
      if (first === undefined || second === undefined) return true;
      connection
        .reply(first, "getData", { data: null, stat: someStat })
        .event("deleted", "/watched")
        .reply(second, "exists", { stat: someStat })
        .flush();
      return true;
    };
    const session = await connected(server);
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      // All three frames come in one chunk. Code after an `await` runs after the last of them.
      session.watchData("/watched", {
        answered: () => {
          order.push("answered");
          void Promise.resolve().then(() => order.push("promise"));
        },
        fired: (type) => order.push(type),
      });
      session.send("exists", { path: "/other", watch: false }, () => {
        order.push("other");
        resolve();
      });
    });
    expect(order).toEqual(["answered", "deleted", "other", "promise"]);
  });
});

describe("watches", () => {
  async function armed(path = "/w") {
    const server = await ScriptedServer.start();
    const session = await connected(server);
    const heard: string[] = [];
    const watch = (name: string) => {
      let answered!: () => void;
      const ready = new Promise<void>((resolve) => {
        answered = resolve;
      });
      const handle = session.watchData(path, {
        answered: (outcome) => {
          heard.push(`${name} ${outcome.ok ? "armed" : outcome.error.name}`);
          answered();
        },
        fired: (type: WatchEventType) => heard.push(`${name} ${type}`),
      });
      return { handle, ready };
    };
    /** Waits until everything sent before has been handled. */
    const settle = () => session.request("sync", { path: "/" });
    return { server, session, heard, watch, settle };
  }

  test("fire once for each of several listeners on one path", async () => {
    const { server, heard, watch, settle } = await armed();
    watch("a");
    watch("b");
    await settle();
    server.last.event("data-changed", "/w").event("deleted", "/w").flush();
    await settle();
    expect(heard).toEqual(["a armed", "b armed", "a data-changed", "b data-changed"]);
  });

  test("of several nodes by one request hear what it has found, and then of the rest that they are there", async () => {
    const server = await ScriptedServer.start();
    server.onRequest = ({ op, xid }, connection) => {
      if (op !== "setWatches") return false;
      connection.event("deleted", "/gone").event("data-changed", "/written");
      connection.reply(xid, "setWatches", undefined).flush();
      return true;
    };
    const session = await connected(server);
    const heard: string[] = [];
    const unread = ["/own", "/gone", "/written"].map((path) => ({
      path,
      listener: {
        answered: (outcome: Outcome<null>) =>
          heard.push(`${path} ${outcome.ok ? outcome.value : outcome.error}`),
        fired: (type: WatchEventType) => heard.push(`${path} ${type}`),
      },
    }));
    session.watchUnread(unread, 7n);
    await session.request("sync", { path: "/" });
    const [request] = server.last.requests.filter(({ op }) => op === "setWatches");
    expect(decodeRequest("setWatches", request?.body as Buffer)).toEqual({
      relativeZxid: 7n,
      dataWatches: ["/own", "/gone", "/written"],
      existWatches: [],
      childWatches: [],
    });
    expect(heard).toEqual(["/gone deleted", "/written data-changed", "/own null"]);
    server.last.event("deleted", "/gone").event("deleted", "/own").flush();
    await session.request("sync", { path: "/" });
    expect(heard.slice(3)).toEqual(["/own deleted"]);
  });

  test("of nodes whose paths do not fit into one request are asked for by several, in order", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 30_000; // the session is not the subject, and a slow machine needs time for so much
    const session = await connected(server);
    const paths = ["a", "b", "c"].map((letter) => `/${letter.repeat(400_000)}`);
    const answered: (string | undefined)[] = [];
    const unread = paths.map((path) => ({
      path,
      listener: { answered: () => answered.push(path[1]), fired: () => {} },
    }));
    session.watchUnread(unread, 7n);
    await session.request("sync", { path: "/" });
    expect(answered).toEqual(["a", "b", "c"]);
    expect(server.connections).toHaveLength(1);
    const sent = server.last.requests.filter(({ op }) => op === "setWatches");
    const pieces = sent.map(({ body }) => decodeRequest("setWatches", body));
    expect(pieces.flatMap(({ dataWatches }) => dataWatches)).toEqual(paths);
    expect(new Set(pieces.map(({ relativeZxid }) => relativeZxid))).toEqual(new Set([7n]));
  });

  test("dropped before the event stay silent, and no request is sent", async () => {
    const { server, heard, watch, settle } = await armed();
    const dropped = watch("a");
    watch("b");
    await settle();
    dropped.handle.drop();
    server.last.event("deleted", "/w").flush();
    await settle();
    expect(heard).toEqual(["a armed", "b armed", "b deleted"]);
    expect(server.last.ops).not.toContain("removeWatches");
  });

  test("dropped by a listener of the same event stay silent", async () => {
    const server = await ScriptedServer.start();
    const session = await connected(server);
    const heard: string[] = [];
    const second = { drop: () => {} };
    session.watchData("/w", {
      answered: () => {},
      fired: () => {
        heard.push("first");
        second.drop();
      },
    });
    const handle = session.watchData("/w", { answered: () => {}, fired: () => heard.push("second") });
    second.drop = () => handle.drop();
    await session.request("sync", { path: "/" });
    server.last.event("deleted", "/w").flush();
    await session.request("sync", { path: "/" });
    expect(heard).toEqual(["first"]);
  });

  test("are taken back at the server by the last listener only", async () => {
    const { server, watch, settle } = await armed();
    const a = watch("a");
    const b = watch("b");
    await settle();
    a.handle.remove();
    await settle();
    expect(server.last.ops).not.toContain("removeWatches");
    b.handle.remove();
    b.handle.remove();
    await settle();
    const removals = server.last.requests.filter(({ op }) => op === "removeWatches");
    expect(removals.map(({ body }) => decodeRequest("removeWatches", body))).toEqual([
      { path: "/w", type: 2 },
    ]);
  });

  test("are not taken back while another read of the same path is on its way", async () => {
    const { server, heard, watch, settle } = await armed();
    const a = watch("a");
    await settle();
    watch("b");
    a.handle.remove();
    await settle();
    expect(server.last.ops).not.toContain("removeWatches");
    server.last.event("deleted", "/w").flush();
    await settle();
    expect(heard).toEqual(["a armed", "b armed", "b deleted"]);
  });

  test("set again between an event and its answer follow the wire", async () => {
    const { server, heard, watch, settle } = await armed();
    watch("a");
    await settle();
    // The event was on its way when b's read was sent, so it does not belong to b.
    server.onRequest = (request, connection) => {
      if (request.op === "getData") connection.event("data-changed", "/w");
      return false;
    };
    watch("b");
    await settle();
    expect(heard).toEqual(["a armed", "a data-changed", "b armed"]);
    server.last.event("deleted", "/w").flush();
    await settle();
    expect(heard).toEqual(["a armed", "a data-changed", "b armed", "b deleted"]);
  });

  test("of a read that failed are not there: the listener gets the error, and no event reaches it", async () => {
    const { server, heard, watch, settle } = await armed();
    server.onRequest = (request, connection) => {
      if (request.op !== "getData") return false;
      connection.refuse(request.xid, -101).flush();
      return true;
    };
    watch("a");
    await settle();
    server.last.event("created", "/w").flush();
    await settle();
    expect(heard).toEqual(["a ZooKeeperError"]);
  });

  test("of exists are armed on a missing node and hear of its creation", async () => {
    const server = await ScriptedServer.start();
    server.onRequest = (request, connection) => {
      if (request.op !== "exists") return false;
      connection.refuse(request.xid, -101).flush();
      return true;
    };
    const session = await connected(server);
    const heard: unknown[] = [];
    session.watchExists("/w", {
      answered: (outcome) => heard.push(outcome.ok ? outcome.value : outcome.error.name),
      fired: (type) => heard.push(type),
    });
    await session.request("sync", { path: "/" });
    server.last.event("created", "/w").flush();
    await session.request("sync", { path: "/" });
    expect(heard).toEqual([null, "created"]);
  });

  test("of children hear of children, and share a deletion with those of the data", async () => {
    const server = await ScriptedServer.start();
    server.onRequest = (request, connection) => {
      if (request.op !== "getChildren2") return false;
      connection.reply(request.xid, "getChildren2", { children: [], stat: someStat }).flush();
      return true;
    };
    const session = await connected(server);
    const heard: string[] = [];
    const listener = (name: string) => ({
      answered: () => {},
      fired: (type: string) => heard.push(`${name} ${type}`),
    });
    session.watchChildren("/w", listener("child"));
    session.watchData("/w", listener("data"));
    await session.request("sync", { path: "/" });
    server.last.event("children-changed", "/w").flush();
    await session.request("sync", { path: "/" });
    session.watchChildren("/w", listener("child"));
    await session.request("sync", { path: "/" });
    server.last.event("deleted", "/w").flush();
    await session.request("sync", { path: "/" });
    expect(heard).toEqual(["child children-changed", "data deleted", "child deleted"]);
  });
});
