import { BackendError, UnsupportedError } from "@holdfast/core";
import { eventually, freePort, startProxy } from "@holdfast/test-servers";
import { decodeRequest, errorCodes, type OpName } from "@holdfast/zk-protocol";
import zookeeper from "node-zookeeper-client";
import { describe, expect, onTestFinished, test } from "vitest";
import { managerOf } from "../../src/client/library.js";
import { maxPieceBytes } from "../../src/client/set-watches.js";
import { adoptSession } from "../../src/session/open-session.js";
import type { ZooKeeperSession } from "../../src/session/types.js";
import { blockable, countTurns } from "./clock-of-turns.js";
import { ScriptedServer, someStat } from "./scripted-server.js";
import { open, outcomeOf, runtime, statesOf } from "./support.js";

countTurns();

type Options = Parameters<typeof open>[1];

function openTo(server: ScriptedServer, options: Options = {}): ZooKeeperSession {
  return open(server.connectString, { sessionTimeoutMs: server.timeoutMs, ...options });
}

async function connectedTo(server: ScriptedServer, options: Options = {}): Promise<ZooKeeperSession> {
  const session = openTo(server, options);
  await session.whenConnected();
  return session;
}

const swallow =
  (...ops: OpName[]) =>
  ({ op }: { op: OpName }): boolean =>
    ops.includes(op);

describe("the lease", () => {
  /** Refuses keep-alives as an overloaded server does. So only requests that the test sends prove anything. */
  const refuseSyncs = (server: ScriptedServer): void => {
    server.onRequest = (request, connection) => {
      if (request.op !== "sync") return false;
      connection.refuse(request.xid, errorCodes.ThrottledOp).flush();
      return true;
    };
  };

  /** Sends a read as activity, and waits until its answer is old enough for a proof to count it. */
  const activity = async (session: ZooKeeperSession): Promise<number> => {
    const greetedMs = runtime.nowMs();
    await eventually(() => runtime.nowMs() > greetedMs + 60, { what: "a moment apart from the greeting" });
    const sentMs = runtime.nowMs();
    await outcomeOf(session, "exists", { path: "/a", watch: false });
    await quarterPassed();
    return sentMs;
  };

  const quarterPassed = async (): Promise<void> => {
    const sinceMs = runtime.nowMs();
    await eventually(() => runtime.nowMs() > sinceMs + 510, { what: "a quarter of the time-out" });
  };

  test("counts the activity of a quarter before an answered proof, as followers report no faster", async () => {
    const server = await ScriptedServer.start();
    const session = await connectedTo(server);
    const first = session.leaseUntilMs();
    await outcomeOf(session, "sync", { path: "/" });
    await outcomeOf(session, "delete", { path: "/a", version: -1 });
    expect(session.leaseUntilMs()).toBe(first);
    await eventually(() => session.leaseUntilMs() > first, { what: "the second keep-alive" });
    // The time-out of 2,000 ms, less the margin of 100 ms and a quarter of the time-out.
    expect(session.leaseUntilMs()).toBeLessThanOrEqual(runtime.nowMs() + 1_400);
  });

  test("does not count what was unanswered a quarter before an answered proof, as both may have arrived together", async () => {
    const server = await ScriptedServer.start();
    const held: (() => void)[] = [];
    server.onRequest = (request, connection) => {
      if (request.op !== "sync" && request.op !== "delete") return false;
      held.push(() => server.answer(request, connection));
      return true;
    };
    const session = await connectedTo(server);
    const first = session.leaseUntilMs();
    await eventually(() => held.length === 1, { what: "a keep-alive" });
    await quarterPassed();
    const keepAlives = held.length;
    const write = outcomeOf(session, "delete", { path: "/a", version: -1 });
    await eventually(() => held.length > keepAlives, { what: "the write" });
    for (const answer of held) answer();
    expect((await write).ok).toBe(true);
    expect(session.leaseUntilMs()).toBe(first);
  });

  test("is kept up beside writes that are refused again and again by answers that prove nothing", async () => {
    const server = await ScriptedServer.start();
    server.onRequest = (request, connection) => {
      if (request.op !== "delete") return false;
      connection.refuse(request.xid, errorCodes.QuotaExceeded).flush();
      return true;
    };
    const session = await connectedTo(server);
    const states = statesOf(session);
    const untilMs = runtime.nowMs() + 2 * session.timeoutMs;
    while (runtime.nowMs() < untilMs) {
      await outcomeOf(session, "delete", { path: "/a", version: -1 });
      const nextMs = runtime.nowMs() + 50;
      await eventually(() => runtime.nowMs() >= nextMs, { what: "the next try" });
    }
    expect(states).toEqual([]);
    expect(session.state).toBe("connected");
  });

  test("is fed by writes as by sync, never by reads", async () => {
    const server = await ScriptedServer.start();
    refuseSyncs(server);
    const session = await connectedTo(server);
    const first = session.leaseUntilMs();
    const sentMs = await activity(session);
    await outcomeOf(session, "exists", { path: "/a", watch: false });
    expect(session.leaseUntilMs()).toBe(first);
    await outcomeOf(session, "delete", { path: "/a", version: -1 });
    expect(session.leaseUntilMs()).toBeGreaterThanOrEqual(sentMs + 1_900);
  });

  test("counts a write that was refused by the leader, not one that any server may refuse", async () => {
    const server = await ScriptedServer.start();
    let code: number = errorCodes.ThrottledOp;
    server.onRequest = (request, connection) => {
      if (request.op !== "delete" && request.op !== "sync") return false;
      connection.refuse(request.xid, request.op === "sync" ? errorCodes.ThrottledOp : code).flush();
      return true;
    };
    const session = await connectedTo(server);
    const first = session.leaseUntilMs();
    await activity(session);
    await outcomeOf(session, "delete", { path: "/a", version: -1 });
    expect(session.leaseUntilMs()).toBe(first);
    code = errorCodes.NoNode;
    await outcomeOf(session, "delete", { path: "/a", version: -1 });
    expect(session.leaseUntilMs()).toBeGreaterThan(first);
  });

  test("counts from before the request was sent, however late its answer comes", async () => {
    const server = await ScriptedServer.start();
    server.onRequest = (request, connection) => {
      if (request.op !== "delete") return false;
      setTimeout(() => connection.reply(request.xid, "delete", undefined).flush(), 250);
      return true;
    };
    const session = await connectedTo(server);
    await activity(session);
    const sentMs = runtime.nowMs();
    await outcomeOf(session, "delete", { path: "/a", version: -1 });
    expect(runtime.nowMs() - sentMs).toBeGreaterThan(240);
    expect(session.leaseUntilMs()).toBeLessThanOrEqual(sentMs + 1_400);
  });

  test("is kept up by sync every quarter of the time-out, so that an idle session stays connected", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 900;
    const session = await connectedTo(server);
    const states = statesOf(session);
    await eventually(() => server.last.ops.length >= 5, { what: "five keep-alives" });
    // Without a proof it would be suspended after two thirds of the time-out.
    expect(states).toEqual([]);
  });

  test("is kept up by a sync a quarter of the time-out after the answer to the last one, also where answers are slow", async () => {
    const server = await ScriptedServer.start();
    server.onRequest = (request, connection) => {
      if (request.op !== "sync") return false;
      setTimeout(() => server.answer(request, connection), 60);
      return true;
    };
    const session = await connectedTo(server);
    const states = statesOf(session);
    const sentMs = () => server.last.requests.filter(({ op }) => op === "sync").map(({ atMs }) => atMs);
    await eventually(() => sentMs().length >= 6, { what: "six keep-alives" });
    expect(states).toEqual([]);
    for (const [index, atMs] of sentMs().slice(1).entries()) {
      const passedMs = atMs - (sentMs()[index] as number);
      expect(passedMs).toBeGreaterThanOrEqual(555);
      expect(passedMs).toBeLessThan(650);
    }
  });

  test("goes on while each answer takes a sixth of the time-out, because keep-alives do not wait for each other", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 6_000;
    server.onRequest = (request, connection) => {
      if (request.op !== "sync") return false;
      setTimeout(() => server.answer(request, connection), 1_000);
      return true;
    };
    const session = await connectedTo(server);
    const states = statesOf(session);
    const syncs = () =>
      server.connections.flatMap(({ requests }) => requests.filter(({ op }) => op === "sync"));
    await eventually(() => syncs().length >= 8, { what: "the keep-alives of more than a time-out" });
    expect(states).not.toContain("lost");
    expect(server.connections).toHaveLength(1);
  });

  test("suspends at two thirds without an answered proof although pings are answered, and then ends", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 3_600;
    server.onRequest = swallow("sync", "closeSession");
    const session = await connectedTo(server);
    server.greet = () => null;
    const since = session.leaseUntilMs() - 3_500;
    const at: Record<string, number> = {};
    session.onState((state) => {
      at[state] = runtime.nowMs() - since;
    });
    await eventually(() => at.lost !== undefined, { what: "the end of the lease" });
    expect(at.suspended).toBeGreaterThanOrEqual(2_400);
    expect(at.suspended).toBeLessThan(3_500);
    expect(at.lost).toBeGreaterThanOrEqual(3_500);
    expect(session.lossReason).toBe("lease");
    expect(session.leaseUntilMs()).toBe(-Infinity);
    expect(server.connections[0]?.requests.some(({ op }) => op === "ping")).toBe(true);
  });

  test("with quorum proofs is fed by empty transactions, not by sync and not by a greeting", async () => {
    const server = await ScriptedServer.start();
    const session = await connectedTo(server, { leaseProof: "quorum" });
    const first = session.leaseUntilMs();
    await outcomeOf(session, "sync", { path: "/" });
    expect(session.leaseUntilMs()).toBe(first);
    session.prove();
    await eventually(() => session.leaseUntilMs() > first, { what: "the proof" });
    const proven = session.leaseUntilMs();
    server.onRequest = swallow("multi");
    server.last.socket.destroy();
    await eventually(() => session.connection === 2 && session.state === "connected", {
      what: "the reconnect",
    });
    expect(session.leaseUntilMs()).toBe(proven);
    await eventually(() => server.last.ops.includes("multi"), { what: "a proof on the new connection" });
  });

  test("is fed by the greeting of a reconnect", async () => {
    const server = await ScriptedServer.start();
    const session = await connectedTo(server);
    server.onRequest = swallow("sync");
    const first = session.leaseUntilMs();
    server.last.socket.destroy();
    await eventually(() => session.connection === 2, { what: "the reconnect" });
    expect(session.leaseUntilMs()).toBeGreaterThan(first);
  });

  test("is shorter at once by what the wall clock ran ahead, and a proof restores it", async () => {
    const server = await ScriptedServer.start();
    let asleepMs = 0;
    const session = await connectedTo(server, {
      runtime: { ...runtime, wallMs: () => Date.now() + asleepMs },
    });
    const before = session.leaseUntilMs();
    asleepMs = 90;
    expect(session.leaseUntilMs()).toBe(before);
    asleepMs = 1_990;
    const states = statesOf(session);
    const endMs = session.leaseEndMs();
    expect(endMs).toBe(before);
    expect(session.leaseUntilMs()).toBe(-Infinity);
    expect(states).toEqual(["suspended"]);
    expect(session.asleep).toBe(true);
    await eventually(() => session.leaseUntilMs() > runtime.nowMs() + 1_000, {
      what: "proofs of what was sent after the sleep",
    });
    expect(states).toEqual(["suspended", "connected"]);
    expect(session.asleep).toBe(false);
  });

  test.each([
    ["a timer", true],
    ["bytes", false],
  ])(
    "that passed while the loop was blocked is judged before anything is delivered, if %s come first",
    async (_what, timers) => {
      const server = await ScriptedServer.start();
      server.timeoutMs = 600;
      let blocked = false;
      const loop = blockable();
      const session = await connectedTo(server, {
        runtime: {
          ...loop.runtime,
          setTimer: (delayMs, fn, options) =>
            loop.runtime.setTimer(delayMs, () => (timers || !blocked) && fn(), options),
        },
      });
      const heard: string[] = [];
      session.watchData("/w", { answered: () => heard.push("armed"), fired: () => heard.push("fired") });
      await session.request("sync", { path: "/" });
      session.send("exists", { path: "/a", watch: false }, (outcome) =>
        heard.push(outcome.ok ? "ok" : outcome.error.name),
      );
      await eventually(() => server.last.ops.includes("exists"), {
        what: "the request at the server",
        everyMs: 1,
      });
      heard.splice(0);
      server.last.event("deleted", "/w").flush();
      loop.block(700);
      blocked = true;
      expect(session.state).toBe("lost");
      expect(session.lossReason).toBe("lease");
      expect(session.leaseUntilMs()).toBeLessThan(loop.runtime.nowMs());
      await eventually(() => session.state === "lost", { what: "the loss" });
      // The answer of the scripted server was on its way before the block, and so was the event.
      expect(heard.filter((word) => word === "fired")).toEqual([]);
    },
  );
});

describe("servers that accept and stay mute", () => {
  test("are left one after the other, each for its share of the time-out", async () => {
    const servers = [
      await ScriptedServer.start(),
      await ScriptedServer.start(),
      await ScriptedServer.start(),
    ];
    const [first, second, third] = servers as [ScriptedServer, ScriptedServer, ScriptedServer];
    first.greet = () => null;
    second.greet = () => null;
    const session = open(servers.map(({ connectString }) => connectString).join(","), {
      sessionTimeoutMs: 3_000,
      runtime: { ...runtime, random: () => 0.999_999 }, // leaves the order of the servers as it is
    });
    const startMs = performance.now();
    await session.whenConnected();
    // Two servers get a share of 3,000 / 3 / 2 ms each.
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(990);
    // If a mute server were not left, it would cost the whole time-out.
    expect(performance.now() - startMs).toBeLessThan(3_000);
    expect([first, second, third].map(({ connections }) => connections.length)).toEqual([1, 1, 1]);
  });
});

describe("a server that leaves handshakes without an answer", () => {
  test("is dialled again after 3 s, then 6 s, however long the session may be", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 60_000;
    const startMs = performance.now();
    const askedMs: number[] = [];
    server.greet = () => {
      askedMs.push(Math.round(performance.now() - startMs));
      return askedMs.length < 3 ? null : "welcome";
    };
    const session = openTo(server, { connectTimeoutMs: 60_000 });
    await session.whenConnected();
    const [first = 0, second = 0, third = 0] = askedMs;
    expect(second - first).toBeGreaterThanOrEqual(2_990);
    expect(second - first).toBeLessThan(5_000);
    expect(third - second).toBeGreaterThanOrEqual(5_990);
    expect(third - second).toBeLessThan(8_000);
  });
});

describe("a mute server that comes after a cut", () => {
  test("is left after its share of the time-out too, not at the next keep-alive", async () => {
    const servers = [
      await ScriptedServer.start(),
      await ScriptedServer.start(),
      await ScriptedServer.start(),
    ];
    const [first, second, third] = servers as [ScriptedServer, ScriptedServer, ScriptedServer];
    for (const server of servers) server.timeoutMs = 4_200;
    second.greet = () => null;
    const session = open(servers.map(({ connectString }) => connectString).join(","), {
      sessionTimeoutMs: 4_200,
      runtime: { ...runtime, random: () => 0.999_999 }, // leaves the order of the servers as it is
    });
    await session.whenConnected();
    // Waits past the first keep-alive and the look at its answer. Then only the next keep-alive is due.
    await eventually(() => first.last.ops.includes("sync"), { what: "a keep-alive" });
    await outcomeOf(session, "exists", { path: "/a", watch: false }); // answered after the keep-alive
    const cutMs = performance.now();
    first.last.socket.destroy();
    await eventually(() => session.connection === 2 && session.state === "connected", {
      what: "the third server",
      everyMs: 5,
    });
    expect(third.connections.length).toBe(1);
    // The share is 4,200 / 3 / 2 = 700 ms. The next keep-alive was due only after 1,400 ms.
    expect(performance.now() - cutMs).toBeLessThan(1_100);
  });
});

describe("a client adopted while its handshake is on the way", () => {
  test("is promised nothing from that handshake, as the time at which it was sent is not known", async () => {
    const server = await ScriptedServer.start();
    const { greet } = server;
    server.greet = () => null;
    server.onRequest = swallow("sync");
    const client = zookeeper.createClient(server.connectString, { sessionTimeout: server.timeoutMs });
    client.connect();
    await eventually(() => server.connections[0]?.handshake, { what: "the handshake at the server" });
    const session = adoptSession(client, { runtime });
    onTestFinished(() => session.close().then(() => server.stop()));
    server.last.welcome();
    await eventually(() => server.last.ops.includes("sync"), { what: "a proof of its own" });
    expect(session.connection).toBe(1);
    expect(session.state).toBe("connecting");
    expect(session.leaseUntilMs()).toBe(-Infinity);
    const request = server.last.requests.find(({ op }) => op === "sync");
    server.onRequest = () => false;
    server.greet = greet;
    server.last.reply(request?.xid ?? -1, "sync", { path: "/" }).flush();
    await session.whenConnected();
    expect(session.connection).toBe(2);
    const manager = managerOf(client);
    manager.connect = () => {};
    manager.socket?.destroy();
  });
});

describe("a session", () => {
  test.each([
    ["a read", "exists", { path: "/a", watch: false }],
    ["a write", "delete", { path: "/a", version: -1 }],
  ] as const)(
    "whose loop was blocked for less than the lease, with %s on its way, does not take that for the server's silence",
    async (_what, op, asked) => {
      const server = await ScriptedServer.start();
      server.timeoutMs = 6_000;
      const loop = blockable();
      server.onRequest = (request, connection) => {
        if (request.op !== op) return false;
        server.answer(request, connection);
        // Blocks in a callback of a socket. So timers run first after it, while the answer is still unread.
        loop.block(4_100);
        return true;
      };
      const session = await connectedTo(server, { runtime: loop.runtime });
      expect((await outcomeOf(session, op, asked)).ok).toBe(true);
      await eventually(() => session.leaseUntilMs() > loop.runtime.nowMs() + 3_000, { what: "a new proof" });
      expect(session.state).toBe("connected");
      expect(session.connection).toBe(1);
    },
  );

  test("never says connected when it cannot send", async () => {
    const server = await ScriptedServer.start();
    const held: number[] = [];
    server.onRequest = (request, connection) => {
      if (request.op !== "exists") return false;
      held.push(request.xid);
      const [first, second] = held;
      if (first === undefined || second === undefined) return true;
      // The second answer is out of turn. That ends the connection before its socket is closed.
      const response = { stat: someStat };
      connection
        .reply(first, "exists", response)
        .reply(second + 1, "exists", response)
        .flush();
      return true;
    };
    const session = await connectedTo(server);
    const first = session.request("exists", { path: "/a", watch: false });
    session.send("exists", { path: "/b", watch: false }, () => {});
    await first;
    // Code that repeats a refused request as long as the state is "connected" would never yield again.
    expect(session.state).toBe("suspended");
    const refused = await outcomeOf(session, "getData", { path: "/b", watch: false });
    expect(refused.ok ? null : refused.error.name).toBe("NotConnectedError");
  });

  test("is lost for good when the server does not know it any more", async () => {
    const server = await ScriptedServer.start();
    const session = await connectedTo(server);
    const states = statesOf(session);
    server.greet = () => "expired";
    const held = outcomeOf(session, "getData", { path: "/held", watch: false });
    server.onRequest = swallow("getData");
    server.last.socket.destroy();
    await eventually(() => session.state === "lost", { what: "the loss" });
    expect((await held).ok).toBe(false);
    expect(states).toEqual(["suspended", "lost"]);
    expect(session.lossReason).toBe("expired");
    await expect(session.whenConnected()).rejects.toThrow(/session is over/);
    const later = await outcomeOf(session, "exists", { path: "/a", watch: false });
    expect(later.ok ? null : later.error.name).toBe("SessionLostError");
    await session.close();
    expect(session.state).toBe("lost");
  });

  test("that a server does not make is asked for again after pauses, and is not lost", async () => {
    const server = await ScriptedServer.start();
    server.greet = () => "expired";
    const session = openTo(server);
    await expect(session.whenConnected({ waitMs: 500 })).rejects.toThrow(/the server has made no session/);
    expect(session.state).toBe("connecting");
    // The pauses begin with at least 25 ms, and double.
    expect(server.connections.length).toBeLessThan(10);
    server.greet = () => "welcome";
    await session.whenConnected();
  });

  test("is lost when its credentials are refused", async () => {
    const server = await ScriptedServer.start();
    server.onRequest = (request, connection) => {
      if (request.op !== "auth") return false;
      connection.refuse(request.xid, errorCodes.AuthFailed, 0n).flush();
      return true;
    };
    const session = openTo(server, { auth: [{ scheme: "custom", auth: "x" }] });
    await eventually(() => session.state === "lost", { what: "the loss" });
    expect(session.lossReason).toBe("auth");
  });

  test("does not take SASL for something it can do", async () => {
    const server = await ScriptedServer.start();
    expect(() => openTo(server, { auth: [{ scheme: "sasl", auth: "x" }] })).toThrow(UnsupportedError);
  });

  test("that was lost by its own clock is ended at the server as soon as that can be reached", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 600;
    const session = await connectedTo(server);
    server.onRequest = swallow("sync", "closeSession");
    server.greet = () => null;
    const pending = outcomeOf(session, "sync", { path: "/" });
    await eventually(() => session.state === "lost", { what: "the loss" });
    expect((await pending).ok).toBe(false);
    server.onRequest = () => false;
    server.greet = () => "welcome";
    const last = await eventually(() => server.connections.find(({ ops }) => ops.includes("closeSession")), {
      what: "the end at the server",
    });
    expect(last.handshake?.sessionId).toBe(server.sessionId);
    expect(last.ops).toEqual(["closeSession"]);
    expect(session.state).toBe("lost");
  });

  test("settles what is in flight with a loss when the lease ends", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 600;
    const session = await connectedTo(server);
    server.onRequest = () => true;
    const outcome = await outcomeOf(session, "delete", { path: "/a", version: -1 });
    expect(outcome.ok ? null : outcome.error.name).toMatch(/OutcomeUnknownError|SessionLostError/);
  });
});

describe("answers that a server sits on", () => {
  test("are chased with a ping after 100 ms, and again at doubling intervals", async () => {
    const server = await ScriptedServer.start();
    let held: (() => void) | undefined;
    server.onRequest = (request, connection) => {
      // Answers come in order: the server answers no keep-alive before the delete.
      if (request.op === "sync") return true;
      if (request.op !== "delete") return false;
      held = () => connection.reply(request.xid, "delete", undefined).flush();
      return true;
    };
    const session = await connectedTo(server);
    const sentMs = performance.now();
    const answer = outcomeOf(session, "delete", { path: "/a", version: -1 });
    await eventually(() => server.last.requests.filter(({ op }) => op === "ping").length === 3, {
      what: "three pings",
    });
    held?.();
    expect((await answer).ok).toBe(true);
    const pings = server.last.requests.filter(({ op }) => op === "ping").map(({ atMs }) => atMs - sentMs);
    for (const [index, dueMs] of [100, 200, 400].entries()) {
      expect(pings[index]).toBeGreaterThanOrEqual(dueMs - 5);
      // A timer may be late on a busy machine. That is not the subject of this test.
      expect(pings[index]).toBeLessThan(10 * dueMs);
    }
  });

  test("cost no ping while they come in time", async () => {
    const server = await ScriptedServer.start();
    const session = await connectedTo(server);
    const endMs = performance.now() + 300;
    let late = 0;
    for (let sentMs = performance.now(); sentMs < endMs; sentMs = performance.now()) {
      await session.request("exists", { path: "/a", watch: false });
      // On a busy machine some answers may take as long as those that are chased.
      if (performance.now() - sentMs > 90) late += 1;
    }
    expect(server.last.requests.filter(({ op }) => op === "ping").length).toBeLessThanOrEqual(late);
  });
});

describe("the timer of a session", () => {
  test("is not set anew for the next request while some are sent, and rests until the next keep-alive once none are", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 40_000;
    const delays: number[] = [];
    let cancelled = 0;
    let ticked = (): void => {};
    const session = await connectedTo(server, {
      runtime: {
        ...runtime,
        setTimer: (delayMs, fn, options) => {
          delays.push(delayMs);
          let due = true;
          const tick = (): void => {
            due = false;
            fn();
            ticked();
          };
          const cancel = runtime.setTimer(delayMs, tick, options);
          return () => {
            if (due) cancelled += 1;
            due = false;
            cancel();
          };
        },
      },
    });
    const tick = (): Promise<void> =>
      new Promise((resolve) => {
        ticked = resolve;
      });
    await session.request("exists", { path: "/a", watch: false });
    cancelled = 0;
    for (let round = 0; round < 3; round++) {
      await tick();
      await session.request("exists", { path: "/a", watch: false });
    }
    expect(cancelled).toBe(0);
    await tick();
    expect(delays.at(-1)).toBeLessThanOrEqual(100);
    await tick();
    expect(delays.at(-1)).toBeGreaterThan(5_000);
  });
});

describe("a new connection", () => {
  test("gets the credentials, then the watches, then `connected`, then requests", async () => {
    const server = await ScriptedServer.start();
    const session = await connectedTo(server, { auth: [{ scheme: "digest", auth: "u:p" }] });
    session.watchData("/w", { answered: () => {}, fired: () => {} });
    await session.request("sync", { path: "/" });
    session.onState((state) => {
      if (state === "connected") session.send("exists", { path: "/a", watch: false }, () => {});
    });
    server.last.socket.destroy();
    await eventually(() => server.connections[1]?.ops.includes("exists"), { what: "the request" });
    expect(server.last.ops.slice(0, 3)).toEqual(["auth", "setWatches", "exists"]);
  });

  test("gets many watches in pieces of at most 128 KiB, all counting from the same zxid", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 30_000; // no keep-alive comes in between
    let zxid = 40n;
    server.onRequest = (request, connection) => {
      if (request.op !== "exists") return false;
      zxid += 1n;
      connection.refuse(request.xid, errorCodes.NoNode, zxid).flush();
      return true;
    };
    const session = await connectedTo(server);
    const paths = Array.from(
      { length: 5_000 },
      (_, number) => `/${"p".repeat(63)}${String(number).padStart(6, "0")}`,
    );
    for (const path of paths) session.watchExists(path, { answered: () => {}, fired: () => {} });
    await eventually(() => zxid === 5_040n, { what: "the watches" });
    // Numbers that are no zxids must not count: an unknown operation is answered with -1, auth with 0.
    server.onRequest = (request, connection) => {
      if (request.op !== "getData") return false;
      connection.refuse(request.xid, errorCodes.Unimplemented, -1n).flush();
      return true;
    };
    await outcomeOf(session, "getData", { path: "/x", watch: false });
    server.onRequest = () => false;
    server.last.socket.destroy();
    await eventually(() => session.connection === 2 && session.state === "connected", {
      what: "the reconnect",
    });
    await session.request("sync", { path: "/" });
    const sent = server.last.requests.filter(({ op }) => op === "setWatches");
    expect(sent.length).toBe(3);
    const pieces = sent.map(({ body }) => decodeRequest("setWatches", body));
    expect(new Set(pieces.map(({ relativeZxid }) => relativeZxid))).toEqual(new Set([5_040n]));
    expect(pieces.flatMap(({ existWatches }) => existWatches).sort()).toEqual(paths);
    for (const { body } of sent) expect(body.length + 12).toBeLessThanOrEqual(maxPieceBytes);
    expect(server.last.handshake?.lastZxidSeen).toBe(5_040n);
  });

  test("hears the answers to the first pieces while others are still to be sent, in later turns", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 60_000; // the clock below runs ahead
    let [passedMs, stepMs] = [0, 0];
    const nowMs = () => {
      passedMs += stepMs;
      return runtime.nowMs() + passedMs;
    };
    const session = await connectedTo(server, { runtime: { ...runtime, nowMs } });
    const heard: string[] = [];
    const paths = Array.from({ length: 500 }, (_, number) => `/${"p".repeat(1_000)}${number}`);
    for (const path of paths) {
      session.watchData(path, { answered: () => {}, fired: (type) => heard.push(`${type} ${path}`) });
    }
    await session.request("sync", { path: "/" });
    server.onRequest = (request, connection) => {
      if (request.op === "setWatches") connection.event("deleted", paths[0] as string);
      return false;
    };
    // Each piece takes as long as one turn may take.
    stepMs = 10;
    server.last.socket.destroy();
    await eventually(() => session.connection > 1 && session.state === "connected", {
      what: "the reconnect",
    });
    stepMs = 0;
    await session.request("sync", { path: "/" });
    expect(server.connections).toHaveLength(2);
    expect(server.last.ops.filter((op) => op === "setWatches").length).toBeGreaterThan(3);
    expect(heard).toEqual([`deleted ${paths[0]}`]);
  });

  test("that breaks between two pieces is followed by one that counts from before the first", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 30_000; // no keep-alive comes in between
    server.onRequest = (request, connection) => {
      if (request.op !== "exists") return false;
      connection.refuse(request.xid, errorCodes.NoNode, 7n).flush();
      return true;
    };
    const session = await connectedTo(server);
    for (let number = 0; number < 3_000; number += 1) {
      session.watchExists(`/${"p".repeat(63)}${number}`, { answered: () => {}, fired: () => {} });
    }
    await outcomeOf(session, "exists", { path: "/last", watch: false });
    let pieces = 0;
    server.onRequest = (request, connection) => {
      if (request.op !== "setWatches") return false;
      pieces += 1;
      if (pieces === 1) connection.reply(request.xid, "setWatches", undefined, 99n).flush();
      else if (pieces === 2) setTimeout(() => connection.socket.destroy(), 20);
      return pieces <= 2;
    };
    server.last.socket.destroy();
    await eventually(() => server.connections.length === 3 && session.connection === 3, {
      what: "the third connection",
    });
    await session.request("exists", { path: "/last", watch: false });
    expect(server.last.handshake?.lastZxidSeen).toBe(99n);
    const again = server.last.requests.filter(({ op }) => op === "setWatches");
    expect(again.map(({ body }) => decodeRequest("setWatches", body).relativeZxid)).toEqual([7n, 7n]);
  });

  test("delivers what changed meanwhile to the listeners of the old one, once", async () => {
    const server = await ScriptedServer.start();
    const session = await connectedTo(server);
    const heard: string[] = [];
    session.watchData("/w", { answered: () => {}, fired: (type) => heard.push(type) });
    await session.request("sync", { path: "/" });
    server.onRequest = (request, connection) => {
      if (request.op === "setWatches") connection.event("deleted", "/w").event("deleted", "/w");
      return false;
    };
    server.last.socket.destroy();
    await eventually(() => session.connection === 2 && session.state === "connected", {
      what: "the reconnect",
    });
    await session.request("sync", { path: "/" });
    expect(heard).toEqual(["deleted"]);
  });

  test("on which a busy server refuses the watches stays, and the watches are sent again", async () => {
    const server = await ScriptedServer.start();
    const session = await connectedTo(server);
    session.watchData("/w", { answered: () => {}, fired: () => {} });
    await session.request("sync", { path: "/" });
    let refused = 0;
    server.onRequest = (request, connection) => {
      if (request.op !== "setWatches" || refused === 2) return false;
      refused += 1;
      connection.refuse(request.xid, errorCodes.ThrottledOp).flush();
      return true;
    };
    server.last.socket.destroy();
    await eventually(() => server.last.ops.filter((op) => op === "setWatches").length === 3, {
      what: "the watches to be in place",
      withinMs: 5_000,
    });
    expect(server.connections).toHaveLength(2);
    expect(session.state).toBe("connected");
  });

  test("on which the watches are refused again and again follows after pauses that grow", async () => {
    const server = await ScriptedServer.start();
    const session = await connectedTo(server);
    session.watchData("/w", { answered: () => {}, fired: () => {} });
    await session.request("sync", { path: "/" });
    server.onRequest = (request, connection) => {
      if (request.op !== "setWatches") return false;
      connection.refuse(request.xid, errorCodes.MarshallingError).flush();
      return true;
    };
    server.last.socket.destroy();
    const cutMs = runtime.nowMs();
    await eventually(() => runtime.nowMs() > cutMs + 1_000, { what: "a second" });
    // Pauses of up to 25 ms would make more than twenty.
    expect(server.connections.length).toBeLessThan(12);
  });

  test("on which the watches are refused is given up for another", async () => {
    const server = await ScriptedServer.start();
    const session = await connectedTo(server);
    session.watchData("/w", { answered: () => {}, fired: () => {} });
    await session.request("sync", { path: "/" });
    let refused = 0;
    server.onRequest = (request, connection) => {
      if (request.op !== "setWatches" || refused > 0) return false;
      refused += 1;
      connection.refuse(request.xid, errorCodes.MarshallingError).flush();
      return true;
    };
    server.last.socket.destroy();
    await eventually(() => session.connection === 3 && session.state === "connected", {
      what: "the third connection",
    });
    // `setWatches` was sent before the session counted as connected, so the server may not have read it yet.
    await session.request("sync", { path: "/" });
    expect(server.last.ops).toContain("setWatches");
  });
});

describe("whenConnected", () => {
  test("names servers and cause within a second when every server refuses", async () => {
    const ports = [await freePort(), await freePort()];
    const connectTimeoutMs = 30_000;
    const session = open(ports.map((port) => `127.0.0.1:${port}`).join(","), { connectTimeoutMs });
    const startMs = performance.now();
    const error = await session.whenConnected().then(
      () => null,
      (reason: unknown) => reason as BackendError,
    );
    const tookMs = performance.now() - startMs;
    expect(error).toBeInstanceOf(BackendError);
    expect(error?.message).toContain("ECONNREFUSED");
    for (const port of ports) expect(error?.message).toContain(`127.0.0.1:${port}`);
    expect([...(error?.servers ?? [])].sort()).toEqual(ports.map((port) => `127.0.0.1:${port}`).sort());
    expect(tookMs).toBeGreaterThan(899);
    expect(tookMs).toBeLessThan(connectTimeoutMs);
  });

  test("waits for connectTimeoutMs at a black hole, and less where `waitMs` is less", async () => {
    const server = await ScriptedServer.start();
    server.greet = () => null;
    const session = openTo(server, { connectTimeoutMs: 1_300 });
    const startMs = performance.now();
    const short = session.whenConnected({ waitMs: 300 }).then(
      () => 0,
      () => performance.now() - startMs,
    );
    const long = session.whenConnected().then(
      () => 0,
      (error: unknown) => {
        expect(error).toBeInstanceOf(BackendError);
        return performance.now() - startMs;
      },
    );
    expect(await short).toBeGreaterThan(295);
    expect(await long).toBeGreaterThan(1_290);
    expect(await short).toBeLessThan(await long);
  });

  test("rejects with the reason of its signal, at once", async () => {
    const server = await ScriptedServer.start();
    server.greet = () => null;
    const session = openTo(server);
    const abort = new AbortController();
    const waiting = session.whenConnected({ signal: abort.signal });
    const reason = new Error("changed my mind");
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(session.whenConnected({ signal: abort.signal })).rejects.toBe(reason);
  });

  test("resolves when the server comes up late", async () => {
    const server = await ScriptedServer.start();
    const proxy = await startProxy({ target: server.connectString });
    await proxy.setMode("refuse");
    const session = open(proxy.connectString);
    const waiting = session.whenConnected();
    await eventually(
      async () => (await session.whenConnected({ waitMs: 50 }).catch((error) => error)) instanceof Error,
      {
        what: "a refusal",
      },
    );
    await proxy.setMode("ok");
    await waiting;
    expect(session.state).toBe("connected");
    await proxy.close();
  });
});
