import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Capability } from "../../src/engine/capability.js";
import type { FaultKind } from "../../src/engine/faults/fault.js";
import { type RunOptions, run } from "../../src/engine/run.js";
import { runScenario } from "../../src/engine/run-scenario.js";
import type { Scenario, Topology } from "../../src/engine/scenario.js";
import { ServerPool } from "../../src/engine/server-pool.js";
import type { ServerSet } from "../../src/engine/topologies/server-set.js";
import type { WorkerProgram } from "../../src/engine/worker-process.js";
import { fakeWorker } from "./fake-worker.js";

const redis: Topology = { kind: "redis" };
const all: readonly Capability[] = ["java", "zookeeper", "redis", "sentinel"];

const scenario = (id: string, more: Partial<Scenario> = {}): Scenario => ({
  id,
  title: id,
  tags: ["full"],
  topology: redis,
  keys: { k1: { kind: "mutex", backend: "redis", leaseMs: 1_000 } },
  groups: [{ name: "w", count: 1, recipe: "fake", keys: ["k1"], holdMs: [1, 1] }],
  runMs: 100,
  plan: () => [],
  expect: { pass: ["belief", "leaks"] },
  faults: ["none"],
  mode: "fake",
  ...more,
});

/** A pool of servers that do not exist. The workers of these tests talk to no server. */
function poolOf(log: string[], start: (topology: Topology) => Promise<void> = async () => {}): ServerPool {
  return new ServerPool(async (topology) => {
    log.push(`start ${topology.kind}`);
    await start(topology);
    return {
      topology,
      versions: { fake: "1" },
      addresses: { kind: "none" },
      servers: [],
      link: async () => ({
        addresses: { kind: "none" },
        proxies: [],
        session: () => null,
        close: async () => {},
      }),
      observer: async () => ({
        look: async () => ({ holders: [], queue: [] }),
        left: async () => [],
        close: async () => {},
      }),
      heal: async () => {},
      logs: () => [],
      close: async () => {
        log.push(`close ${topology.kind}`);
        if (refusesToClose) throw new Error("EBUSY");
      },
    } as unknown as ServerSet;
  });
}

let folder: string;
let log: string[];
let refusesToClose = false;
beforeEach(() => {
  refusesToClose = false;
  folder = mkdtempSync(join(tmpdir(), "run-"));
  log = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const perform = (
  scenarios: readonly Scenario[],
  more: Partial<RunOptions> = {},
  program: WorkerProgram = fakeWorker(),
): ReturnType<typeof run> =>
  run({
    scenarios,
    seed: 1,
    folder,
    capabilities: all,
    pool: poolOf(log),
    programs: { fake: async () => program },
    ...more,
  });

const outcomes = async (running: ReturnType<typeof run>): Promise<string[]> =>
  (await running).outcomes.map(({ scenario: { id }, outcome }) => `${id} ${outcome}`);

describe("a run", () => {
  it("judges scenarios of one topology on one set of servers, and keeps only what is worth it", async () => {
    const { outcomes: done } = await perform([scenario("A"), scenario("B", { expect: { pass: ["fifo"] } })]);
    expect(done.map(({ outcome }) => outcome)).toEqual(["as-expected", "unknown"]);
    expect(done[0]).toMatchObject({ folder: null, versions: { fake: "1" }, seed: 1 });
    expect(log).toEqual(["start redis", "close redis"]);
    expect(readdirSync(folder)).toEqual(["B"]);
    expect(readdirSync(join(folder, "B"))).toEqual(["history.jsonl", "logs", "plan.json"]);
  });

  it("names what it cannot do here, and starts no servers for it", async () => {
    const namespaces = scenario("N", { topology: { kind: "zookeeper", members: 3, namespaces: true } });
    const result = await perform([namespaces, scenario("J", { needs: ["redisson"] })]);
    expect(result.outcomes).toMatchObject([
      { outcome: "skipped", missing: ["namespaces"] },
      { outcome: "skipped", missing: ["redisson"] },
    ]);
    expect(log).toEqual([]);
  });

  it("calls broken what broke, and goes on with the next on fresh servers", async () => {
    let starts = 0;
    const pool = poolOf(log, async () => {
      if (++starts === 1) throw new Error("no port");
    });
    const broken = scenario("W", {
      groups: [{ name: "x", count: 1, recipe: "bad", keys: ["k1"], holdMs: [1, 1] }],
    });
    const result = await perform([scenario("A"), broken, scenario("B")], {
      pool,
      programs: {
        fake: async () => fakeWorker(),
        bad: async () => fakeWorker('say({ say: "failed", error: "no" });'),
      },
    });
    expect(result.outcomes.map(({ outcome }) => outcome)).toEqual(["broken", "broken", "as-expected"]);
    expect(result.outcomes[0]?.why).toContain("no port");
    expect(result.outcomes[1]?.why).toContain("x0#0: no");
    expect(log).toEqual(["start redis", "start redis", "close redis", "start redis", "close redis"]);
  });

  it("keeps every outcome where servers cannot be closed", async () => {
    refusesToClose = true;
    const other = scenario("B", { topology: { kind: "zookeeper", members: 1 } });
    expect(await outcomes(perform([scenario("A"), other]))).toEqual(["A as-expected", "B as-expected"]);
  });

  it("is unknown when a worker had to be killed at the end, because its client does not close", async () => {
    const [, text = ""] = fakeWorker().args;
    const stuck = {
      ...fakeWorker(),
      args: ["-e", text.replace('say({ say: "done" }); process.exit(0);', "")],
    };
    // The run waits for the worker by these limits. A checker convicts a worker that takes longer for a turn.
    const check = { healLimitMs: 3_000, handoverLimitMs: 2_000 };
    const [done] = (await perform([scenario("A", { check })], {}, stuck)).outcomes;
    expect(done).toMatchObject({
      outcome: "unknown",
      why: expect.stringContaining("w0#0 did not end by itself"),
    });
  }, 60_000);

  it("begins nothing after its time budget, and says so", async () => {
    const result = await perform([scenario("A"), scenario("B")], { timeBudgetMs: 1 });
    expect(result.outcomes.at(-1)).toMatchObject({
      outcome: "unknown",
      why: expect.stringContaining("time budget"),
    });
  });

  it("is unknown when a planned fault did not come to pass", async () => {
    const planned = scenario("A", {
      plan: () => [{ fault: "worker.pause", target: "worker(w9)", atMs: 0 }],
      // There is only one worker, so the run must not wait for two after a fault.
      check: { healClients: 1 },
    });
    const [done] = (await perform([planned])).outcomes;
    expect(done).toMatchObject({ outcome: "unknown", why: expect.stringContaining("there is no worker w9") });
  });

  it("is unknown when too little happened, whatever else was expected of it", async () => {
    const poor = scenario("A", { check: { planned: ["zk.kill"] }, expect: { pass: ["belief"] } });
    const [done] = (await perform([poor])).outcomes;
    expect(done).toMatchObject({ outcome: "unknown", unexpected: ["stats"] });
  });

  it("takes everything down when it is interrupted, and rejects with the reason", async () => {
    const interrupt = new AbortController();
    const other = scenario("B", { topology: { kind: "zookeeper", members: 1 } });
    const running = perform([scenario("A", { runMs: 600_000 }), other], {
      signal: interrupt.signal,
      onProgress: (_, { grants }) => {
        if (grants > 5) interrupt.abort(new Error("enough"));
      },
    });
    await expect(running).rejects.toThrow("enough");
    // The servers of the next scenario had been started ahead.
    expect(log.toSorted()).toEqual(["close redis", "close zookeeper", "start redis", "start zookeeper"]);
  });

  it("has taken back the fault that is on when it is interrupted, before it rejects", async () => {
    const interrupt = new AbortController();
    let healed = false;
    const slow: FaultKind = {
      begin: async ({ begins }) => {
        begins("x");
        setTimeout(() => interrupt.abort(new Error("enough")), 20);
        return {
          target: "x",
          evidence: {},
          heal: async () => {
            await new Promise((resolve) => setTimeout(resolve, 500));
            healed = true;
          },
        };
      },
    };
    const running = runScenario(scenario("A", { runMs: 60_000 }), {
      seed: 1,
      folder,
      set: await poolOf(log).take(redis),
      signal: interrupt.signal,
      faults: { slow },
      plan: [{ fault: "slow", atMs: 0, forMs: 60_000 }],
      programs: { fake: async () => fakeWorker() },
    });
    await expect(running).rejects.toThrow("enough");
    expect(healed).toBe(true);
  });

  it("lets a scenario without servers judge alone", async () => {
    const alone = scenario("S", {
      topology: { kind: "none" },
      judgeAlone: async () => [
        { checker: "self-test", verdict: "violation", summary: "wrong", examples: [], metrics: {} },
      ],
      expect: { pass: [] },
    });
    expect(await outcomes(perform([alone]))).toEqual(["S violation"]);
  });
});
