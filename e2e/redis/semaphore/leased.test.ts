import { LayoutConflictError, type LockView } from "@holdfast/core";
import { type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { type RedisNode, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";

let server: RedisNode;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server?.stop());

function open(options: Partial<RedisLocksOptions> = {}) {
  const locks = redisLocks({ url: server.url, ...options });
  onTestFinished(async () => {
    await locks.close({ releaseTimeoutMs: 200 });
  });
  return locks;
}

it("a permit of a semaphore whose holder is gone comes back with its lease", async () => {
  const name = "gone";
  const proxy = await startRedisProxy({ target: server.address });
  onTestFinished(() => proxy.close());
  const holder = open({ url: `redis://${proxy.connectString}`, leaseMs: 700 });
  await holder.semaphore(name, 1).acquire();
  // From now on the holder is like a process that was killed: neither a renewal nor a release of it arrives.
  await proxy.setMode("refuse");
  proxy.resetAll();
  const next = await open().semaphore(name, 1).acquire({ waitMs: 10_000 });
  expect(await next.release()).toBe("released");
});

it("a limit other than the stored one is refused, and limit() gives the stored one", async () => {
  const name = "limits";
  const three = open().semaphore(name, 3);
  expect(await three.limit()).toBe(3);
  const held = await three.acquire({ permits: 2 });
  const locks = open();
  const six = locks.semaphore(name, 6);
  await expect(six.acquire({ waitMs: 5_000 })).rejects.toThrow(LayoutConflictError);
  await expect(six.tryAcquire()).rejects.toThrow(/a limit of 3.*setLimit\(\)/);
  expect(await six.limit()).toBe(3);
  expect(await six.inspect()).toMatchObject({ limit: 3, available: 1 });
  await six.setLimit(6);
  expect(await three.limit()).toBe(6);
  const rest = await six.acquire({ permits: 4 });
  expect(await six.tryAcquire()).toBeNull();
  await expect(three.tryAcquire()).rejects.toThrow(/a limit of 6/);
  for (const handle of [held, rest]) expect(await handle.release()).toBe("released");
});

it("a plain number under the name of a semaphore is refused, by an error that names plainSemaphore()", async () => {
  const name = "plain";
  const locks = open();
  const held = await locks.plainSemaphore(name, 3).acquire();
  const refused = locks.semaphore(name, 3).acquire({ waitMs: 5_000 });
  await expect(refused).rejects.toThrow(LayoutConflictError);
  await expect(refused).rejects.toThrow(/plainSemaphore\(\)/);
  expect(await held.release()).toBe("released");
});

/** `requestRevoke()` is not in the interface of semaphores, but their objects have it. */
const asking = (semaphore: unknown) => (semaphore as LockView).requestRevoke();

it.each(["semaphore", "plainSemaphore"] as const)(
  "a request to let go of permits of a %s reaches the holders in its own database alone",
  async (kind) => {
    const name = `asked ${kind}`;
    const [staging, testing] = [open({ db: 1 }), open({ db: 2 })];
    const held = await staging[kind](name, 5).acquire({ revocable: true });
    expect(await asking(testing[kind](name, 5))).toBe(false);
    expect(held.revokeRequested.aborted).toBe(false);
    expect(await asking(open({ db: 1 })[kind](name, 5))).toBe(true);
    await expect.poll(() => held.revokeRequested.aborted).toBe(true);
  },
);

it("a request to let go of permits goes in database 0 to the channel that every version listens to", async () => {
  const name = "asked";
  const listener = await server.connect();
  onTestFinished(() => listener.close());
  await listener.command("SUBSCRIBE", `holdfast_permits_wanted:{${name}}`);
  expect(await asking(open().semaphore(name, 5))).toBe(true);
});
