import { expect, it } from "vitest";
import type { FaultContext } from "../../src/engine/faults/fault.js";
import { linkFaults } from "../../src/engine/faults/link.js";
import { redisLinkFaults } from "../../src/engine/faults/redis-links.js";

const faults = { ...linkFaults, ...redisLinkFaults };

const begin = async (fault: string, proxy: object) => {
  const worker = { name: "w0", p: "w0#0", link: { proxies: [proxy], setMode: async () => {} } };
  const context = {
    planned: { fault, target: "worker(w0)", atMs: 0, options: { servers: "redis1" } },
    set: { servers: [{ name: "redis1" }] },
    crew: { worker: () => worker },
    signal: new AbortController().signal,
    begins: () => {},
  } as unknown as FaultContext;
  return await faults[fault]?.begin(context);
};

const cut = async (proxy: { open: number; accepted: number }, fault = "link.hole") => {
  const ongoing = await begin(fault, Object.assign(proxy, { setMode: async () => {} }));
  if (ongoing?.heal === undefined) throw new Error("nothing to heal");
  return { evidence: ongoing.evidence, heal: ongoing.heal };
};

it("a cut of a link counts as done where a connection was open", async () => {
  const { evidence } = await cut({ open: 2, accepted: 2 });
  expect(evidence).toMatchObject({ p: "w0#0", mode: "hole", connections: [2] });
});

it("servers count as out of reach where a connection to one of them was open", async () => {
  const { evidence } = await cut({ open: 1, accepted: 1 }, "redis.unreach");
  expect(evidence).toEqual({ p: "w0#0", unreached: ["redis1"], mode: "reset" });
});

it.each([
  { fault: "link.hole", mode: "hole" },
  { fault: "redis.unreach", mode: "reset" },
])("$fault without a connection counts as done only where one tries to come meanwhile", async (row) => {
  const quiet = await cut({ open: 0, accepted: 3 }, row.fault);
  expect([quiet.evidence, await quiet.heal()]).toEqual([null, undefined]);
  const proxy = { open: 0, accepted: 3 };
  const dialled = await cut(proxy, row.fault);
  proxy.accepted += 1;
  const { mode } = row;
  expect([dialled.evidence, await dialled.heal()]).toEqual([null, expect.objectContaining({ mode })]);
});

it("a reset waits for a client that is just coming back", async () => {
  let resets = 0;
  const proxy = { open: 0, resetAll: () => resets++ };
  const done = begin("link.reset", proxy);
  await new Promise((resolve) => setImmediate(resolve));
  expect(resets).toBe(0);
  proxy.open = 1;
  expect((await done)?.evidence).toMatchObject({ connections: [1] });
  expect(resets).toBe(1);
});
