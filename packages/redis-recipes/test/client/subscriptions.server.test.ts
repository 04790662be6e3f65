import { setTimeout as delay } from "node:timers/promises";
import { ProviderClosedError } from "@holdfast/core";
import { eventually, freePort, type RedisNode, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { freshName, increment, openLine } from "./support.js";

let server: RedisNode;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("hears what is published from when ready is resolved", async () => {
  const { line } = openLine({ url: server.url });
  const channel = freshName("channel");
  const heard: string[] = [];
  // It subscribes before there is any connection.
  const subscription = line.subscribe(channel, "plain", (message) => heard.push(message));
  await subscription.ready;
  expect(await server.command("PUBLISH", channel, "one")).toBe(1);
  await eventually(() => heard.length === 1, { what: "the message" });
  subscription.end();
  await eventually(async () => (await server.command("PUBLISH", channel, "two")) === 0, {
    what: "the end of the subscription",
  });
  expect(heard).toEqual(["one"]);
});

test("carries all channels on one connection, and all listeners of a channel on one subscription", async () => {
  const { line } = openLine({ url: server.url });
  const channels = Array.from({ length: 50 }, () => freshName("many"));
  const heard: string[] = [];
  const subscriptions = channels.flatMap((channel) => [
    line.subscribe(channel, "plain", (message) => heard.push(message)),
    line.subscribe(channel, "redisson", (message) => heard.push(message)),
  ]);
  await Promise.all(subscriptions.map(({ ready }) => ready));
  const clients = String(await server.command("CLIENT", "LIST", "TYPE", "pubsub"))
    .trim()
    .split("\n");
  expect(clients.filter((line) => line.includes("sub=50"))).toHaveLength(1);
  const [channel = ""] = channels;
  await server.command("PUBLISH", channel, "x");
  await eventually(() => heard.length === 2, { what: "both listeners" });
  subscriptions[0]?.end();
  await server.command("PUBLISH", channel, "y");
  await eventually(() => heard.length === 3, { what: "the listener that is left" });
});

test("gives notice after a loss, once all channels are there again, and listeners hear messages again", async () => {
  const proxy = await startRedisProxy({ target: server.address });
  onTestFinished(() => proxy.close());
  const { line, notices, states } = openLine({ url: `redis://${proxy.connectString}` });
  const [first, second] = [freshName("lost"), freshName("lost")];
  const heard: string[] = [];
  const subscriptions = [first, second].map((name) =>
    line.subscribe(name, "plain", (message) => heard.push(message)),
  );
  await Promise.all(subscriptions.map(({ ready }) => ready));
  expect(notices).toEqual([]);
  const liveAtNotice: number[] = [];
  line.onRenewed(async () => {
    liveAtNotice.push(Number(await server.command("PUBLISH", first, "a")));
    liveAtNotice.push(Number(await server.command("PUBLISH", second, "b")));
  });
  expect(await server.killClients("pubsub")).toBe(1);
  await eventually(() => liveAtNotice.length === 2, { what: "the notice" });
  expect(notices).toEqual(["subscriptions"]);
  expect(liveAtNotice).toEqual([1, 1]);
  await eventually(() => heard.length === 2, { what: "both messages" });
  expect(states).toEqual(["connected"]);
});

test("leaves a server that sends nothing any more, and subscribes again", async () => {
  const proxy = await startRedisProxy({ target: server.address });
  onTestFinished(() => proxy.close());
  const { line, notices } = openLine({ url: `redis://${proxy.connectString}` });
  const subscription = line.subscribe(freshName("silent"), "plain", () => {});
  await subscription.ready;
  const { ready } = subscription;
  await proxy.setMode("hole");
  await eventually(() => subscription.ready !== ready, {
    what: "the silence to be noticed",
    withinMs: 20_000,
  });
  await proxy.setMode("ok");
  await subscription.ready;
  await eventually(() => notices.includes("subscriptions"), { what: "the notice" });
});

test("goes on with the other listeners when one throws, and warns", async () => {
  const { line } = openLine({ url: server.url });
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => warned.mockRestore());
  const channel = freshName("throwing");
  const throwing = line.subscribe(channel, "plain", () => {
    throw new Error("broken listener");
  });
  const heard = new Promise<string>((resolve) => line.subscribe(channel, "plain", resolve));
  await throwing.ready;
  await server.command("PUBLISH", channel, "x");
  expect(await heard).toBe("x");
  expect(warned).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("broken listener"), {
    type: "HoldfastWarning",
  });
});

test("warns a user who may not subscribe, and goes on without", async () => {
  const guarded = await startRedis({ users: ["app on >secret ~* +@all resetchannels &allowed"] });
  onTestFinished(() => guarded.stop());
  const { line, warnings } = openLine({ url: guarded.url, username: "app", password: "secret" });
  await line.whenConnected();
  line.subscribe("forbidden", "plain", () => {});
  await eventually(() => warnings.some(({ code }) => code === "HF_SUBSCRIBE_DENIED"), {
    what: "the warning",
  });
  expect((await line.run(increment, ["x"], [])).reply).toBe(1);
});

test("a denied channel ends no connection of ours, whatever reconnectOnError of the given client answers", async () => {
  const guarded = await startRedis({ users: ["app on >secret ~* +@all resetchannels &allowed"] });
  onTestFinished(() => guarded.stop());
  const access = { username: "app", password: "secret" };
  const client = new Redis({
    host: guarded.host,
    port: guarded.port,
    ...access,
    reconnectOnError: () => true,
  });
  onTestFinished(() => client.disconnect());
  const { line, notices, warnings } = openLine({ client });
  await line.subscribe("allowed", "plain", () => {}).ready;
  line.subscribe("forbidden", "plain", () => {});
  const pubsub = (): Promise<unknown> => guarded.command("CLIENT", "LIST", "TYPE", "pubsub");
  const before = /^id=\d+/.exec(String(await pubsub()))?.[0];
  await eventually(() => warnings.some(({ code }) => code === "HF_SUBSCRIBE_DENIED"), {
    what: "the refusal",
  });
  // A connection that is ended is made again after 20 ms, so many would be made in this time.
  await delay(500);
  expect(/^id=\d+/.exec(String(await pubsub()))?.[0]).toBe(before);
  expect(notices).toEqual([]);
});

test("rejects ready when the line closes", async () => {
  const { line } = openLine({ url: `redis://127.0.0.1:${await freePort()}` });
  const { ready } = line.subscribe("never", "plain", () => {});
  await line.close(1_000);
  await expect(ready).rejects.toBeInstanceOf(ProviderClosedError);
});
