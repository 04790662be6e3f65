import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  eventually,
  RedisConnection,
  type RedisNode,
  type RedisProxy,
  startRedis,
  startRedisProxy,
  UnreachableError,
} from "../../src/index.js";

let server: RedisNode;
let proxy: RedisProxy;
const connections: RedisConnection[] = [];

beforeAll(async () => {
  server = await startRedis();
});

beforeEach(async () => {
  await server.command("FLUSHALL");
  proxy = await startRedisProxy({ target: server.address });
});

afterEach(async () => {
  for (const connection of connections.splice(0)) connection.close();
  await proxy.close();
});

afterAll(() => server.stop());

/** The limit of clients whose requests get no answer. It also holds for their connecting, which a busy machine must manage. */
const silenceMs = 600;

/** A client through the proxy. With `resp` 3 it has introduced itself by HELLO. */
async function connect(resp: 2 | 3 = 2, timeoutMs = 10_000): Promise<RedisConnection> {
  const connection = await RedisConnection.connect({ port: proxy.port, timeoutMs });
  connections.push(connection);
  if (resp === 3) await connection.command("HELLO", 3);
  return connection;
}

async function end(connection: RedisConnection): Promise<void> {
  await eventually(() => connection.ended, { what: "the connection to end" });
}

const lost = { name: "UnreachableError", reason: "closed" };

describe("counting", () => {
  test("commands are counted by name, those that leave together as one flight", async () => {
    const client = await connect(3);
    await Promise.all([
      client.command("SET", "a", 1),
      client.command("INCR", "a"),
      client.command("WAIT", 0, 100),
    ]);
    expect(proxy.counts()).toEqual({
      commands: 3,
      flights: 1,
      pushes: 0,
      byName: { HELLO: 1, SET: 1, INCR: 1, WAIT: 1 },
    });
    proxy.reset();
    for (let index = 0; index < 3; index++) await client.command("INCR", "a");
    await client.command("PING");
    expect(proxy.counts()).toMatchObject({ commands: 3, flights: 3, byName: { INCR: 3, PING: 1 } });
  });

  test("flights of several connections add up, and what is left out is the caller's choice", async () => {
    const [one, two] = [await connect(), await connect()];
    proxy.reset({ ignore: ["client", "wait"] });
    await Promise.all([one.command("SET", "a", 1), two.command("SET", "b", 1)]);
    await one.command("CLIENT", "ID");
    await one.command("WAIT", 0, 1);
    await one.command("PING");
    expect(proxy.counts()).toMatchObject({ commands: 3, flights: 3 });
  });

  test("the trace has commands with their keys, replies with their kinds and the command they answer", async () => {
    const client = await connect();
    await client.command("HSET", "{lock}", "owner", 1);
    await expect(client.command("EVALSHA", "0".repeat(40), 1, "{lock}")).rejects.toMatchObject({
      code: "NOSCRIPT",
    });
    await client.command("GET", "none");
    const seen = proxy.trace.map(({ kind, name, key, reply, error }) => ({ kind, name, key, reply, error }));
    expect(seen).toEqual([
      { kind: "command", name: "HSET", key: "{lock}" },
      { kind: "reply", name: "HSET", key: "{lock}", reply: "integer" },
      { kind: "command", name: "EVALSHA", key: "{lock}" },
      { kind: "reply", name: "EVALSHA", key: "{lock}", reply: "error", error: "NOSCRIPT" },
      { kind: "command", name: "GET", key: "none" },
      { kind: "reply", name: "GET", key: "none", reply: "null" },
    ]);
    const wait = proxy.waitFor((entry) => entry.name === "DEL");
    await client.command("DEL", "{lock}");
    expect(await wait).toMatchObject({ kind: "command", key: "{lock}" });
    await expect(proxy.waitFor(() => false, { withinMs: 50, what: "the impossible" })).rejects.toThrow(
      /waited 50 ms for the impossible; the last:\n[\s\S]*#1 up command DEL \{lock\}/,
    );
  });

  test("transactions, blocking commands, inline ones and MONITOR keep replies and commands together", async () => {
    const client = await connect();
    await client.command("MULTI");
    expect(await client.command("INCR", "a")).toBe("QUEUED");
    expect(await client.command("EXEC")).toEqual([1]);
    const monitor = await connect();
    await monitor.command("MONITOR");
    const blocked = client.command("BLPOP", "list", 5);
    await server.command("RPUSH", "list", "x");
    expect(await blocked).toEqual(["list", "x"]);
    await eventually(() => monitor.messages.length >= 2, { what: "lines of MONITOR" });
    await client.command("GET", "a");
    const replies = proxy.trace.filter(({ kind }) => kind === "reply").map(({ name }) => name);
    expect(replies).toEqual(["MULTI", "INCR", "EXEC", "MONITOR", "BLPOP", "GET"]);
  });
});

describe("losing", () => {
  test("dropReply loses exactly the reply of the n-th command that matches: the server has acted, the client does not know", async () => {
    const rule = proxy.dropReply({ name: "incr", key: "a", nth: 2 });
    const client = await connect();
    expect(await client.command("INCR", "b")).toBe(1);
    expect(await client.command("INCR", "a")).toBe(1);
    await expect(client.command("INCR", "a")).rejects.toMatchObject(lost);
    expect(await server.command("GET", "a")).toBe("2");
    expect(rule.hits).toHaveLength(1);
    expect(rule.over).toBe(true);
    const again = await connect();
    expect(await again.command("INCR", "a")).toBe(3);
  });

  test("a reply that is lost takes those before it in the pipeline not with it, and those behind it along", async () => {
    proxy.dropReply({ name: "GET", key: "b" });
    const client = await connect();
    const outcomes = await Promise.allSettled(["a", "b", "c"].map((key) => client.command("GET", key)));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  });

  test("dropCommand: the server never hears of it", async () => {
    proxy.dropCommand({ name: "INCR", after: "reset" });
    const client = await connect();
    await expect(client.command("INCR", "a")).rejects.toBeInstanceOf(UnreachableError);
    expect(await server.command("EXISTS", "a")).toBe(0);
  });

  test("refuseCommand: the server says no in the order of the stream, and does nothing", async () => {
    proxy.refuseCommand({ name: "INCR", nth: 2, answer: "OOM command not allowed" });
    const client = await connect();
    const outcomes = await Promise.allSettled(["a", "b", "a"].map((key) => client.command("INCR", key)));
    expect(outcomes).toMatchObject([{ value: 1 }, { reason: { code: "OOM" } }, { value: 2 }]);
    expect(await server.command("EXISTS", "b")).toBe(0);
  });

  test("after `silence` the connection stays open and nothing more comes", async () => {
    proxy.dropReply({ name: "INCR", after: "silence" });
    const client = await connect(2, silenceMs);
    const outcomes = Promise.allSettled([client.command("INCR", "a"), client.command("INCR", "a")]);
    const reasons = (await outcomes).map((outcome) => outcome.status === "rejected" && outcome.reason.reason);
    expect(reasons).toEqual(["timeout", "timeout"]);
    // Where this process stood still, the limits were over before the proxy has passed the commands on.
    await expect.poll(() => server.command("GET", "a")).toBe("2");
  });

  test("after `go-on` the next reply is taken for the one that was lost", async () => {
    proxy.dropReply({ name: "INCR", after: "go-on" });
    const client = await connect();
    const first = client.command("INCR", "a");
    client.command("INCR", "a").catch(() => {}); // the answer to this one never comes
    expect(await first).toBe(2);
  });

  test.each([
    ["before", 0, false],
    ["mid-command", 0, false],
    ["sent", 1, false],
    ["applied", 1, false],
    ["mid-reply", 1, false],
    ["replied", 1, true],
  ] as const)(
    "cut at `%s`: the server has acted %i times, the client knows: %s",
    async (at, acted, known) => {
      proxy.cut({ name: "INCR", at });
      const client = await connect();
      const outcome = await client.command("INCR", "a").catch((error: unknown) => error);
      if (known) expect(outcome).toBe(1);
      else expect(outcome).toMatchObject(lost);
      await end(client);
      const count = await eventually(
        async () => {
          const seen = Number((await server.command("GET", "a")) ?? 0);
          return seen === acted && { seen };
        },
        { what: `the server to have acted ${acted} times`, withinMs: 10_000 },
      );
      expect(count.seen).toBe(acted);
    },
  );

  test("a reply can be chosen by what it is, and a script by its digest", async () => {
    const script = String(await server.command("SCRIPT", "LOAD", "return redis.call('INCR', KEYS[1])"));
    const byError = proxy.dropReply({ error: "WRONGTYPE" });
    const client = await connect();
    await client.command("SET", "text", "x");
    await client.command("RPUSH", "list", "x");
    await expect(client.command("EVALSHA", script, 1, "text")).rejects.toMatchObject({ code: "ERR" });
    await expect(client.command("GET", "list")).rejects.toMatchObject(lost);
    expect(byError.hits).toHaveLength(1);
    const byScript = proxy.dropReply({ script });
    const other = await connect();
    await other.command("EVAL", "return 1", 0);
    await expect(other.command("EVALSHA", script, 1, "a")).rejects.toMatchObject(lost);
    expect(byScript.hits[0]).toMatchObject({ name: "EVALSHA", key: "a", script });
    expect(await server.command("GET", "a")).toBe("1");
  });
});

describe("holding and delaying", () => {
  test("a held command reaches the server on release, and what is behind it waits in order", async () => {
    const rule = proxy.holdCommand({ key: "a" });
    const client = await connect();
    const both = Promise.all([client.command("INCR", "a"), client.command("INCR", "b")]);
    expect(await rule.hit()).toMatchObject({ name: "INCR", key: "a", fate: "held" });
    expect(await server.command("EXISTS", "a", "b")).toBe(0);
    const other = await connect();
    expect(await other.command("INCR", "c")).toBe(1);
    rule.release();
    expect(await both).toEqual([1, 1]);
    expect(rule.hits[0]?.fate).toBe("forwarded");
  });

  test("a held reply comes on release: the server acted long before", async () => {
    const rule = proxy.holdReply({ name: "INCR" });
    const client = await connect();
    const reply = client.command("INCR", "a");
    await rule.hit();
    expect(await server.command("GET", "a")).toBe("1");
    proxy.clearRules();
    expect(await reply).toBe(1);
    expect(await client.command("INCR", "a")).toBe(2);
  });

  test("commands and replies are delayed one by one", async () => {
    const commands = proxy.delayCommand({ name: "SET", delayMs: 400 });
    const replies = proxy.delayReply({ name: "GET", delayMs: 400 });
    const client = await connect();
    let startMs = performance.now();
    await client.command("SET", "a", 1);
    expect(performance.now() - startMs).toBeGreaterThan(398);
    startMs = performance.now();
    expect(await client.command("GET", "a")).toBe("1");
    expect(performance.now() - startMs).toBeGreaterThan(398);
    await client.command("SET", "a", 1);
    await client.command("GET", "a");
    expect([commands.hits.length, replies.hits.length]).toEqual([1, 1]);
  });
});

describe.each([2, 3] as const)("messages in RESP%i", (resp) => {
  const publish = (text: string) => server.command("PUBLISH", "channel", text);
  const texts = (client: RedisConnection) =>
    client.messages.map((message) => (Array.isArray(message) ? message.at(-1) : message));

  test("are lost alone: the stream goes on", async () => {
    const client = await connect(resp);
    await client.command("SUBSCRIBE", "channel");
    proxy.dropMessages({ key: "channel", nth: 2, times: 1 });
    for (const text of ["1", "2", "3"]) await publish(text);
    await eventually(() => client.messages.length === 2, { what: "two messages" });
    expect(texts(client)).toEqual(["1", "3"]);
    expect(proxy.counts().pushes).toBe(3);
    const fates = proxy.trace.filter(({ name }) => name === "message").map(({ fate }) => fate);
    expect(fates).toEqual(["forwarded", "dropped", "forwarded"]);
  });

  test("are held, and all that the server says behind them", async () => {
    const client = await connect(resp);
    await client.command("SUBSCRIBE", "channel");
    const rule = proxy.holdMessages();
    await publish("1");
    await rule.hit();
    const pong = client.command("PING");
    await proxy.waitFor(({ kind, name }) => kind === "command" && name === "PING");
    await server.command("PING");
    expect(client.messages).toHaveLength(0);
    rule.release();
    await pong;
    expect(texts(client)).toEqual(["1"]);
  });
});

describe("as any proxy", () => {
  test("it swallows, refuses and resets", async () => {
    const client = await connect(2, silenceMs);
    await proxy.setMode("hole");
    await expect(client.command("INCR", "a")).rejects.toMatchObject({ reason: "timeout" });
    expect(await server.command("EXISTS", "a")).toBe(0);
    await proxy.setMode("refuse");
    await expect(connect()).rejects.toMatchObject({ reason: "refused" });
    await proxy.setMode("ok");
    const other = await connect();
    await proxy.setMode("reset");
    await end(other);
    await proxy.setMode("ok");
    expect(await (await connect()).command("PING")).toBe("PONG");
  });

  test("it ends one connection of many", async () => {
    const subscriber = await connect();
    const other = await connect();
    await subscriber.command("SUBSCRIBE", "channel");
    const { connection } = await proxy.waitFor(({ name }) => name === "SUBSCRIBE");
    proxy.endConnection(connection, { reset: true });
    await end(subscriber);
    expect(await other.command("PING")).toBe("PONG");
  });

  test("values of any size pass in trickles and in one piece", async () => {
    const big = "x".repeat(3 << 20);
    const client = await connect();
    await client.command("SET", "big", big);
    expect(await client.command("GET", "big")).toBe(big);
    proxy.setRate(2_000);
    await client.command("SET", "small", "y".repeat(200));
    expect(await client.command("GET", "small")).toBe("y".repeat(200));
    expect(proxy.trace.filter(({ kind }) => kind === "reply").map(({ name }) => name)).toEqual([
      "SET",
      "GET",
      "SET",
      "GET",
    ]);
  });

  test("the stream of a replica and TLS pass unread", async () => {
    // A snapshot that begins with its length looks like a bulk string, but has no line end.
    await server.command("CONFIG", "SET", "repl-diskless-sync", "no");
    await server.command("SET", "key", "x".repeat(100_000));
    await using replica = await startRedis({ config: { replicaof: `127.0.0.1 ${proxy.port}` } });
    await eventually(async () => (await replica.role()).link === "connected", {
      withinMs: 20_000,
      what: "the replica to follow",
    });
    await server.command("SET", "later", 1);
    await eventually(() => replica.command("GET", "later"), { what: "the stream to go on" });
    expect(proxy.trace.some(({ name }) => name === "PSYNC")).toBe(true);

    await using secure = await startRedis({ tls: true });
    await using blind = await startRedisProxy({ target: secure.address });
    using client = await secure.connect({ port: blind.port });
    expect(await client.command("PING")).toBe("PONG");
    expect(blind.trace).toHaveLength(0);
  });
});
