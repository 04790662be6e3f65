import { Socket } from "node:net";
import { BackendError } from "@holdfast/core";
import {
  eventually,
  freePort,
  type RedisNode,
  startProxy,
  startRedis,
  startRedisProxy,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { NotSentError, OutcomeUnknownError, ReplyError } from "../../src/client/errors.js";
import type { RedisLocksOptions } from "../../src/provider/options.js";
import { echo, freshName, increment, openLine, settled } from "./support.js";

let server: RedisNode;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

async function throughProxy(options: Omit<RedisLocksOptions, "url"> = {}) {
  const proxy = await startRedisProxy({ target: server.address });
  onTestFinished(() => proxy.close());
  const opened = openLine({ url: `redis://${proxy.connectString}`, ...options });
  await opened.line.whenConnected();
  return { proxy, ...opened };
}

describe("connecting", () => {
  test("is connected once the run id and the role of the server are known", async () => {
    const { line, states, notices, warnings } = openLine({ url: server.url });
    expect(line.state).toBe("connecting");
    expect(line.masterOf("any")).toBeNull();
    await line.whenConnected();
    expect(line.state).toBe("connected");
    expect(line.masterOf("any")).toBe(await server.runId());
    expect(states).toEqual(["connected"]);
    expect(notices).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test("rejects within a second where no server listens, naming the server and the refusal", async () => {
    const port = await freePort();
    const { line } = openLine({ url: `redis://127.0.0.1:${port}` });
    const { error, tookMs } = await settled(line.whenConnected());
    expect(error).toBeInstanceOf(BackendError);
    expect(error).toMatchObject({ retryable: true, servers: [`127.0.0.1:${port}`] });
    expect(String(error)).toContain("every server refused");
    expect(String(error)).toContain("ECONNREFUSED");
    expect(tookMs).toBeLessThan(9_000);
  });

  test("waits no longer for a server that is silent than waitMs says", async () => {
    const proxy = await startRedisProxy({ target: server.address });
    onTestFinished(() => proxy.close());
    await proxy.setMode("hole");
    const { line } = openLine({ url: `redis://${proxy.connectString}` });
    const { error, tookMs } = await settled(line.whenConnected({ waitMs: 600 }));
    expect(String(error)).toContain("no master answered");
    expect(tookMs).toBeGreaterThan(550);
    expect(tookMs).toBeLessThan(5_000);
  });

  test("rejects with the reason of an aborted signal", async () => {
    const { line } = openLine({ url: `redis://127.0.0.1:${await freePort()}` });
    const controller = new AbortController();
    const waiting = settled(line.whenConnected({ signal: controller.signal }));
    const reason = new Error("enough");
    controller.abort(reason);
    expect((await waiting).error).toBe(reason);
  });

  test("names wrong credentials as the cause", async () => {
    const guarded = await startRedis({ password: "right" });
    onTestFinished(() => guarded.stop());
    const { line } = openLine({ url: `redis://:wrong@${guarded.address}` });
    const { error, tookMs } = await settled(line.whenConnected());
    expect(String(error)).toContain("WRONGPASS");
    expect(error).toMatchObject({ retryable: false });
    expect(tookMs).toBeLessThan(9_000);
    const { line: right } = openLine({ url: guarded.url, password: "right" });
    await right.whenConnected();
  });

  test("never trusts a replica, and is connected as soon as it is made a master", async () => {
    const other = await startRedis();
    onTestFinished(() => other.stop());
    await other.command("REPLICAOF", server.host, server.port);
    const { line } = openLine({ url: other.url });
    const { error } = await settled(line.whenConnected({ waitMs: 1_500 }));
    expect(String(error)).toContain("it is a replica");
    await expect(line.run(increment, [freshName("replica")], [])).rejects.toBeInstanceOf(NotSentError);
    await other.command("REPLICAOF", "NO", "ONE");
    await line.whenConnected();
    expect(line.masterOf("any")).toBe(await other.runId());
  });

  test("works with TLS and an ACL user that may do no more than the documentation says", async () => {
    const tls = await startRedis({
      tls: true,
      users: [
        "app on >secret ~lock:* &holdfast_grant:* &redisson_* +@read +@write +@scripting +@pubsub +@connection +info +wait +time",
      ],
    });
    onTestFinished(() => tls.stop());
    const { line } = openLine({
      url: tls.url,
      username: "app",
      password: "secret",
      tls: { ca: tls.tls?.ca ?? "" },
    });
    await line.whenConnected();
    expect((await line.run(increment, ["lock:a"], [])).reply).toBe(1);
    await expect(line.run(increment, ["other"], [])).rejects.toMatchObject({
      kind: "denied",
      retryable: false,
    });
    const heard = new Promise<string>((resolve) => {
      const subscription = line.subscribe("holdfast_grant:x", "plain", resolve);
      void subscription.ready.then(() => tls.command("PUBLISH", "holdfast_grant:x", "hello"));
    });
    expect(await heard).toBe("hello");
  });
});

describe("running scripts", () => {
  test("takes one flight for each run, the very first included", async () => {
    const { line, proxy } = await throughProxy();
    proxy.reset();
    const key = freshName("flights");
    for (let turn = 1; turn <= 3; turn++) {
      const answer = await line.run(increment, [key], []);
      expect(answer).toMatchObject({ reply: turn, acknowledged: null, runId: await server.runId() });
      expect(answer.sentMs).toBeLessThanOrEqual(answer.answeredMs);
      expect(proxy.counts().flights).toBe(turn);
    }
    expect(proxy.counts().byName).toMatchObject({ EVAL: 1, EVALSHA: 2 });
  });

  test("waits for an answer for as long as commandTimeoutMs says", async () => {
    const patient = await throughProxy({ commandTimeoutMs: 2_500 });
    const key = freshName("slow");
    await patient.line.run(increment, [key], []);
    patient.proxy.delayReply({ name: "EVALSHA", delayMs: 1_300 });
    expect((await patient.line.run(increment, [key], [])).reply).toBe(2);
    const hasty = await throughProxy({ commandTimeoutMs: 100 });
    hasty.proxy.holdReply({ name: ["EVAL", "EVALSHA"] });
    await expect(hasty.line.run(increment, [key], [])).rejects.toThrow(/outcome is unknown/);
  });

  test("what is asked in one turn leaves as one text, and each gets its own answer", async () => {
    const { line } = openLine({ url: server.url });
    await line.whenConnected();
    // Only calls by digest of a known script are encoded by our code. The first run of `increment` is encoded by ioredis.
    await line.run(echo, [freshName("known")], ["x"]);
    const key = freshName("turn");
    const texts = Array.from({ length: 20 }, (_, i) => `${key} é 鍵 😀 ${i}`);
    const write = vi.spyOn(Socket.prototype, "_write");
    onTestFinished(() => write.mockRestore());
    const first = texts.map((text) => line.run(echo, [key], [text]));
    const between = line.run(increment, [key], []);
    const last = texts.map((text) => line.run(echo, [key], [text]));
    const answers = await Promise.all([...first, ...last]);
    expect(answers.map(({ reply }) => reply)).toEqual([...texts, ...texts]);
    expect((await between).reply).toBe(1);
    const written = write.mock.calls.map(([chunk]) => String(chunk)).filter((text) => text.includes(key));
    expect(written).toHaveLength(1);
  });

  test("sends many runs in one flight and answers each by itself", async () => {
    const { line, proxy } = await throughProxy();
    const text = freshName("text");
    await server.command("SET", text, "no number");
    const key = freshName("many");
    proxy.reset();
    const runs = Array.from({ length: 100 }, (_, index) => ({ keys: [index === 50 ? text : key], args: [] }));
    const answers = await Promise.all(line.runAll(increment, runs));
    expect(proxy.counts()).toMatchObject({ flights: 1, commands: 100 });
    expect(answers[50]).toBeInstanceOf(ReplyError);
    expect(answers[99]).toMatchObject({ reply: 99 });
  });

  test("runs once each, whatever was flushed in between", async () => {
    const { line } = await throughProxy();
    const key = freshName("flush");
    await line.run(increment, [key], []);
    await server.flushScripts();
    expect((await line.run(increment, [key], [])).reply).toBe(2);
    await server.flushScripts();
    const together = await Promise.all(Array.from({ length: 20 }, () => line.run(increment, [key], [])));
    expect(together.map(({ reply }) => reply).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 3),
    );
    await server.flushScripts();
    const runs = Array.from({ length: 5 }, () => ({ keys: [key], args: [] }));
    const answers = await Promise.all(line.runAll(increment, runs));
    expect(answers.filter((each) => each instanceof Error)).toEqual([]);
    expect(await server.command("GET", key)).toBe("27");
  });

  test("is asked once, when the bytes of its answer come for longer than a server may be silent", async () => {
    // This proxy does not know Redis and passes bytes on as they come. The Redis proxy would wait for a complete answer.
    const slow = await startProxy({ target: server.address });
    onTestFinished(() => slow.close());
    const { line } = openLine({ url: `redis://${slow.connectString}` });
    await line.whenConnected();
    const key = freshName("long");
    const long = { ...echo, lua: "redis.call('INCR', KEYS[1]) return ARGV[1]" };
    const words = "x".repeat(5_000);
    await line.run(long, [key], [words]);
    slow.setRate({ up: Number.POSITIVE_INFINITY, down: 2_500 });
    expect((await line.run(long, [key], [words])).reply).toBe(words);
    expect(line.state).toBe("connected");
    expect(await server.command("GET", key)).toBe("2");
  });

  test("rejects with a refusal of the server, and with what parse throws, as they are", async () => {
    const { line } = await throughProxy();
    const text = freshName("text");
    await server.command("SET", text, "no number");
    await expect(line.run(increment, [text], [])).rejects.toMatchObject({
      name: "ReplyError",
      kind: "other",
      retryable: false,
      backend: "redis",
    });
    const broken = {
      ...echo,
      parse: (): never => {
        throw new TypeError("malformed");
      },
    };
    await expect(line.run(broken, ["x"], ["y"])).rejects.toThrow(TypeError);
  });
});

describe("what is known of a command whose connection broke", () => {
  test("a command that reached the server and lost its answer is unknown, and ran once", async () => {
    const { line, proxy, states, notices } = await throughProxy();
    const key = freshName("applied");
    await line.run(increment, [key], []);
    proxy.cut({ name: ["EVALSHA"], at: "applied" });
    await expect(line.run(increment, [key], [])).rejects.toBeInstanceOf(OutcomeUnknownError);
    await eventually(() => notices.length === 1, { what: "the notice of the new connection" });
    expect(notices).toEqual(["commands"]);
    expect(states).toEqual(["connected", "suspended", "connected"]);
    expect((await line.run(increment, [key], [])).reply).toBe(3);
  });

  test("a command that never reached the server is unknown as well, as it was written", async () => {
    const { line, proxy, notices } = await throughProxy();
    const key = freshName("before");
    await line.run(increment, [key], []);
    proxy.cut({ name: ["EVALSHA"], at: "before" });
    await expect(line.run(increment, [key], [])).rejects.toBeInstanceOf(OutcomeUnknownError);
    await eventually(() => notices.length === 1, { what: "the notice of the new connection" });
    expect((await line.run(increment, [key], [])).reply).toBe(2);
  });

  test("all of a batch are unknown from the lost answer on, those answered before are not", async () => {
    const { line, proxy } = await throughProxy();
    const key = freshName("batch");
    await line.run(increment, [key], []);
    proxy.dropReply({ name: "EVALSHA", nth: 3 });
    const runs = Array.from({ length: 5 }, () => ({ keys: [key], args: [] }));
    const answers = await Promise.all(line.runAll(increment, runs));
    expect(answers.slice(0, 2)).toMatchObject([{ reply: 2 }, { reply: 3 }]);
    for (const answer of answers.slice(2)) expect(answer).toBeInstanceOf(OutcomeUnknownError);
  });

  test("a command given while there is no connection is not sent, and nothing is queued", async () => {
    const { line, proxy, states } = await throughProxy();
    const key = freshName("down");
    await proxy.setMode("refuse");
    proxy.resetAll();
    await eventually(() => states.at(-1) === "suspended", { what: "the outage to show" });
    const { error } = await settled(line.run(increment, [key], []));
    expect(error).toBeInstanceOf(NotSentError);
    expect(error).toMatchObject({ retryable: true, backend: "redis" });
    expect(await Promise.all(line.runAll(increment, [{ keys: [key], args: [] }]))).toMatchObject([
      { name: "NotSentError" },
    ]);
    await proxy.setMode("ok");
    await line.whenConnected();
    expect(await server.command("GET", key)).toBeNull();
  });

  test("an answer that does not come within a second is unknown, and comes too late for the next", async () => {
    const { line, proxy } = await throughProxy();
    const key = freshName("late");
    await line.run(increment, [key], []);
    const held = proxy.holdReply({ name: "EVALSHA" });
    const { error, tookMs } = await settled(line.run(increment, [key], []));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(tookMs).toBeGreaterThan(900);
    expect(tookMs).toBeLessThan(9_000);
    held.release();
    expect((await line.run(increment, [key], [])).reply).toBe(3);
  });
});

describe("outages", () => {
  test("a frozen server is left after three seconds, and found again", async () => {
    const { line, states, notices } = await throughProxy();
    const key = freshName("frozen");
    await line.run(increment, [key], []);
    await server.pause();
    onTestFinished(() => server.resume());
    await expect(line.run(increment, [key], [])).rejects.toBeInstanceOf(OutcomeUnknownError);
    // Nothing else would end the connection, so a line that does not notice the silence never leaves the server.
    await eventually(() => states.at(-1) === "suspended", { what: "the silence to be noticed" });
    server.resume();
    await line.whenConnected();
    expect(notices).toEqual(["commands"]);
  });

  test("a restart is another master: its run id is new", async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    const { line, notices, states } = openLine({ url: own.url });
    await line.whenConnected();
    const before = line.masterOf("x");
    const told: (string | null)[] = [];
    line.onRenewed(() => told.push(line.state, line.masterOf("x")));
    await own.kill();
    await eventually(() => states.at(-1) === "suspended", { what: "the outage to show" });
    expect(line.masterOf("x")).toBeNull();
    await own.restart();
    await line.whenConnected();
    expect(notices).toEqual(["master"]);
    const after = await own.runId();
    expect(after).not.toBe(before);
    // The notice comes when the new run id is known, and before anything else is asked.
    expect(told).toEqual(["suspended", after]);
  });

  test("a server that was made a replica is not asked again", async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    const { line, states } = openLine({ url: own.url });
    await line.whenConnected();
    const key = freshName("demoted");
    await own.command("REPLICAOF", server.host, server.port);
    await expect(line.run(increment, [key], [])).rejects.toMatchObject({
      kind: "not-master",
      retryable: true,
    });
    expect(states.at(-1)).toBe("suspended");
    await expect(line.run(increment, [key], [])).rejects.toBeInstanceOf(NotSentError);
    await own.command("REPLICAOF", "NO", "ONE");
    await line.whenConnected();
    expect((await line.run(increment, [key], [])).reply).toBe(1);
  });
});

test("warns of an eviction policy that deletes locks, naming the option", async () => {
  const evicting = await startRedis({ maxMemory: "64mb", maxMemoryPolicy: "allkeys-lru" });
  onTestFinished(() => evicting.stop());
  const { line, warnings, notices } = openLine({ url: evicting.url });
  await line.whenConnected();
  expect(warnings).toMatchObject([{ code: "HF_EVICTION_POLICY" }]);
  expect(warnings[0]?.message).toContain("maxmemory-policy allkeys-lru");
  await evicting.killClients("normal");
  await eventually(() => notices.length > 0, { what: "the line to be back" });
  expect(warnings).toHaveLength(1);
});
