import { describe, expect, it } from "vitest";
import type { Topology } from "../../src/engine/scenario.js";
import { ServerPool, topologyName } from "../../src/engine/server-pool.js";
import type { ServerSet } from "../../src/engine/topologies/server-set.js";

const one: Topology = { kind: "zookeeper", members: 1 };
const three: Topology = { kind: "zookeeper", members: 3 };

function pool(heal: () => Promise<void> = async () => {}, start?: () => Promise<void>) {
  const log: string[] = [];
  const sets = new ServerPool(async (topology) => {
    log.push(`start ${topologyName(topology)}`);
    await start?.();
    return {
      topology,
      heal,
      close: async () => void log.push(`close ${topologyName(topology)}`),
    } as unknown as ServerSet;
  });
  return { sets, log };
}

describe("the pool of servers", () => {
  it("starts one set for all scenarios of a topology, whatever the order of its words", async () => {
    const { sets, log } = pool();
    sets.prepare(one);
    const first = await sets.take({ members: 1, kind: "zookeeper" });
    await sets.giveBack(first);
    expect(await sets.take(one)).toBe(first);
    await sets.take(three);
    await sets.close();
    expect(log).toEqual([
      `start ${topologyName(one)}`,
      `start ${topologyName(three)}`,
      `close ${topologyName(one)}`,
      `close ${topologyName(three)}`,
    ]);
  });

  it("throws a set away that cannot be made whole again", async () => {
    const { sets, log } = pool(async () => {
      throw new Error("a server does not come back");
    });
    const first = await sets.take(one);
    await sets.giveBack(first);
    expect(log.at(-1)).toBe(`close ${topologyName(one)}`);
    expect(await sets.take(one)).not.toBe(first);
    await sets.close();
  });

  it("tries again after a start that failed", async () => {
    let fails = true;
    const { sets } = pool(undefined, async () => {
      if (fails) throw new Error("no port");
    });
    sets.prepare(one);
    await expect(sets.take(one)).rejects.toThrow("no port");
    fails = false;
    expect((await sets.take(one)).topology).toBe(one);
    await sets.close();
  });

  it("closes what is still starting, and starts nothing after that", async () => {
    let up = (): void => {};
    const starting = new Promise<void>((resolve) => {
      up = resolve;
    });
    const { sets, log } = pool(undefined, () => starting);
    sets.prepare(one);
    const closing = sets.close();
    sets.prepare(three);
    up();
    await closing;
    expect(log).toEqual([`start ${topologyName(one)}`, `close ${topologyName(one)}`]);
    await expect(sets.take(one)).rejects.toThrow("closed");
  });
});
