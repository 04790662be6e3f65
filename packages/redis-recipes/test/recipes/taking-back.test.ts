import type { LockHandle } from "@holdfast/core";
import { expect, test } from "vitest";
import { ReplyError } from "../../src/client/errors.js";
import { lockName, Scene } from "./scene.js";
import type { SimulatedClient } from "./simulated-client.js";

const kinds: readonly [what: string, ask: (client: SimulatedClient) => Promise<unknown>][] = [
  ["a mutex", ({ provider }) => provider.mutex(lockName).tryAcquire()],
  ["a fair mutex", ({ provider }) => provider.fairMutex(lockName).tryAcquire()],
  ["a read lock", ({ provider }) => provider.readWriteLock(lockName).read.tryAcquire()],
];

test.each([
  "NOREPLICAS Not enough good replicas",
  "OOM command not allowed",
  "MISCONF cannot persist",
  "READONLY",
])("a request that the server refuses by %s is not taken back: it left nothing behind", async (reply) => {
  for (const [, ask] of kinds) {
    const scene = new Scene();
    const client = scene.client();
    let asked = 0;
    client.line.run = async () => {
      asked++;
      throw new ReplyError(reply, { servers: ["s:1"] });
    };
    await expect(scene.settle(ask(client))).rejects.toMatchObject({ name: "ReplyError", reply });
    await scene.runtime.advance(5_000);
    expect(asked).toBe(1);
  }
});

test("a refusal for good may come from the middle of a script, so what it left is taken back", async () => {
  const scene = new Scene();
  const client = scene.client();
  const asked: string[] = [];
  const run = client.line.run.bind(client.line);
  client.line.run = async (script, keys, args, options) => {
    asked.push(script.name);
    if (asked.length === 1) throw new ReplyError("ERR unknown command 'pexpire'", { servers: ["s:1"] });
    return await run(script, keys, args, options);
  };
  await expect(scene.settle(client.mutex(lockName).tryAcquire())).rejects.toThrow(/pexpire/);
  expect(asked).toHaveLength(2);
});

test.each(kinds)(
  "%s that comes late on the connection that waits for replicas is taken back behind that",
  async (_what, ask) => {
    const scene = new Scene();
    const client = scene.client({ acks: 1, replicas: 1 }, { strayMs: () => 2_600 });
    const asked = ask(client);
    // The client first asks for the server's clock. Once that is answered, the request itself is under way.
    await scene.runtime.advance(2.5);
    const failed = expect(scene.settle(asked)).rejects.toThrow(/outcome is unknown/);
    client.line.cut();
    client.line.mend();
    await failed;
    await scene.runtime.advance(2_700);
    await scene.runtime.advance(6_000);
    expect(scene.redis.now.keys.has(lockName)).toBe(false);
    // The next acquire finds the lock free.
    await scene.settle((await scene.acquire(client, { waitMs: 1_000 })).release());
  },
);

test("a request with acks that comes late is taken back, though a heartbeat had got its lock and that was released since", async () => {
  const scene = new Scene();
  const client = scene.client({ acks: 1, replicas: 1 }, { strayMs: () => 2_600 });
  const asked = client.mutex(lockName).acquire({ waitMs: 10_000 });
  await scene.runtime.advance(2.5);
  client.line.cut();
  client.line.mend();
  await scene.settle((await scene.settle(asked)).release());
  expect(scene.count("mutex-heartbeat")).toBeGreaterThan(0);
  await scene.runtime.advance(2_700);
  expect(scene.holder).toBeDefined();
  await scene.runtime.advance(6_000);
  expect(scene.holder).toBeUndefined();
});

test.each([0, 10_000])(
  "a request without acks (waitMs %i) that its old connection delivers late, within its date, is taken back too",
  async (waitMs) => {
    const scene = new Scene();
    const client = scene.client({}, { strayMs: () => 1_500 });
    await scene.settle((await scene.acquire(client)).release());
    const asked = client.mutex(lockName).acquire({ waitMs });
    asked.catch(() => {});
    client.line.cut();
    client.line.mend();
    if (waitMs === 0) await expect(scene.settle(asked)).rejects.toThrow(/outcome is unknown/);
    else await scene.settle((await scene.settle(asked)).release());
    await scene.runtime.advance(3_000);
    // The second acquire that was executed is the late one.
    expect({ acquires: scene.count("mutex-acquire"), holder: scene.holder }).toEqual({
      acquires: 2,
      holder: undefined,
    });
  },
);

test("a read lock that is released soon after a try without an answer was held to its end, and is released at once", async () => {
  const scene = new Scene();
  const [writer, reader] = [scene.client(), scene.client()];
  const written = await scene.settle(writer.provider.readWriteLock(lockName).write.acquire());
  const asked = reader.provider.readWriteLock(lockName).read.acquire({ waitMs: 60_000 });
  await scene.runtime.advance(300);
  const tries = scene.count("read-acquire");
  await scene.settle(written.release());
  // The try that the release has caused is executed, and its answer is lost.
  while (scene.count("read-acquire") === tries) await scene.runtime.step();
  reader.line.cut();
  reader.line.mend();
  const handle = await scene.settle(asked);
  const grantedMs = scene.runtime.nowMs();
  expect(await scene.settle(handle.release())).toBe("released");
  expect(scene.runtime.nowMs() - grantedMs).toBeLessThan(100);
  await scene.runtime.advance(5_000);
  expect(handle.lost.aborted).toBe(false);
});

test.each(kinds)(
  "%s with acks counts the question for the server's clock as a round trip of its first grant",
  async (_what, ask) => {
    const scene = new Scene();
    const client = scene.client({ acks: 1, replicas: 1 });
    const counted: number[] = [];
    client.provider.events.on("acquire-settled", ({ roundTrips }) => void counted.push(roundTrips));
    for (let turn = 0; turn < 2; turn++) {
      const handle = (await scene.settle(ask(client))) as LockHandle;
      await scene.settle(handle.release());
    }
    expect(counted).toEqual([2, 1]);
  },
);

test("a taking back behind a late request ends with the lease, though the server's clock was set back by an hour", async () => {
  const scene = new Scene();
  const client = scene.client({ acks: 1, replicas: 1 }, { strayMs: () => 2_600 });
  await scene.settle((await scene.acquire(client)).release());
  const failed = expect(scene.settle(client.mutex(lockName).tryAcquire())).rejects.toThrow(
    /outcome is unknown/,
  );
  client.line.cut();
  scene.redis.offsetMs -= 3_600_000;
  client.line.mend();
  await failed;
  const { leaseMs, aliveMs } = client.state.requests.settings;
  await scene.runtime.advance(leaseMs + aliveMs);
  await scene.settle((await scene.acquire(client, { waitMs: 1_000 })).release());
});

test("a release that is refused for the moment says released, though a second copy of the hand-over comes before the next try", async () => {
  const scene = new Scene();
  const [first, second] = [scene.client(), scene.client()];
  const held = await scene.acquire(first);
  const { granted } = await scene.queue(second);
  const refusals = ["OOM command not allowed"];
  second.line.weather = {
    ...second.line.weather,
    message: () => [1, 20],
    refuses: (script) => (script === "mutex-release" ? (refusals.pop() ?? null) : null),
  };
  await scene.settle(held.release());
  expect(await scene.settle((await scene.settle(granted)).release())).toBe("released");
  expect(refusals).toEqual([]);
  await scene.runtime.advance(5_000);
  expect(scene.holder).toBeUndefined();
  expect(scene.waiters).toEqual([]);
});

test("a caller that gives up while it hears, by its next grant, that it has lost the lock leaves no hold behind", async () => {
  const scene = new Scene();
  const client = scene.client();
  const first = await scene.acquire(client);
  scene.redis.space.del(lockName);
  const caller = new AbortController();
  const givenUp = new Error("given up");
  first.lost.addEventListener("abort", () => caller.abort(givenUp));
  const asked = client.mutex(lockName).acquire({ signal: caller.signal });
  await expect(scene.settle(asked)).rejects.toBe(givenUp);
  await scene.runtime.advance(1_000);
  expect(first.state).toBe("lost");
  expect(client.state.holds.on(lockName)).toEqual([]);
  expect(scene.holder).toBeUndefined();
});

test("a request has a date before any script was answered, by the clock that the master showed when it was connected to", async () => {
  const scene = new Scene();
  const client = scene.client();
  expect(client.state.requests.notAfterMs(lockName)).toBeNull();
  const sentMs = scene.runtime.nowMs();
  client.line.clockAt = () => ({ serverMs: 7_000_000, sentMs, answeredMs: sentMs + 1 });
  await scene.runtime.advance(500);
  expect(client.state.requests.notAfterMs(lockName)).toBe(7_000_500 + 2_000);
  // Later answers show a later clock, which counts instead.
  await scene.settle((await scene.acquire(client)).release());
  expect(client.state.requests.notAfterMs(lockName)).not.toBe(7_000_500 + 2_000);
});
