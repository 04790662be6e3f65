import { eventually } from "@holdfast/test-servers";
import { expect, it, vi } from "vitest";
import { die, FaultyServer } from "./faulty-server.js";

const server = new FaultyServer();

it("defect 34: permits of a process that died come back with their lease, and only its own", async () => {
  const [dead, live] = [await server.client({ leaseMs: 900 }), await server.client()];
  const name = server.name("crash");
  await live.locks.permitSemaphore(name).setLimit(3);
  await dead.locks.permitSemaphore(name).acquire({ permits: 2 });
  const own = await live.locks.permitSemaphore(name).acquire();
  await die(dead);
  const both = await live.locks.permitSemaphore(name).acquire({ permits: 2, waitMs: 30_000 });
  await own.confirm();
  expect(await live.locks.permitSemaphore(name).tryAcquire()).toBeNull();
  await both.release();
  await own.release();
  expect(await live.locks.permitSemaphore(name).limit()).toBe(3);
});

it("defect 34: a permit is given back once, however often and however late that is asked", async () => {
  const { locks, link } = await server.client();
  for (const kind of ["semaphore", "permit-semaphore"] as const) {
    const name = server.name(kind);
    const semaphore = kind === "semaphore" ? locks.plainSemaphore(name, 2) : locks.permitSemaphore(name);
    if (kind === "permit-semaphore") await locks.permitSemaphore(name).setLimit(2);
    const permit = await semaphore.acquire();
    const lost = link.dropReply({ name: ["EVALSHA", "EVAL"] });
    expect(await Promise.all([permit.release(), permit.release()])).toEqual(["released", "released"]);
    expect(lost.hits).toHaveLength(1);
    expect(await permit.release()).toBe("released");
    expect({ kind, free: await server.number("GET", name) }).toEqual({ kind, free: 2 });
  }
});

it("defect 34: a permit that was lost gives nothing back, so that there are never more than the limit", async () => {
  const locks = await server.locks();
  const semaphore = locks.permitSemaphore(server.name("late"));
  await semaphore.setLimit(1);
  const over = await semaphore.acquire({ leaseMs: 150, renew: false });
  const next = await semaphore.acquire({ waitMs: 20_000 });
  expect(await over.release()).toBe("lost");
  expect(await semaphore.tryAcquire()).toBeNull();
  await next.release();
  const all = await semaphore.acquire();
  expect(await semaphore.tryAcquire()).toBeNull();
  await all.release();
});

it("more permits than one request can name are refused at once, and a plain semaphore counts them", async () => {
  const locks = await server.locks();
  const leased = locks.permitSemaphore(server.name("leased"));
  await leased.setLimit(200_000);
  const refused = await leased.acquire({ permits: 130_000 }).catch((error: Error) => error);
  expect(refused).toMatchObject({ name: "InvalidArgumentError", message: expect.stringContaining("10000") });
  const most = await leased.acquire({ permits: 10_000 });
  expect(most.permitIds).toHaveLength(10_000);
  await most.confirm();
  expect(await most.release()).toBe("released");

  const name = server.name("bytes");
  const bytes = locks.plainSemaphore(name, 5_000_000);
  const taken = await bytes.acquire({ permits: 4_000_000 });
  expect(await server.number("GET", name)).toBe(1_000_000);
  expect(taken.permitIds).toHaveLength(10_000);
  expect((await bytes.inspect()).held).toHaveLength(10_000);
  expect(await taken.release()).toBe("released");
  expect(await server.number("GET", name)).toBe(5_000_000);
});

it("a lease that Redis cannot set is refused before anything is taken", async () => {
  const locks = await server.locks();
  const name = server.name("endless");
  const semaphore = locks.semaphore(name, 3);
  for (const leaseMs of [30, 9.3e18]) {
    await expect(semaphore.acquire({ leaseMs })).rejects.toMatchObject({ name: "InvalidArgumentError" });
    await expect(locks.mutex(server.name("endless")).tryAcquire({ leaseMs })).rejects.toMatchObject({
      name: "InvalidArgumentError",
    });
  }
  expect(await server.number("EXISTS", name)).toBe(0);
});

it("defect 35: permits are renewed while they are held, by the server's clock", async () => {
  const realNow = Date.now;
  const spy = vi.spyOn(Date, "now").mockImplementation(() => realNow() - 6 * 3_600_000);
  try {
    // On a busy machine renewals come late, and the permit must outlast that.
    const { locks } = await server.client({ leaseMs: 3_000 });
    const other = await server.locks();
    const name = server.name("renewed");
    await locks.permitSemaphore(name).setLimit(1);
    const permit = await locks.permitSemaphore(name).acquire();
    const [, score = "0"] = await server.texts("ZRANGE", `{${name}}:timeout`, "0", "-1", "WITHSCORES");
    const [seconds = "0"] = await server.texts("TIME");
    expect(Math.abs(Number(score) - Number(seconds) * 1_000)).toBeLessThan(60_000);
    let renewed = 0;
    locks.events.on("renewed", () => renewed++);
    await eventually(() => renewed >= 4, { what: "more than one lease to pass" });
    expect(await other.permitSemaphore(name).tryAcquire()).toBeNull();
    await permit.confirm();
    expect(await permit.release()).toBe("released");
  } finally {
    spy.mockRestore();
  }
});

/**
 * What Redisson's `tryAcquire` does first, by the clock of the Java client. Returns how many permits it took from their
 * holders.
 */
const reapsAsJava = `
local over = redis.call('ZRANGEBYSCORE', KEYS[2], 0, ARGV[1], 'LIMIT', 0, 100)
if #over > 0 then
  redis.call('ZREM', KEYS[2], unpack(over))
  redis.call('INCRBY', KEYS[1], #over)
end
return #over`;

it.each([0.75, 1])(
  "a Java client whose clock is ahead by %d leases takes permits of live holders, which their next renewal tells",
  async (ahead) => {
    const leaseMs = 3_000;
    const locks = await server.locks({ leaseMs });
    const name = server.name("ahead");
    const permit = await locks.semaphore(name, 1).acquire();
    const reap = async (aheadMs: number): Promise<boolean> => {
      const nowMs = String((await server.nowMs()) + aheadMs);
      return (await server.number("EVAL", reapsAsJava, "2", name, `{${name}}:timeout`, nowMs)) > 0;
    };
    let renewed = 0;
    locks.events.on("renewed", () => renewed++);
    while (renewed < 1) expect(await reap(leaseMs * 0.3)).toBe(false);
    await eventually(() => reap(leaseMs * ahead), { what: "the permit to be taken" });
    const takenMs = performance.now();
    expect(permit.state).toBe("held");
    await eventually(() => permit.lost.aborted, { what: "the loss to be told" });
    const tookMs = Math.round(performance.now() - takenMs);
    console.log(`ahead by ${ahead} leases of ${leaseMs} ms: the holder heard after ${tookMs} ms`);
    expect(permit.lost.reason).toMatchObject({ name: "LockLostError", reason: "lease-missing" });
  },
);

it("defect 36: permit ids are 16 raw bytes on the wire, as since 3.17, and a text id of an older client is left alone", async () => {
  const locks = await server.locks();
  const name = server.name("ids");
  await locks.permitSemaphore(name).setLimit(2);
  const permit = await locks.permitSemaphore(name).acquire();
  const lengths = await server.number(
    "EVAL",
    "return #redis.call('ZRANGE', KEYS[1], 0, 0)[1]",
    "1",
    `{${name}}:timeout`,
  );
  expect(lengths).toBe(16);
  // The text id of an older client is left alone, and ends at its own date.
  const [seconds = "0"] = await server.texts("TIME");
  const text = "0123456789abcdef0123456789abcdef";
  await server.node.command("ZADD", `{${name}}:timeout`, Number(seconds) * 1_000 + 60_000, text);
  await server.node.command("DECR", name);
  expect(await locks.permitSemaphore(name).tryAcquire()).toBeNull();
  await permit.release();
  expect(await server.texts("ZRANGE", `{${name}}:timeout`, "0", "-1")).toEqual([text]);
});
