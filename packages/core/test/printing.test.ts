import { inspect } from "node:util";
import { type LockHandle, MemorySpace, memoryLocks } from "@holdfast/core";
import { describe, expect, it } from "vitest";

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("a handle in a log", () => {
  it("shows what it holds by console.log, under the name of its interface, whatever its class is called", async () => {
    await using locks = memoryLocks();
    const lock = await locks.mutex("orders/42").acquire({ label: "host-1" });
    const { id } = lock.owner;
    const text = inspect(lock, { breakLength: Infinity });
    expect(text.replace(/\d+ \}$/, "9 }")).toBe(
      "LockHandle { name: 'orders/42', mode: 'exclusive', state: 'held', " +
        `owner: { id: '${id}', label: 'host-1' }, token: ${lock.token}n, turn: 0, remainingMs: 9 }`,
    );
    await lock.release();
    expect(inspect(lock)).toMatch(/state: 'released'/);
    expect(inspect([[[lock]]])).toContain("[LockHandle]");
    const others: readonly [string, LockHandle | object][] = [
      ["WriteHandle", await locks.readWriteLock("prices").write.acquire()],
      ["PermitHandle", await locks.semaphore("printers", 3).acquire({ permits: 2 })],
      ["LeadershipHandle", await locks.leaderElection("scheduler").campaign()],
    ];
    for (const [name, handle] of others) expect(inspect(handle)).toMatch(new RegExp(`^${name} \\{`));
    expect(inspect(others[1])).toMatch(/permits: 2/);
  });

  it("is JSON with its token as a decimal string, and with null once there is none to show", async () => {
    await using locks = memoryLocks({ keepMs: 1_000 });
    const { owner, token, ...others } = json(await locks.semaphore("s", 2).acquire({ permits: 2 })) as {
      readonly owner: unknown;
      readonly token: string;
    };
    expect(owner).toEqual({ id: expect.any(String) });
    expect(token).toMatch(/^\d+$/);
    expect(others).toEqual({
      name: "s",
      mode: "shared",
      state: "held",
      turn: 0,
      remainingMs: expect.any(Number),
      permits: 2,
      permitIds: [expect.any(String), expect.any(String)],
    });
  });

  it("counts as a look at the token in JSON alone, so that a lock goes on being kept beside console.log", async () => {
    await using locks = memoryLocks({ keepMs: 60_000 });
    const pair = async (look: (lock: LockHandle) => void) => {
      const lock = await locks.mutex("orders/42").acquire();
      look(lock);
      const outcome = await lock.release();
      return { lock, outcome };
    };
    await pair(() => {});
    const printed = await pair((lock) => inspect(lock));
    expect(printed.outcome).toBe("kept");
    expect(json(printed.lock)).toMatchObject({ state: "released", token: null });
    expect((await pair((lock) => JSON.stringify(lock))).outcome).toBe("released");
  });
});

describe("a snapshot in a log", () => {
  it("is JSON, with the tokens of its holders as decimal strings", async () => {
    await using locks = memoryLocks();
    const { token } = await locks.mutex("orders/42").acquire({ label: "host-1" });
    const snapshot = await locks.mutex("orders/42").inspect();
    expect(json(snapshot)).toMatchObject({ held: [{ token: `${token}`, label: "host-1" }] });
    expect(json(snapshot.held[0])).toMatchObject({ token: `${token}` });
    expect(Object.keys(snapshot.held[0] ?? {})).not.toContain("toJSON");
    await locks.semaphore("printers", 3).acquire();
    expect(json(await locks.semaphore("printers", 3).inspect())).toMatchObject({
      limit: 3,
      available: 2,
      held: [{ token: expect.stringMatching(/^\d+$/) }],
    });
  });

  it("shows all that is said of each holder by console.log, which stops earlier by itself", async () => {
    await using locks = memoryLocks();
    const { owner } = await locks.mutex("orders/42").acquire();
    const text = inspect(await locks.mutex("orders/42").inspect());
    expect(text).toMatch(/^LockSnapshot \{/);
    expect(text).toContain(owner.id);
    expect(text).toContain("provenance: 'exact'");
    expect(text).not.toContain("[Object]");
  });

  it("is JSON where another provider holds, too", async () => {
    const space = new MemorySpace();
    await using holder = memoryLocks({ space });
    await using locks = memoryLocks({ space });
    await holder.mutex("orders/42").acquire();
    expect(json(await locks.mutex("orders/42").inspect())).toMatchObject({
      held: [{ token: expect.stringMatching(/^\d+$/), heldByThisProvider: false }],
    });
  });
});
