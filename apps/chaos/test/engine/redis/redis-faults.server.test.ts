import {
  eventually,
  RedisConnection,
  type RedisNode,
  RedisProxy,
  type TcpProxy,
} from "@holdfast/test-servers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Crew, Worker } from "../../../src/engine/crew.js";
import type { OngoingFault } from "../../../src/engine/faults/fault.js";
import { faults } from "../../../src/engine/faults/registry.js";
import { Random } from "../../../src/engine/random.js";
import type { PlannedFault, Topology } from "../../../src/engine/scenario.js";
import { Tally } from "../../../src/engine/tally.js";
import { redisOf, replicaSetOf } from "../../../src/engine/topologies/redis-sets.js";
import { startServers } from "../../../src/engine/topologies/registry.js";
import {
  findServers,
  rolesOf,
  type ServerSet,
  type WorkerLink,
} from "../../../src/engine/topologies/server-set.js";
import { granted, invoke, Numbered } from "../numbered.js";

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

interface Bench {
  readonly set: ServerSet;
  readonly tally: Tally;
  readonly link: WorkerLink;
  readonly begun: string[];
  /** Functions that take back what failed faults have done. */
  readonly undo: (() => Promise<unknown>)[];
  begin(planned: Partial<PlannedFault> & { fault: string }): Promise<OngoingFault>;
}

/** Servers and a worker `a0` that consists of its links alone. */
async function bench(topology: Topology): Promise<Bench> {
  const set = await startServers(topology);
  open.push(set);
  const link = await set.link("a0", true);
  open.push(link);
  const worker = {
    group: { name: "a" },
    name: "a0",
    p: "a0#0",
    link,
    paused: false,
    process: { running: true },
  } as unknown as Worker;
  const crew = { worker: (name: string) => (name.startsWith("a0") ? worker : undefined) } as unknown as Crew;
  const tally = new Tally();
  const begun: string[] = [];
  const undo: (() => Promise<unknown>)[] = [];
  return {
    set,
    tally,
    link,
    begun,
    undo,
    begin: async (planned) => {
      const kind = faults[planned.fault];
      if (kind === undefined) throw new Error(`no fault ${planned.fault}`);
      return await kind.begin({
        planned: { atMs: 0, ...planned },
        set,
        crew,
        tally,
        random: new Random(1, "test"),
        signal: AbortSignal.timeout(30_000),
        begins: (target, back) => {
          begun.push(target);
          if (back !== undefined) undo.push(back);
        },
        missed: () => {},
      });
    },
  };
}

/** The role of a server in evidence. A busy server that does not answer in time is `silent` there. */
const shown = (role: string): unknown => expect.stringMatching(new RegExp(`^(${role}|silent)$`));

const proxyTo = (link: WorkerLink, at: number): RedisProxy => {
  const proxy: TcpProxy | undefined = link.proxies[at];
  if (!(proxy instanceof RedisProxy)) throw new Error("no proxy that reads RESP");
  return proxy;
};

describe("faults of one Redis", () => {
  it("comes back empty as another process, and says what was there", async () => {
    const { set, begin } = await bench({ kind: "redis" });
    const node = redisOf(set).nodes[0];
    await node?.command("SET", "x", 1);
    const { evidence } = await begin({ fault: "redis.empty", target: "master" });
    expect(evidence).toMatchObject({
      servers: ["redis1"],
      roles: { redis1: shown("master") },
      before: { keys: 1 },
      after: { keys: 0 },
    });
    const { before, after } = evidence as { before: { runId: string }; after: { runId: string } };
    expect(after.runId).not.toBe(before.runId);
  });

  it("holds all clients back for as long as it says", async () => {
    const { begin } = await bench({ kind: "redis" });
    const { evidence } = await begin({
      fault: "redis.client-pause",
      target: "redis1",
      options: { pauseMs: 300 },
    });
    expect((evidence as { heldBackMs: number }).heldBackMs).toBeGreaterThanOrEqual(290);
  });

  it("does not claim to have held clients back that were answered at once", async () => {
    const { set, begin } = await bench({ kind: "redis" });
    vi.spyOn(redisOf(set).nodes[0] as RedisNode, "clientPause").mockResolvedValue();
    await expect(
      begin({ fault: "redis.client-pause", target: "redis1", options: { pauseMs: 2_000 } }),
    ).rejects.toThrow(/held clients back for \d+ ms and not for 2000 ms/);
  });

  it("does not claim to have killed connections or lost answers where there were none", async () => {
    const { begin } = await bench({ kind: "redis" });
    await expect(
      begin({ fault: "redis.kill-clients", target: "redis1", options: { type: "pubsub" } }),
    ).rejects.toThrow("no connection of type pubsub");
    await expect(begin({ fault: "redis.deafen", target: "worker(a0)" })).rejects.toThrow("no subscription");
    const { heal } = await begin({ fault: "redis.lose-replies", target: "worker(a0)" });
    await expect(heal?.()).rejects.toThrow("no answer was lost");
  });

  it("deafens who has an open subscription, and has done so once a message was lost", async () => {
    const { set, link, begun, begin } = await bench({ kind: "redis" });
    const node = redisOf(set).nodes[0];
    const proxy = proxyTo(link, 0);
    const { port } = proxy;
    const subscribed = async (): Promise<RedisConnection> => {
      const connection = await RedisConnection.connect({ port, timeoutMs: 5_000 });
      open.push({ close: async () => connection.close() });
      await connection.command("SUBSCRIBE", "c");
      return connection;
    };
    (await subscribed()).close();
    const deafen = { fault: "redis.deafen", target: "worker(a0)" };
    await eventually(() => proxy.connections.length === 0, { what: "the connection to have ended" });
    await expect(begin(deafen)).rejects.toThrow("no subscription");
    await subscribed();
    const beginning = begin(deafen);
    await eventually(() => begun.length > 0, { what: "the messages to be dropped" });
    await node?.command("PUBLISH", "c", "1");
    const { evidence, heal } = await beginning;
    expect(evidence).toMatchObject({ how: "hole", subscriptions: 1, missed: 1 });
    // A worker may notice the fault and connect again while it lasts.
    await subscribed();
    await node?.command("PUBLISH", "c", "2");
    const dropped = (): number => proxy.trace.filter(({ fate }) => fate === "dropped").length;
    await eventually(() => dropped() === 2, { what: "the new subscription to miss a message" });
    expect(await heal?.()).toEqual({ missed: 2 });
    const healed = await subscribed();
    await node?.command("PUBLISH", "c", "3");
    await expect.poll(() => healed.messages).toEqual([["message", "c", "3"]]);
  });

  it("makes everything serve again, whatever was done to it", async () => {
    const { set } = await bench({ kind: "redis" });
    const [server] = set.servers;
    await server?.pause();
    expect(await server?.role()).toBeNull();
    await set.heal();
    await expect.poll(() => rolesOf(set)).toEqual({ redis1: "master" });
    await server?.kill();
    expect(await server?.role()).toBeNull();
    await set.heal();
    await expect.poll(() => rolesOf(set)).toEqual({ redis1: "master" });
  });
});

describe("faults of independent masters", () => {
  it("makes chosen servers unreachable for one worker", async () => {
    const { link, begin } = await bench({ kind: "masters", count: 3 });
    const { port } = proxyTo(link, 1);
    const connection = await RedisConnection.connect({ port, timeoutMs: 5_000 });
    open.push({ close: async () => connection.close() });
    // After this answer the connection is open at the proxy too.
    await connection.command("PING");
    const { evidence, heal } = await begin({
      fault: "redis.unreach",
      target: "worker(a0)",
      options: { servers: "redis2,redis3" },
    });
    expect(evidence).toMatchObject({ p: "a0#0", unreached: ["redis2", "redis3"] });
    expect(link.proxies.map(({ mode }) => mode)).toEqual(["ok", "reset", "reset"]);
    await heal?.();
    expect(link.proxies.map(({ mode }) => mode)).toEqual(["ok", "ok", "ok"]);
  });

  it.each([
    { how: "restart", persistence: "none", left: 0 },
    { how: "restart", persistence: "aof-always", left: 2 },
    { how: "tail", persistence: "aof-everysec", left: 1 },
    { how: "stale", persistence: "none", left: 1 },
  ] as const)("$how with persistence $persistence: $left of two writes are there afterwards", async (row) => {
    const { set, tally, link, begin, begun } = await bench({
      kind: "masters",
      count: 3,
      persistence: row.persistence,
    });
    const node = redisOf(set).nodes[2];
    await node?.command("SET", "early", 1);
    const waits = vi.spyOn(tally, "until");
    const forgotten = begin({
      fault: "redis.forget",
      target: "redis3",
      options: { group: "a", how: row.how },
    });
    // By then the fault has noted the state to go back to, and waits for a holder.
    await expect.poll(() => waits.mock.calls.length).toBe(1);
    await node?.command("SET", "late", 1);
    const arrived = new Numbered((record) => tally.see(record));
    arrived.add(invoke("b0#0", "acquire", "k1", 1), granted("b0#0", "k1", 1));
    expect(begun).toEqual([]);
    arrived.add(invoke("a0#0", "acquire", "k1", 1), granted("a0#0", "k1", 1));
    const { evidence, heal } = await forgotten;
    expect(evidence).toMatchObject({ servers: ["redis3"], how: row.how, hold: "a0#0:1" });
    expect(link.proxies.map(({ mode }) => mode)).toEqual(["hole", "hole", "hole"]);
    const [third] = await findServers(set, "redis3");
    expect(begun).toEqual([third?.name]);
    // These are the values of the server that is now at its address.
    expect(await valuesAt(proxyTo(link, 2).target.port)).toBe(row.left);
    await heal?.();
    expect(proxyTo(link, 0).mode).toBe("ok");
    await expect.poll(() => rolesOf(set)).toEqual({ redis1: "master", redis2: "master", redis3: "master" });
  });

  it("lets a holder hear again where a server was not made to forget", async () => {
    const { set, tally, link, begin, undo } = await bench({ kind: "masters", count: 3 });
    vi.spyOn(redisOf(set).nodes[2] as RedisNode, "runId").mockRejectedValue(new Error("no answer"));
    const waits = vi.spyOn(tally, "until");
    const failed = expect(
      begin({ fault: "redis.forget", target: "redis3", options: { group: "a" } }),
    ).rejects.toThrow("no answer");
    await expect.poll(() => waits.mock.calls.length).toBe(1);
    new Numbered((record) => tally.see(record)).add(
      invoke("a0#0", "acquire", "k1", 1),
      granted("a0#0", "k1", 1),
    );
    await failed;
    expect(link.proxies.map(({ mode }) => mode)).toEqual(["hole", "hole", "hole"]);
    for (const back of undo) await back();
    expect(link.proxies.map(({ mode }) => mode)).toEqual(["ok", "ok", "ok"]);
  });

  it("an outage lasts until there were grants without those servers", async () => {
    const { set, tally, begin } = await bench({ kind: "masters", count: 3 });
    const waits = vi.spyOn(tally, "until");
    const away = begin({ fault: "redis.outage", target: "redis1,redis2", options: { grants: 1 } });
    await expect.poll(() => waits.mock.calls.length).toBe(1);
    expect(set.servers[0]?.running).toBe(false);
    expect(set.servers[2]?.running).toBe(true);
    new Numbered((record) => tally.see(record)).add(
      invoke("a0#0", "acquire", "k1", 1),
      granted("a0#0", "k1", 1),
    );
    expect((await away).evidence).toMatchObject({ servers: ["redis1", "redis2"], grants: [1] });
    await expect.poll(() => rolesOf(set)).toEqual({ redis1: "master", redis2: "master", redis3: "master" });
  });
});

describe("faults of a master with replicas", () => {
  it("hands over to the replica, and the address follows", async () => {
    const { set, begin } = await bench({ kind: "replicated", replicas: 1, sentinels: 0 });
    const { front } = redisOf(set);
    const { evidence } = await begin({ fault: "redis.hand-over", target: "master" });
    expect(evidence).toMatchObject({
      promoted: "redis2",
      rolesAfter: { redis1: shown("replica"), redis2: shown("master") },
    });
    await expect.poll(() => rolesOf(set)).toEqual({ redis1: "replica", redis2: "master" });
    expect(front?.target.port).toBe(redisOf(set).nodes[1]?.port);
  });

  it.each([
    { fault: "redis.kill-master", holder: "ok" },
    { fault: "redis.kill-behind", holder: "hole" },
  ])("$fault starts the master again where no other is promoted", async ({ fault, holder }) => {
    const { set, tally, link, begin, undo } = await bench({ kind: "replicated", replicas: 2, sentinels: 3 });
    const replicaSet = replicaSetOf(set);
    const master = await replicaSet.master();
    const untilMaster = replicaSet.untilMaster.bind(replicaSet);
    vi.spyOn(replicaSet, "untilMaster").mockImplementation((options = {}) =>
      options.not === undefined ? untilMaster(options) : Promise.reject(new Error("no other was promoted")),
    );
    const waits = vi.spyOn(tally, "until");
    const failed = expect(begin({ fault, options: { group: "a" } })).rejects.toThrow("no other was promoted");
    if (holder === "hole") {
      await expect.poll(() => waits.mock.calls.length).toBe(1);
      new Numbered((record) => tally.see(record)).add(
        invoke("a0#0", "acquire", "k1", 1),
        granted("a0#0", "k1", 1),
      );
    }
    await failed;
    const modes = (): Set<string> => new Set(link.proxies.map(({ mode }) => mode));
    expect([master.running, modes()]).toEqual([false, new Set([holder])]);
    for (const back of undo) await back();
    expect([master.running, modes()]).toEqual([true, new Set(["ok"])]);
  });

  it("a set with two masters after a planned failover is whole again soon, with one", async () => {
    const { set, begin } = await bench({ kind: "replicated", replicas: 2, sentinels: 3 });
    const { evidence } = await begin({ fault: "redis.failover" });
    const { servers, promoted, rolesAfter } = evidence as {
      readonly servers: readonly [string];
      readonly promoted: string;
      readonly rolesAfter: Readonly<Record<string, string>>;
    };
    expect([rolesAfter[servers[0]], rolesAfter[promoted]]).toEqual([shown("master"), shown("master")]);
    await set.heal();
    await expect
      .poll(async () => Object.values(await rolesOf(set)).sort())
      .toEqual(["master", "replica", "replica", "sentinel", "sentinel", "sentinel"]);
  });
});

/** How many of the two writes are at a port. */
async function valuesAt(port: number): Promise<number> {
  using connection = await RedisConnection.connect({ port });
  return Number(await connection.command("EXISTS", "early", "late"));
}
