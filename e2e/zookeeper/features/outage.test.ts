import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { BackendError } from "@holdfast/core";
import {
  eventually,
  freePorts,
  startProxy,
  startZooKeeper,
  type ZooKeeperNode,
} from "@holdfast/test-servers";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { rejection } from "./rejection.js";

let server: ZooKeeperNode;

beforeAll(async () => {
  server = await startZooKeeper();
});
afterAll(() => server.stop());

/** The delay that a busy machine may add to a timer. */
const slackMs = 4_000;

function locksAt(t: TestContext, connect: string, options: ZooKeeperLocksOptions = {}): ZooKeeperLocks {
  const locks = zookeeperLocks({ connect, ...options });
  t.onTestFinished(async () => void (await locks.close()));
  return locks;
}

/** The calls that need a connection. Each gets its own provider, since each wait has its own limit from its beginning. */
const ways: readonly (readonly [string, (locks: ZooKeeperLocks) => Promise<unknown>])[] = [
  ["ready()", (locks) => locks.ready()],
  ["acquire()", (locks) => locks.mutex("x").acquire()],
  ["acquire() with a longer waitMs", (locks) => locks.mutex("x").acquire({ waitMs: 60_000 })],
  ["tryAcquire()", (locks) => locks.mutex("x").tryAcquire()],
  ["withLock()", (locks) => locks.reentrantMutex("x").withLock(() => expect.fail("nobody may hold"))],
  ["inspect()", (locks) => locks.mutex("x").inspect()],
  ["requestRevoke()", (locks) => locks.mutex("x").requestRevoke()],
];

/** Runs all of these calls at once. Returns the shortest and the longest time until the rejection. */
async function allReject(
  make: () => ZooKeeperLocks,
  check: (error: BackendError) => void,
): Promise<{ least: number; most: number }> {
  const times = await Promise.all(
    ways.map(async ([what, way]) => {
      const { error, tookMs } = await rejection(() => way(make()));
      expect(error, what).toBeInstanceOf(BackendError);
      expect(error, what).toMatchObject({ code: "HF_BACKEND", retryable: true, backend: "zookeeper" });
      check(error as BackendError);
      return tookMs;
    }),
  );
  return { least: Math.min(...times), most: Math.max(...times) };
}

describe.concurrent("servers that refuse", () => {
  it("are reported within a second, by each way to need one, with their names and the cause", async (t) => {
    const ports = await freePorts(3);
    const connect = ports.map((port) => `127.0.0.1:${port}`).join(",");
    const { least, most } = await allReject(
      () => locksAt(t, connect),
      (error) => {
        for (const port of ports) expect(error.message).toContain(`127.0.0.1:${port}`);
        expect([...error.servers].sort()).toEqual(connect.split(",").sort());
        expect(error.message).toMatch(/every server refused.*ECONNREFUSED/);
      },
    );
    console.log(`refused by three servers: told after ${Math.round(least)} to ${Math.round(most)} ms`);
    expect(most).toBeLessThan(1_000 + slackMs);
  });

  it("are reported sooner with a connectTimeoutMs below a second", async (t) => {
    const [port] = await freePorts(1);
    // This wait starts first and must still be rejected last, however slow the machine is.
    const usual = rejection(() => locksAt(t, `127.0.0.1:${port}`).ready());
    const { most } = await allReject(
      () => locksAt(t, `127.0.0.1:${port}`, { connectTimeoutMs: 300 }),
      // On a very slow machine the refusal may not have arrived by then.
      (error) => expect(error.message).toMatch(/ECONNREFUSED|no server answered/),
    );
    expect(most).toBeLessThanOrEqual((await usual).tookMs);
  });

  it("do not matter when one of them serves", async (t) => {
    const ports = await freePorts(2);
    const locks = locksAt(t, `127.0.0.1:${ports[0]},127.0.0.1:${ports[1]},${server.connectString}`);
    await using handle = await locks.mutex("one-of-three").acquire();
    expect(handle.state).toBe("held");
  });
});

describe.concurrent("a black hole", () => {
  it("is reported after connectTimeoutMs: not before, and not much later", async (t) => {
    const proxy = await startProxy({ target: server.connectString });
    t.onTestFinished(() => proxy.close());
    await proxy.setMode("hole");
    const connectTimeoutMs = 1_500;
    const { least, most } = await allReject(
      () => locksAt(t, proxy.connectString, { connectTimeoutMs }),
      (error) => {
        expect(error.message).toContain(proxy.connectString);
        expect(error.message).toContain("no server answered");
      },
    );
    console.log(
      `a black hole, connectTimeoutMs ${connectTimeoutMs}: told after ${Math.round(least)} to ${Math.round(most)} ms`,
    );
    expect(least).toBeGreaterThanOrEqual(connectTimeoutMs - 2);
    expect(most).toBeLessThan(connectTimeoutMs + slackMs);
  });

  it("is waited for no longer than waitMs or signal say, and is still no contention", async (t) => {
    const proxy = await startProxy({ target: server.connectString });
    t.onTestFinished(() => proxy.close());
    await proxy.setMode("hole");
    const locks = locksAt(t, proxy.connectString, { connectTimeoutMs: 20_000 });
    const [timed, tried, aborted] = await Promise.all([
      rejection(() => locks.mutex("x").acquire({ waitMs: 300 })),
      rejection(() => locks.mutex("x").tryAcquire({ waitMs: 300 })),
      rejection(() => locks.mutex("x").acquire({ signal: AbortSignal.timeout(300) })),
    ]);
    for (const { error } of [timed, tried])
      expect(error).toMatchObject({ code: "HF_BACKEND", retryable: true });
    expect(aborted.error.name).toBe("TimeoutError");
    for (const { tookMs } of [timed, tried, aborted]) {
      expect(tookMs).toBeGreaterThanOrEqual(298);
      expect(tookMs).toBeLessThan(300 + 250 + slackMs);
    }
  });
});

describe.concurrent("a host that is none", () => {
  it("is reported like one that refuses, with its name and what the resolver said", async (t) => {
    const { least, most } = await allReject(
      () => locksAt(t, "no-such-host.invalid:2181"),
      (error) => {
        expect(error.message).toContain("no-such-host.invalid");
        expect(error.message).toMatch(/ENOTFOUND|EAI_AGAIN/);
      },
    );
    console.log(`an unknown host: told after ${Math.round(least)} to ${Math.round(most)} ms`);
    // If the resolver does not answer, only the limit of 10 s ends the wait.
    expect(most).toBeLessThan(10_000 + slackMs);
  });
});

describe.concurrent("a server that does not speak the protocol", () => {
  it("such as one for HTTP is an outage with a bound, and the cause is named", async (t) => {
    const http = createServer((_request, response) => void response.end("hello"));
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    t.onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    const { port } = http.address() as AddressInfo;
    const { least, most } = await allReject(
      () => locksAt(t, `127.0.0.1:${port}`, { connectTimeoutMs: 1_500 }),
      (error) => {
        expect(error.message).toContain(`127.0.0.1:${port}`);
        expect(error.message).toMatch(/not the protocol's/);
      },
    );
    console.log(
      `an HTTP server, connectTimeoutMs 1500: told after ${Math.round(least)} to ${Math.round(most)} ms`,
    );
    expect(most).toBeLessThan(1_500 + slackMs);
  });
});

describe.concurrent("ready()", () => {
  it("fulfils when a server that was down comes up, and at once from then on", async (t) => {
    const proxy = await startProxy({ target: server.connectString });
    t.onTestFinished(() => proxy.close());
    await proxy.setMode("refuse");
    const locks = locksAt(t, proxy.connectString);
    const first = await rejection(() => locks.ready());
    expect(first.error).toMatchObject({ code: "HF_BACKEND" });
    expect(locks.state).toBe("connecting");
    await proxy.setMode("ok");
    // Each call rejects after one second of refusals, and a busy machine may need longer than that to connect.
    await eventually(() => locks.ready().then(() => true), { what: "the connection" });
    expect(locks.state).toBe("connected");
    const startedMs = performance.now();
    await locks.ready({ waitMs: 0 });
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  it("is not satisfied with a session in suspense, and is again after that", async (t) => {
    const proxy = await startProxy({ target: server.connectString });
    t.onTestFinished(() => proxy.close());
    const locks = locksAt(t, proxy.connectString, { sessionTimeoutMs: 6_000 });
    await locks.ready();
    await proxy.setMode("refuse");
    proxy.resetAll();
    await eventually(() => locks.state === "suspended", { what: "the suspense" });
    const { error, tookMs } = await rejection(() => locks.ready({ waitMs: 200 }));
    expect(error).toMatchObject({ code: "HF_BACKEND", retryable: true });
    expect(tookMs).toBeLessThan(200 + slackMs);
    await proxy.setMode("ok");
    await eventually(() => locks.ready().then(() => true), { what: "the reconnect" });
    expect(locks.state).toBe("connected");
  });

  it("heeds its signal, and says that a closed provider is closed", async (t) => {
    const proxy = await startProxy({ target: server.connectString });
    t.onTestFinished(() => proxy.close());
    await proxy.setMode("hole");
    const locks = locksAt(t, proxy.connectString);
    const reason = new Error("no patience");
    const abort = new AbortController();
    const waiting = rejection(() => locks.ready({ signal: abort.signal }));
    abort.abort(reason);
    expect((await waiting).error).toBe(reason);
    const closing = rejection(() => locks.ready());
    await locks.close();
    expect((await closing).error).toMatchObject({ code: "HF_PROVIDER_CLOSED" });
    expect((await rejection(() => locks.ready())).error).toMatchObject({ code: "HF_PROVIDER_CLOSED" });
    expect(locks.state).toBe("closed");
  });
});
