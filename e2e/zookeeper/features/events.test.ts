import { channel, subscribe, tracingChannel, unsubscribe } from "node:diagnostics_channel";
import type { LockEventMap } from "@holdfast/core";
import {
  eventually,
  expireSession,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { connected } from "../../support/providers.js";

let server: ZooKeeperNode;
let proxy: ZooKeeperProxy;
let path: string;
let paths = 0;

beforeAll(async () => {
  server = await startZooKeeper();
  proxy = await startZooKeeperProxy({ target: server.connectString });
});
afterAll(async () => {
  await proxy.close();
  await server.stop();
});
beforeEach(() => {
  path = `/events/l${paths++}`;
});

/**
 * A wait that runs out. It is longer than a busy machine stands still: a wait that ends without an answer of the server is
 * an outage, and not a time-out.
 */
const runsOutMs = 2_000;

const lockEvents = [
  "acquire-started",
  "notified",
  "requeued",
  "acquire-settled",
  "uncertain",
  "recovered",
  "revoke-requested",
  "lost",
  "released",
  "release-failed",
] as const satisfies readonly (keyof LockEventMap)[];

type Heard = { readonly type: string } & Record<string, unknown>;

/** All events of locks, in the order in which they came. */
function listen(locks: ZooKeeperLocks): Heard[] {
  const heard: Heard[] = [];
  for (const type of lockEvents) locks.events.on(type, (event) => heard.push({ ...event, type }));
  return heard;
}

const typesOf = (heard: readonly Heard[]): string[] => heard.map((event) => event.type);

describe("the events of a lock", () => {
  it("are, for a free one: started, settled with the grant, released", async () => {
    const locks = await connected(server.connectString);
    const heard = listen(locks);
    const handle = await locks.mutex(path, { label: "mine" }).acquire();
    await handle.release();
    expect(typesOf(heard)).toEqual(["acquire-started", "acquire-settled", "released"]);
    const base = { provider: locks.id, backend: "zookeeper", kind: "mutex", name: path, owner: handle.owner };
    expect(heard[0]).toMatchObject({ ...base, mode: "exclusive" });
    expect(heard[1]).toMatchObject({
      ...base,
      outcome: "granted",
      token: handle.token,
      contended: false,
      // One for the lock, and one more for the missing parents of a lock that was never used before.
      roundTrips: 2,
    });
    expect(heard[2]).toMatchObject({ ...base, outcome: "released" });
    const at = heard.map((event) => event.at as number);
    expect([...at].sort((a, b) => a - b)).toEqual(at);
    expect(Math.abs((at[2] as number) - performance.now())).toBeLessThan(5_000);
    expect(heard[1]?.waitedMs).toBeLessThan(5_000);
    expect(heard[2]?.heldMs).toBeLessThan(5_000);
  });

  it("are, for one that is waited for: notified of the hand-off before the grant", async () => {
    const [holder, locks] = await Promise.all([
      connected(server.connectString),
      connected(server.connectString),
    ]);
    const held = await holder.mutex(path).acquire();
    const heard = listen(locks);
    const waiting = locks.mutex(path).acquire();
    await eventually(async () => (await holder.mutex(path).inspect()).pendingTotal === 1, {
      what: "the waiter",
    });
    await locks.mutex(path).inspect();
    await held.release();
    await (await waiting).release();
    expect(typesOf(heard)).toEqual(["acquire-started", "notified", "acquire-settled", "released"]);
    expect(heard[2]).toMatchObject({ outcome: "granted", contended: true });
  });

  it("name each way in which an acquire can end without a grant", async () => {
    const [holder, locks] = await Promise.all([
      connected(server.connectString),
      connected(server.connectString),
    ]);
    const held = await holder.mutex(path).acquire();
    const heard = listen(locks);
    const outcomes = (): unknown[] =>
      heard.filter((event) => event.type === "acquire-settled").map((event) => event.outcome);
    await locks.mutex(path).tryAcquire();
    expect(outcomes()).toEqual(["unavailable"]);
    await expect(locks.mutex(path).acquire({ waitMs: runsOutMs })).rejects.toMatchObject({
      code: "HF_ACQUIRE_TIMEOUT",
    });
    expect(outcomes()).toEqual(["unavailable", "timeout"]);
    await expect(locks.mutex(path).acquire({ signal: AbortSignal.timeout(50) })).rejects.toThrow();
    expect(outcomes()).toEqual(["unavailable", "timeout", "aborted"]);
    const closing = expect(locks.mutex(path).acquire()).rejects.toMatchObject({ code: "HF_PROVIDER_CLOSED" });
    await eventually(async () => (await holder.mutex(path).inspect()).pendingTotal === 1, {
      what: "the waiter",
    });
    await locks.close();
    await closing;
    expect(outcomes()).toEqual(["unavailable", "timeout", "aborted", "error"]);
    expect(heard.at(-1)).toMatchObject({
      type: "acquire-settled",
      token: null,
      error: { code: "HF_PROVIDER_CLOSED" },
    });
    expect(typesOf(heard).filter((type) => type !== "acquire-started" && type !== "acquire-settled")).toEqual(
      [],
    );
    await held.release();
  });

  it("tell a loss once, with its reason, and no release after it", async () => {
    const locks = await connected(proxy.connectString);
    const heard = listen(locks);
    const handle = await locks.mutex(path).acquire();
    const session = proxy.sessions.at(-1);
    await expireSession({
      connectString: server.connectString,
      sessionId: session?.sessionId as bigint,
      password: session?.password as Uint8Array,
    });
    await eventually(() => typesOf(heard).includes("lost"), { what: "the loss" });
    expect(await handle.release()).toBe("lost");
    expect(typesOf(heard)).toEqual(["acquire-started", "acquire-settled", "uncertain", "lost"]);
    expect(heard.at(-1)).toMatchObject({ reason: "session-expired", owner: handle.owner });
    expect(handle.lost.reason).toMatchObject({ code: "HF_LOCK_LOST", reason: "session-expired" });
  });

  it("tell of broken contact and of its end: uncertain, recovered", async () => {
    const locks = await connected(proxy.connectString);
    const heard = listen(locks);
    const handle = await locks.mutex(path).acquire();
    proxy.resetAll();
    await eventually(() => typesOf(heard).includes("recovered"), { what: "the recovery" });
    expect(typesOf(heard)).toEqual(["acquire-started", "acquire-settled", "uncertain", "recovered"]);
    expect(heard[2]?.remainingMs).toBeGreaterThan(0);
    expect(handle.state).toBe("held");
    await handle.release();
  });

  it("tell of a waiter that lost its place with its session: requeued, and then granted", async () => {
    const [holder, locks] = await Promise.all([
      connected(server.connectString),
      connected(proxy.connectString),
    ]);
    const held = await holder.mutex(path).acquire();
    const session = proxy.sessions.at(-1);
    const heard = listen(locks);
    const waiting = locks.mutex(path).acquire();
    await eventually(async () => (await holder.mutex(path).inspect()).pendingTotal === 1, {
      what: "the waiter",
    });
    await expireSession({
      connectString: server.connectString,
      sessionId: session?.sessionId as bigint,
      password: session?.password as Uint8Array,
    });
    await eventually(() => typesOf(heard).includes("requeued"), { what: "the waiter to be told" });
    await held.release();
    await (await waiting).release();
    const types = typesOf(heard);
    expect(types[0]).toBe("acquire-started");
    expect(types.indexOf("requeued")).toBeLessThan(types.indexOf("acquire-settled"));
    expect(types.filter((type) => type === "requeued")).toHaveLength(1);
    expect(heard.find((event) => event.type === "requeued")).toMatchObject({ reason: "session-lost" });
  });

  it("stop when the listener is disposed of, and a listener that throws does no harm", async () => {
    const locks = await connected(server.connectString);
    const warnings: string[] = [];
    const onWarning = (warning: Error): number => warnings.push(warning.message);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    let calls = 0;
    const listening = locks.events.on("released", () => {
      calls++;
      throw new Error("of the listener's own making");
    });
    expect(await (await locks.mutex(path).acquire()).release()).toBe("released");
    await eventually(() => warnings.some((text) => text.includes("of the listener's own making")), {
      what: "the warning",
    });
    listening[Symbol.dispose]();
    await (await locks.mutex(path).acquire()).release();
    expect(calls).toBe(1);
  });
});

describe("the events of a session", () => {
  it("name state, negotiated time-out and cluster", async () => {
    const locks = zookeeperLocks({ connect: proxy.connectString, sessionTimeoutMs: 3_000 });
    onTestFinished(async () => void (await locks.close()));
    const heard: LockEventMap["session-state"][] = [];
    locks.events.on("session-state", (event) => heard.push(event));
    await locks.ready();
    proxy.resetAll();
    await eventually(() => heard.length >= 3, { what: "connected again" });
    expect(heard.map(({ state }) => state)).toEqual(["connected", "suspended", "connected"]);
    expect(heard[0]).toMatchObject({
      provider: locks.id,
      backend: "zookeeper",
      timeoutMs: 3_000,
      cluster: proxy.connectString,
    });
  });
});

describe("request-settled", () => {
  it("tells each request, its time and its outcome", async () => {
    const locks = await connected(server.connectString);
    await (await locks.mutex(path).acquire()).release();
    const heard: LockEventMap["request-settled"][] = [];
    const listening = locks.events.on("request-settled", (event) => heard.push(event));
    await (await locks.mutex(path).acquire()).release();
    await locks.mutex("/events/not/there").inspect();
    listening[Symbol.dispose]();
    await locks.mutex(path).inspect();
    const seen = heard.filter(({ op }) => op !== "sync");
    expect(seen.map(({ op, outcome }) => `${op} ${outcome}`)).toEqual([
      "create2 ok",
      "getChildren2 ok",
      "delete ok",
      "getChildren2 error",
    ]);
    for (const { tookMs, provider } of seen) {
      expect(tookMs).toBeGreaterThan(0);
      expect(tookMs).toBeLessThan(5_000);
      expect(provider).toBe(locks.id);
    }
  });
});

describe("the diagnostics channels", () => {
  it("carry session, requests, releases and losses of all providers to every subscriber that knows their names", async () => {
    const heard: string[] = [];
    const names = [
      "holdfast:session:state",
      "holdfast:request:settled",
      "holdfast:lock:released",
      "holdfast:lock:lost",
    ];
    for (const name of names) {
      const listener = (message: unknown): number =>
        (message as { op?: string }).op === "sync" ? 0 : heard.push(name.slice("holdfast:".length));
      subscribe(name, listener);
      onTestFinished(() => void unsubscribe(name, listener));
    }
    const locks = await connected(server.connectString);
    await (await locks.mutex(path).acquire()).release();
    await locks.mutex(path).acquire();
    await locks.close();
    const kinds = new Set(heard);
    expect(heard[0]).toBe("session:state");
    expect(kinds).toEqual(new Set(["session:state", "request:settled", "lock:released", "lock:lost"]));
    for (const name of names) expect(channel(name).hasSubscribers).toBe(true);
  });

  it("trace an acquire from its start to its outcome", async () => {
    const heard: string[] = [];
    const seen: Record<string, unknown>[] = [];
    const note = (phase: string) => (message: object) => {
      heard.push(phase);
      seen.push({ ...message });
    };
    const handlers = {
      start: note("start"),
      end: note("end"),
      asyncStart: note("asyncStart"),
      asyncEnd: note("asyncEnd"),
      error: note("error"),
    };
    const tracing = tracingChannel<object, object>("holdfast:acquire");
    tracing.subscribe(handlers);
    onTestFinished(() => void tracing.unsubscribe(handlers));
    const locks = await connected(server.connectString);
    const handle = await locks.mutex(path).acquire();
    expect(heard).toEqual(["start", "end", "asyncStart", "asyncEnd"]);
    expect(seen[0]).toMatchObject({ name: path, kind: "mutex", backend: "zookeeper", provider: locks.id });
    expect(seen.at(-1)).toMatchObject({ outcome: "granted", token: handle.token });
    heard.length = 0;
    // A time-out because of contention is not published as an error.
    await expect(locks.mutex(path).acquire({ waitMs: runsOutMs })).rejects.toThrow();
    expect(heard).toEqual(["start", "end", "asyncStart", "asyncEnd"]);
    expect(seen.at(-1)).toMatchObject({ outcome: "timeout" });
    heard.length = 0;
    const waiting = expect(locks.mutex(path).acquire()).rejects.toThrow();
    await locks.close();
    await waiting;
    expect(heard).toEqual(["start", "end", "error", "asyncStart", "asyncEnd"]);
    expect(seen.at(-1)).toMatchObject({ outcome: "error", error: { code: "HF_PROVIDER_CLOSED" } });
    expect(handle.state).not.toBe("held");
  });
});
