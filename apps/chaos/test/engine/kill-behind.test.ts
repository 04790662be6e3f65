import { expect, it } from "vitest";
import type { FaultContext } from "../../src/engine/faults/fault.js";
import { redisFailovers } from "../../src/engine/faults/redis-failover.js";
import { Random } from "../../src/engine/random.js";
import { Tally } from "../../src/engine/tally.js";
import { type RedisServers, rememberRedis } from "../../src/engine/topologies/redis-sets.js";
import type { ServerSet } from "../../src/engine/topologies/server-set.js";
import { granted, invoke, Numbered } from "./numbered.js";

interface Grants {
  /** How long after the cut the records of the grants arrive, and to whom they were granted. */
  readonly grants?: readonly { readonly p: string; readonly afterMs: number }[];
  readonly free?: boolean;
}

/** Waits 100 ms for a grant to the group `a`, after the 100 ms in which records from before the cut may arrive. */
async function killBehind({ grants = [], free = true }: Grants) {
  const tally = new Tally();
  const log = new Numbered((record) => tally.see(record));
  const done: string[] = [];
  const node = (port: number) => ({
    port,
    running: true,
    command: async () => [],
    kill: async () => {
      done.push("killed");
    },
  });
  const nodes = [node(1), node(2)];
  const [master, replica] = nodes;
  const cutReplication = (): void => {
    for (const [at, { p, afterMs }] of grants.entries())
      setTimeout(() => log.add(invoke(p, "acquire", "k1", at), granted(p, "k1", at)), afterMs);
  };
  const replicaSet = {
    nodes,
    cutReplication,
    healReplication: () => {},
    master: async () => master,
    untilMaster: async () => replica,
  };
  const set = { servers: [{ name: "redis1", role: async () => "master" }] } as unknown as ServerSet;
  rememberRedis(set, { nodes, replicaSet } as unknown as RedisServers);
  const context = {
    planned: {
      fault: "redis.kill-behind",
      atMs: 0,
      options: { key: "k1", group: "a", waitMs: 100, free },
    },
    set,
    crew: { worker: (p: string) => ({ group: { name: p.slice(0, 1) }, link: { proxies: [] } }) },
    tally,
    random: new Random(1, "test"),
    signal: new AbortController().signal,
    begins: () => {},
    missed: () => {},
  } as unknown as FaultContext;
  const evidence = await redisFailovers["redis.kill-behind"]?.begin(context).then(
    (fault) => fault.evidence,
    (error: Error) => error.message,
  );
  return { evidence, done };
}

const scenes: readonly (Grants & {
  readonly what: string;
  readonly unreplicated: string | null;
  readonly atCut: string | null;
})[] = [
  { what: "nothing", unreplicated: null, atCut: null },
  { what: "nothing, beside a rival", grants: [{ p: "b0#0", afterMs: 50 }], unreplicated: null, atCut: null },
  {
    what: "the key as replication is cut, and again after that",
    grants: [
      { p: "a0#0", afterMs: 50 },
      { p: "a0#0", afterMs: 150 },
    ],
    unreplicated: "a0#0:1",
    atCut: "a0#0:0",
  },
  {
    what: "the key as replication is cut, at a moment that need not be free",
    grants: [{ p: "a0#0", afterMs: 50 }],
    free: false,
    unreplicated: null,
    atCut: "a0#0:0",
  },
];

it.each(scenes)("kills the master behind its replicas where the group is granted $what", async (scene) => {
  const { unreplicated, atCut } = scene;
  const { evidence, done } = await killBehind(scene);
  expect(evidence).toMatchObject({ unreplicated, atCut, promoted: "redis at 2" });
  expect(done).toEqual(["killed"]);
});

it("fails where nothing shows whether a replica has heard of the only grant", async () => {
  const { evidence, done } = await killBehind({ grants: [{ p: "a0#0", afterMs: 50 }] });
  expect(evidence).toBe("a0#0:0 was granted just as replication was cut, and a nothing after it");
  expect(done).toEqual([]);
});
