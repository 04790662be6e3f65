import type { Direction } from "@holdfast/test-servers";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { share } from "../../support/share.js";
import { Chance } from "../server/chance.js";
import { type Actor, expectNoHolds, Stage, sessionOf } from "../server/stage.js";
import { testLimitMs } from "../server/test-limit.js";

vi.setConfig({ testTimeout: testLimitMs });

let stage: Stage;
let actor: Actor;
let rival: Actor;
let path: string;

beforeAll(async () => {
  stage = await Stage.open();
  actor = await stage.actor();
  rival = await stage.actor();
});
afterAll(async () => {
  await stage.close();
});
beforeEach(async () => {
  path = await stage.path();
});

type Cut = () => void;

/**
 * Cuts the connection in the phase of `round` that begins where it calls `arm` and ends where it calls `check`. The first
 * round, which is not cut, counts the bytes that the phase sends in `direction`. A full run then cuts behind each number of
 * bytes below that count, any other run behind some of them.
 */
async function atEachByte(
  what: string,
  direction: Direction,
  part: number,
  round: (arm: Cut, check: Cut) => Promise<void>,
): Promise<void> {
  let before = 0;
  let length = 0;
  await round(
    () => {
      before = actor.proxy.bytes[direction];
    },
    () => {
      length = actor.proxy.bytes[direction] - before;
    },
  );
  expect(length).toBeGreaterThan(0);
  const chance = new Chance();
  const all = Array.from({ length }, (_, position) => position);
  const positions = chance.sample(all, share(`cut positions in ${what}, ${direction}`, part, length));
  console.log(`${what}, ${direction}: ${length} bytes, seed ${chance.seed}`);
  for (const position of positions) {
    let cut = false;
    actor.proxy.reset();
    try {
      await round(
        () => {
          actor.proxy.cutAfter(position, direction).then(() => {
            cut = true;
          });
        },
        () => {},
      );
    } catch (error) {
      throw new Error(`cut after ${position} of ${length} bytes: ${String(error)}`, { cause: error });
    }
    expect(cut, `cut after ${position} of ${length} bytes`).toBe(true);
    expect(await stage.operator.children(path)).toEqual([]);
    expectNoHolds(actor, rival);
  }
}

/** Expects that the actor holds, that the server has one node, and that the rival does not get in. */
async function expectHeldAlone(token: bigint | null): Promise<void> {
  expect(await stage.operator.queue(path)).toEqual([
    { path: expect.any(String), czxid: token, session: sessionOf(actor).sessionId },
  ]);
  expect(await rival.locks.mutex(path).tryAcquire()).toBeNull();
}

describe.each([["down" as const], ["up" as const]])("a connection cut in mid-frame, %s", (direction) => {
  it("on a free acquire leaves one node and one holder", async () => {
    await atEachByte("a free acquire", direction, 12, async (arm, check) => {
      arm();
      const handle = await actor.locks.mutex(path).acquire({ waitMs: 10_000 });
      check();
      await expectHeldAlone(handle.token);
      expect(await handle.release()).toBe("released");
    });
  });

  it("on a release leaves no node, and the release is confirmed", async () => {
    await atEachByte("a release", direction, 4, async (arm, check) => {
      const handle = await actor.locks.mutex(path).acquire({ waitMs: 10_000 });
      arm();
      expect(await handle.release()).toBe("released");
      check();
    });
  });

  it("on the way into the queue leaves one place in it, which is served", async () => {
    await atEachByte("queueing", direction, 12, async (arm, check) => {
      const first = await rival.locks.mutex(path).acquire({ waitMs: 10_000 });
      actor.proxy.reset();
      arm();
      const second = actor.locks.mutex(path).acquire({ waitMs: 10_000 });
      await stage.queued(actor, path);
      check();
      expect(await stage.operator.children(path)).toHaveLength(2);
      expect(first.state).toBe("held");
      await first.release();
      const handle = await second;
      await expectHeldAlone(handle.token);
      expect(await handle.release()).toBe("released");
    });
  });
});

describe("a connection cut in mid-frame", () => {
  it("on the event that hands the lock on loses no hand-off", async () => {
    await atEachByte("the event of a hand-off", "down", 6, async (arm, check) => {
      const first = await rival.locks.mutex(path).acquire({ waitMs: 10_000 });
      actor.proxy.reset();
      const second = actor.locks.mutex(path).acquire({ waitMs: 10_000 });
      await stage.queued(actor, path);
      arm();
      await first.release();
      const handle = await second;
      check();
      await expectHeldAlone(handle.token);
      expect(await handle.release()).toBe("released");
    });
  });
});
