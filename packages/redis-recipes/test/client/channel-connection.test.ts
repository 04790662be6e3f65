import { EventEmitter } from "node:events";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import type { Redis } from "ioredis";
import { beforeEach, expect, test } from "vitest";
import { Channel } from "../../src/client/channel.js";
import { ChannelConnection } from "../../src/client/channel-connection.js";
import { defaultTimes } from "../../src/client/settings.js";

/** A connected client of ioredis. It refuses a subscription with the next text in `answers`, and accepts it if there is none. */
class ScriptedClient extends EventEmitter {
  readonly options = {};
  readonly stream = { cork: () => {}, uncork: () => {} };
  readonly asked: string[] = [];
  readonly answers = new Map<string, string[]>();
  status = "wait";

  duplicate(): this {
    return this;
  }

  async connect(): Promise<void> {
    this.status = "ready";
    this.emit("ready");
  }

  async ssubscribe(name: string): Promise<void> {
    this.asked.push(name);
    const refusal = this.answers.get(name)?.shift();
    if (refusal !== undefined) throw new Error(refusal);
  }

  async ping(): Promise<void> {}

  disconnect(): void {
    this.status = "end";
    this.emit("end");
  }
}

const denied = "NOPERM No permissions to access a channel";
const moved = "MOVED 1 10.0.0.2:6379";

let runtime: SimulatedRuntime;
let client: ScriptedClient;
let connection: ChannelConnection;
let renewed: number;

beforeEach(() => {
  renewed = 0;
  runtime = simulatedRuntime(1);
  client = new ScriptedClient();
  connection = new ChannelConnection({
    runtime,
    times: defaultTimes,
    sharded: true,
    base: () => client as unknown as Redis,
    movable: false,
    hears: (redis) => (redis as unknown) === client,
    onRenewed: () => {
      renewed += 1;
    },
    onMoved: () => {},
    warn: () => {},
  });
});

function channel(name: string, ...refusals: string[]): Channel {
  client.answers.set(name, refusals);
  return new Channel(name, () => true);
}

test("a channel that is denied does not delay one that was only moved", async () => {
  const [there, forbidden] = [channel("there", moved), channel("forbidden", denied, denied)];
  connection.add(there);
  connection.add(forbidden);
  await runtime.advance(0);
  expect(client.asked).toEqual(["there", "forbidden"]);
  await runtime.advance(250);
  expect(there.live).toBe(true);
  expect(client.asked).toEqual(["there", "forbidden", "there"]);
  await runtime.advance(4_500);
  expect(client.asked).toHaveLength(3);
  await runtime.advance(300);
  expect(client.asked.slice(3)).toEqual(["forbidden"]);
});

test("a channel that moves again and again is asked for each time, and one that is denied no more often for it", async () => {
  connection.add(channel("there", ...Array.from({ length: 30 }, () => moved)));
  connection.add(channel("forbidden", denied, denied));
  await runtime.advance(4_900);
  const count = (name: string): number => client.asked.filter((each) => each === name).length;
  expect(count("there")).toBeGreaterThan(20);
  expect(count("forbidden")).toBe(1);
  await runtime.advance(300);
  expect(count("forbidden")).toBe(2);
});

test("a channel that is given up is not asked for any more", async () => {
  const gone = channel("gone", moved);
  connection.add(gone);
  await runtime.advance(0);
  client.status = "reconnecting";
  connection.remove(gone);
  client.status = "ready";
  await runtime.advance(10_000);
  expect(client.asked).toEqual(["gone"]);
});

test("channels that are back after a reconnect are announced although another is denied", async () => {
  connection.add(channel("there"));
  connection.add(channel("forbidden", ...Array.from({ length: 10 }, () => denied)));
  await runtime.advance(0);
  client.emit("close");
  client.emit("ready");
  await runtime.advance(0);
  expect(renewed).toBe(1);
  await runtime.advance(20_000);
  expect(renewed).toBe(1);
});

test("the channels of a server that has left the others are subscribed at another, and messages may be missing", async () => {
  const there = channel("there");
  connection.add(there);
  await runtime.advance(0);
  connection.settle();
  await runtime.advance(0);
  expect([client.asked, renewed]).toEqual([["there"], 0]);
  const left = client;
  client = new ScriptedClient();
  connection.settle();
  await runtime.advance(0);
  expect([left.status, client.asked, there.live, renewed]).toEqual(["end", ["there"], true, 1]);
});
