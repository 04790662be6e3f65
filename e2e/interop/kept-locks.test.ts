import type { LockHandle, LockProvider } from "@holdfast/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CuratorClient, curatorVersionsInShare } from "../support/curator/java-peer.js";
import { InteropFixture } from "./fixture.js";

const keeping = { keepMs: 20_000, maxKeepMs: 60_000, fenceBy: "token-and-turn" } as const;

describe.each(await curatorVersionsInShare())("locks that ours keeps, beside Curator %s", (curator) => {
  let fixture: InteropFixture;
  let client: CuratorClient;
  let locks: LockProvider;

  beforeAll(async () => {
    fixture = await InteropFixture.start(curator);
    client = await fixture.curator();
    locks = await fixture.ours(keeping);
  });

  afterAll(() => fixture?.close());

  async function keep(path: string): Promise<void> {
    for (let pair = 0; pair < 2; pair++) await (await locks.mutex(path).acquire()).release();
    expect(locks.kept().filter(({ name }) => name === path)).toMatchObject([{ lent: false }]);
  }

  it("Curator sees a kept lock as held, waits for it, and gets it at once", async () => {
    const path = "/kept/waits";
    await keep(path);
    const theirs = await client.mutex(path);
    expect(await theirs.participants()).toHaveLength(1);
    const granted = await theirs.acquire({ waitMs: 5_000 });
    expect(granted).not.toBeNull();
    expect(locks.kept()).toEqual([]);
    await theirs.release();
  });

  it("Curator waits for the owner of a kept lock, and is granted before the next of ours", async () => {
    const path = "/kept/order";
    await keep(path);
    const holder = await locks.mutex(path).acquire();
    expect(holder.turn).toBe(1);
    const theirs = await client.mutex(path);
    let granted = false;
    const theirTurn = theirs.acquire({ waitMs: 30_000 }).then(() => {
      granted = true;
    });
    await expect.poll(() => theirs.participants(), { timeout: 10_000 }).toHaveLength(2);
    // This acquire waits in memory. When the provider notices Curator's wish, the acquire asks the server, behind Curator.
    const next = locks.mutex(path).acquire();
    await expect.poll(() => theirs.participants(), { timeout: 10_000 }).toHaveLength(3);
    expect(granted).toBe(false);
    expect(await holder.release()).toBe("released");
    await theirTurn;
    expect((await locks.mutex(path).inspect()).pendingTotal).toBe(1);
    await theirs.release();
    const handle = await next;
    expect(handle.turn).toBe(0);
    await handle.release({ keep: false });
  });

  it("a try of Curator is refused once at most: its node ends the keeping, and the next try finds the lock free", async () => {
    const path = "/kept/tries";
    await keep(path);
    const theirs = await client.mutex(path);
    // Our provider learns of Curator's node while Curator lists the queue, and may have given the lock back by then.
    const first = await theirs.acquire({ waitMs: 0 });
    await expect.poll(() => locks.kept(), { timeout: 10_000 }).toEqual([]);
    if (first === null) {
      // The provider lists the lock no longer as soon as it sends the delete, which the server may execute later.
      await expect.poll(() => theirs.participants(), { timeout: 10_000 }).toEqual([]);
      expect(await theirs.acquire({ waitMs: 0 })).not.toBeNull();
    }
    await theirs.release();
  });

  it("Curator's Revoker ends an idle keeping, and its message reaches no later owner", async () => {
    const path = "/kept/revoked";
    await keep(path);
    const theirs = await client.mutex(path);
    const [node = ""] = await theirs.participants();
    await client.attemptRevoke(node);
    await expect.poll(() => theirs.participants(), { timeout: 10_000 }).toEqual([]);
    const handle = await locks.mutex(path).acquire({ revocable: true });
    const { revokeRequested } = handle;
    await handle.confirm();
    expect(revokeRequested.aborted).toBe(false);
    await handle.release({ keep: false });
  });

  it("never two hold while both take it again and again, and Curator waits for no more than one owner of ours", async () => {
    const path = "/kept/both";
    const theirs = await client.mutex(path);
    let holders = 0;
    let oursSinceTheyAsked = 0;
    let worst = 0;
    let done = false;
    const seen = { ours: 0, lent: 0, theirs: 0 };
    const ours = async (): Promise<void> => {
      while (!done) {
        const handle: LockHandle = await locks.mutex(path).acquire();
        expect(++holders).toBe(1);
        seen.ours++;
        oursSinceTheyAsked++;
        if (handle.turn > 0) seen.lent++;
        // The work asks the server. By its answer the client has all events that the server sent before, also that Curator waits.
        await handle.confirm();
        holders--;
        await handle.release();
      }
    };
    const running = ours();
    for (let round = 0; round < 15; round++) {
      const before = seen.lent;
      await expect.poll(() => seen.lent, { interval: 2 }).toBeGreaterThan(before + 1);
      let granted = false;
      const asked = theirs.acquire({ waitMs: 30_000 }).finally(() => {
        granted = true;
      });
      await expect.poll(async () => (await theirs.participants()).length > 1 || granted).toBe(true);
      oursSinceTheyAsked = 0;
      expect(await asked).not.toBeNull();
      expect(++holders).toBe(1);
      seen.theirs++;
      worst = Math.max(worst, oursSinceTheyAsked);
      holders--;
      await theirs.release();
    }
    done = true;
    await running;
    expect(seen.theirs).toBe(15);
    expect(seen.lent).toBeGreaterThan(15);
    // Counted from when Curator's node is in the queue: the owner that held then, and perhaps one lent before the event arrived.
    expect(worst).toBeLessThanOrEqual(2);
  }, 60_000);
});
