import { eventually } from "@holdfast/test-servers";
import { describe, expect, onTestFinished, test } from "vitest";
import { ReadTurns } from "../../src/client/read-turns.js";
import { ScriptedServer, someStat } from "./scripted-server.js";
import { open, runtime as system } from "./support.js";

/** A clock that moves by work, an event loop that turns when the test turns it, and a socket. */
class Scene {
  nowMs = 1_000;
  readonly calls: string[] = [];
  readonly due: (() => void)[] = [];
  readonly turns = new ReadTurns(10, { nowMs: () => this.nowMs, nextTurn: (fn) => this.due.push(fn) });
  readonly tap = { pause: () => this.calls.push("pause"), resume: () => this.calls.push("resume") };

  async take(costMs: number): Promise<void> {
    this.turns.take(this.tap, () => {
      this.nowMs += costMs;
    });
    await Promise.resolve();
  }

  nextTurn(): void {
    for (const fn of this.due.splice(0)) fn();
  }
}

describe("what one turn takes of a socket", () => {
  test("ends with the piece that uses its time up, and goes on in the next turn", async () => {
    const scene = new Scene();
    for (const costMs of [4, 5]) await scene.take(costMs);
    expect(scene.calls).toEqual([]);
    await scene.take(1);
    expect(scene.calls).toEqual(["pause"]);
    scene.nextTurn();
    expect(scene.calls).toEqual(["pause", "resume"]);
  });

  test("is behind from then on, until a turn has read to the end of what there was", async () => {
    const scene = new Scene();
    await scene.take(9);
    expect(scene.turns.behind).toBe(false);
    await scene.take(1);
    expect(scene.turns.behind).toBe(true);
    scene.nextTurn();
    expect(scene.turns.behind).toBe(true);
    await scene.take(10);
    scene.nextTurn();
    expect(scene.turns.behind).toBe(true);
    scene.nextTurn();
    expect(scene.turns.behind).toBe(false);
    expect(scene.due).toEqual([]);
  });

  test("has its time anew in each turn, and none of it goes for what others do", async () => {
    const scene = new Scene();
    for (let turn = 0; turn < 5; turn++) {
      await scene.take(9);
      scene.nowMs += 1_000;
      scene.nextTurn();
    }
    expect(scene.calls).toEqual([]);
  });

  test("takes one piece at least, however long that takes", async () => {
    const scene = new Scene();
    for (let turn = 0; turn < 3; turn++) {
      await scene.take(500);
      scene.nextTurn();
    }
    expect(scene.calls).toEqual(["pause", "resume", "pause", "resume", "pause", "resume"]);
  });

  test("counts what a piece leaves to microtasks", async () => {
    const scene = new Scene();
    scene.turns.take(scene.tap, () =>
      queueMicrotask(() => {
        scene.nowMs += 10;
      }),
    );
    await Promise.resolve();
    expect(scene.calls).toEqual(["pause"]);
  });

  test("is paused once, though bytes come that were read before", async () => {
    const scene = new Scene();
    for (const costMs of [20, 20]) await scene.take(costMs);
    expect(scene.calls).toEqual(["pause"]);
    scene.nextTurn();
    expect(scene.calls).toEqual(["pause", "resume"]);
  });
});

const turnMs = 10;
const eventCostMs = 0.05;
const perAnswer = 5_000;
const answers = 4;
const path = (n: number): string => `/locks/${String(n).padStart(100, "0")}`;

/** How many entries were added in each turn of the event loop. `most` gives the highest number. */
function countPerTurn(entries: readonly unknown[]): { most(): number } {
  let going = true;
  let before = 0;
  let most = 0;
  const look = (): void => {
    most = Math.max(most, entries.length - before);
    before = entries.length;
    if (going) setImmediate(look);
  };
  setImmediate(look);
  onTestFinished(() => {
    going = false;
  });
  return { most: () => most };
}

describe("a session that bounds its turns", () => {
  test("spreads a burst over many turns, keeps its order and loses nothing of it, though the connection ends behind it", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 40_000;
    const heard: string[] = [];
    let workMs = 0;
    const session = open(server.connectString, {
      sessionTimeoutMs: server.timeoutMs,
      turnMs,
      runtime: { ...system, nowMs: () => system.nowMs() + workMs },
      onWatchEvent: (event) => {
        heard.push(event.path);
        workMs += eventCostMs;
      },
    });
    await session.whenConnected();
    session.onState((state) => heard.push(state));
    const expected: string[] = [];
    const asked: number[] = [];
    server.onRequest = ({ op, xid }, connection) => {
      // After the server has ended its side it answers nothing more: further bytes would turn the end into a reset.
      if (op !== "exists") return connection.socket.writableEnded;
      if (asked.length === answers) return false;
      asked.push(xid);
      if (asked.length < answers) return true;
      for (const [at, each] of asked.entries()) {
        for (let n = 0; n < perAnswer; n++) {
          const told = path(at * perAnswer + n);
          connection.event("created", told);
          expected.push(told);
        }
        connection.reply(each, "exists", { stat: someStat });
        expected.push(`answer ${at}`);
      }
      connection.flush();
      connection.socket.end();
      return true;
    };
    const perTurn = countPerTurn(heard);
    for (let at = 0; at < answers; at++)
      session.send("exists", { path: "/asked", watch: false }, ({ ok }) =>
        heard.push(ok ? `answer ${at}` : `no answer ${at}`),
      );
    await eventually(() => session.connection === 2, { what: "the next connection", withinMs: 60_000 });
    expect(heard.slice(0, expected.length)).toEqual(expected);
    expect(heard[expected.length]).toBe("suspended");
    // At most two pieces of 64 KiB, and the little that is read before the socket stops.
    const bytesOfEvent = 4 + 16 + 8 + 4 + path(0).length;
    expect(perTurn.most()).toBeLessThan((3 * 65_536) / bytesOfEvent);
  });

  test("goes on with the next connection, when the one that waited is cut", async () => {
    const server = await ScriptedServer.start();
    server.timeoutMs = 40_000;
    let workMs = 0;
    let events = 0;
    const session = open(server.connectString, {
      sessionTimeoutMs: server.timeoutMs,
      turnMs,
      runtime: { ...system, nowMs: () => system.nowMs() + workMs },
      onWatchEvent: () => {
        events += 1;
        workMs += turnMs;
      },
    });
    await session.whenConnected();
    const first = server.last;
    for (let n = 0; n < 2_000; n++) first.event("created", path(n));
    first.flush();
    await eventually(() => events > 0, { what: "the burst" });
    first.socket.resetAndDestroy();
    await eventually(() => session.connection === 2 && session.state === "connected", {
      what: "the next connection",
      withinMs: 60_000,
    });
    const before = events;
    for (let n = 0; n < 2_000; n++) server.last.event("deleted", path(n));
    server.last.flush();
    await eventually(() => events === before + 2_000, { what: "all events of it", withinMs: 60_000 });
  });
});
