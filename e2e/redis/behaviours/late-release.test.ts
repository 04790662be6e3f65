import type { RespMatch } from "@holdfast/test-servers";
import { expect, it, onTestFinished } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";

const server = new OneServer();
const scriptsOn = (key: string): RespMatch => ({ name: ["EVAL", "EVALSHA"], key });

it("5: a release sent again after its answer was lost ends no later hold", async () => {
  const name = server.name("again");
  const [{ locks, link }, other] = [await server.linked(), await server.locks()];
  const first = await locks.mutex(name).acquire();
  const lost = link.dropReply(scriptsOn(name));
  const again = link.holdCommand({ ...scriptsOn(name), nth: 2 });
  const releasing = first.release();
  await lost.hit();
  await again.hit();
  // The first copy of the release has freed the lock. The second one is held on its way.
  const later = await other.mutex(name).acquire({ waitMs: 5_000 });
  const before = await server.texts("HGETALL", name);
  again.release();
  expect(await releasing).toBe("released");
  expect(await server.texts("HGETALL", name)).toEqual(before);
  await later.confirm();
  expect(await later.release()).toBe("released");
});

it("5: a release that was stuck on an abandoned connection arrives late and ends no later hold of the same client", async () => {
  const name = server.name("stuck");
  const { locks, link } = await server.linked({ leaseMs: 10_000 });
  const first = await locks.mutex(name).acquire();
  const stuck = link.holdCommand(scriptsOn(name));
  const releasing = first.release();
  await stuck.hit();
  // The client gives the connection up and sends the release again on another one.
  expect(await releasing).toBe("released");
  const later = await locks.mutex(name).acquire({ waitMs: 5_000 });
  onTestFinished(async () => {
    await later.release();
  });
  const before = await server.texts("HGETALL", name);
  const calls = await scriptCalls();
  stuck.release();
  await expect.poll(scriptCalls, { timeout: 20_000 }).toBeGreaterThan(calls);
  expect(await server.texts("HGETALL", name)).toEqual(before);
  await later.confirm();
  expect(await later.release()).toBe("released");
});

/** How many scripts the server has run. */
async function scriptCalls(): Promise<number> {
  const { cmdstat_eval: whole = "", cmdstat_evalsha: known = "" } = await server.node.info("commandstats");
  return [whole, known].reduce((sum, told) => sum + Number(/calls=(\d+)/.exec(told)?.[1] ?? 0), 0);
}
