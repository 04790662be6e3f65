import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { share } from "../../../../e2e/support/share.js";
import { drawPlan } from "../../src/engine/plan.js";
import { headMs, tailMs } from "../../src/engine/random-plan.js";
import type { Lane, PlannedFault, Scenario } from "../../src/engine/scenario.js";
import { parseWorkerTarget } from "../../src/engine/trigger.js";
import { catalogue } from "../../src/scenarios/catalogue.js";
import { randomScenarios } from "../../src/scenarios/random.js";

const plansOfEach = share("plans of each random scenario, for each property", 16, 60);
const each = randomScenarios.map((scenario) => [scenario.id, scenario] as const);
const seeds = fc.nat(2 ** 31 - 1);
const seconds = fc.integer({ min: 60, max: 600 });
const plans = (scenario: Scenario): fc.Arbitrary<{ plan: readonly PlannedFault[]; runMs: number }> =>
  fc.tuple(seeds, seconds).map(([seed, s]) => {
    const runMs = s * 1_000;
    return { plan: drawPlan({ ...scenario, runMs }, seed), runMs };
  });
const inLane = (plan: readonly PlannedFault[], lane: Lane): PlannedFault[] =>
  plan.filter(({ lanes }) => lanes?.includes(lane) === true);
const overMs = ({ atMs, forMs = 0 }: PlannedFault): number => atMs + forMs;

/** Whether a fault takes servers away, cuts them apart or replaces them. */
const breaksServers = (fault: string): boolean =>
  /^(zk\.(kill|pause|restart)|net\.|redis\.(kill|pause|restart|failover|freeze-master|kill-master|kill-behind|client-pause)$)/.test(
    fault,
  );
/** Whether a fault lasts until it is healed. */
const stays = (fault: string): boolean =>
  /^(zk|redis)\.(kill|pause)$|^redis\.(kill-master|kill-behind)$|^net\.|^worker\.|^link\.(?!reset)/.test(
    fault,
  );

describe("what the random scenarios draw", () => {
  it.each(each)("%s draws the same plan from the same seed, and another from another", (_, scenario) => {
    fc.assert(
      fc.property(seeds, seeds, (one, other) => {
        expect(drawPlan(scenario, one)).toEqual(drawPlan(scenario, one));
        if (one !== other) expect(drawPlan(scenario, one)).not.toEqual(drawPlan(scenario, other));
      }),
      { numRuns: plansOfEach / 2 },
    );
  });

  it.each(each)("%s fills its time with faults, and all are over before it ends", (_, scenario) => {
    fc.assert(
      fc.property(plans(scenario), ({ plan, runMs }) => {
        for (const planned of plan) {
          expect(planned.atMs).toBeGreaterThanOrEqual(headMs);
          expect(overMs(planned)).toBeLessThanOrEqual(runMs - tailMs);
        }
        expect(plan.length).toBeGreaterThanOrEqual(Math.floor(runMs / 10_000));
        expect(plan.map(({ number }) => number)).toEqual(plan.map((__, at) => at + 1));
        expect(plan.map(({ atMs }) => atMs)).toEqual(plan.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
      }),
      { numRuns: plansOfEach },
    );
  });

  it.each(each)(
    "%s never has two faults of servers on at once, nor two of clients, and takes each back",
    (_, scenario) => {
      fc.assert(
        fc.property(plans(scenario), ({ plan }) => {
          for (const lane of ["servers", "clients"] as const) {
            const those = inLane(plan, lane);
            those.slice(1).forEach((next, at) => {
              expect(next.atMs).toBeGreaterThan(overMs(those[at] as PlannedFault));
            });
          }
          for (const { fault, lanes, forMs } of plan) {
            expect(lanes?.length, fault).toBeGreaterThan(0);
            if (breaksServers(fault)) expect(lanes, fault).toContain("servers");
            if (/^(worker|link)\./.test(fault)) expect(lanes, fault).toContain("clients");
            if (stays(fault)) expect(forMs, fault).toBeGreaterThan(0);
          }
        }),
        { numRuns: plansOfEach },
      );
    },
  );

  it.each(each)("%s begins alike however long it lasts", (_, scenario) => {
    fc.assert(
      fc.property(seeds, seconds, seconds, (seed, a, b) => {
        const [short, long] = [Math.min(a, b), Math.max(a, b)].map((s) =>
          drawPlan({ ...scenario, runMs: s * 1_000 }, seed),
        );
        const atMs = Math.max(...(short ?? []).map((planned) => planned.atMs));
        // The fault that was drawn last may fall before one that was drawn earlier for the other lane.
        const sure = (short ?? []).filter(({ atMs: at }) => at < atMs - 20_000);
        expect((long ?? []).slice(0, sure.length)).toEqual(sure);
      }),
      { numRuns: plansOfEach / 2 },
    );
  });

  it.each(each)("%s aims at workers and keys that are there, reached through proxies", (_, scenario) => {
    const workers = scenario.groups.flatMap(({ name, count }) =>
      Array.from({ length: count }, (__, at) => `${name}${at}`),
    );
    expect(scenario.groups.every(({ proxied }) => proxied === true)).toBe(true);
    fc.assert(
      fc.property(plans(scenario), ({ plan }) => {
        for (const { fault, target = "", options = {} } of plan) {
          const worker = parseWorkerTarget(target);
          if (worker !== null) {
            expect(worker.role === "worker" ? workers : Object.keys(scenario.keys), fault).toContain(
              worker.name,
            );
          }
          if (options.key !== undefined) expect(Object.keys(scenario.keys)).toContain(options.key);
        }
      }),
      { numRuns: plansOfEach },
    );
  });

  it.each(each)("%s draws each of its faults in some plan", (_, scenario) => {
    const drawn = new Map<string, number>();
    for (let seed = 1; seed <= 40; seed++) {
      for (const { fault } of drawPlan(scenario, seed)) drawn.set(fault, (drawn.get(fault) ?? 0) + 1);
    }
    const wanted: Record<string, readonly string[]> = {
      "S02-zk": ["zk.kill", "zk.pause", "zk.restart", "zk.lose-replies", "worker.kill", "link.hole"],
      "S02-zk-fenced": ["zk.session-kill", "worker.pause", "zk.kill", "link.hole"],
      "S02-zk-net": ["net.cut", "net.isolate", "net.ring", "net.bridge", "net.halves", "zk.kill"],
      "S02-redis": ["redis.failover", "redis.kill-master", "redis.kill-behind", "redis.deafen", "link.hole"],
      "S02-redis-fenced": ["worker.pause", "redis.failover", "redis.freeze-master"],
      "S02-redis-net": ["net.cut", "net.isolate", "net.halves", "redis.failover"],
      "S02-naive": ["worker.pause", "worker.kill", "link.hole"],
    };
    for (const fault of wanted[scenario.id] ?? [""]) expect(drawn.get(fault) ?? 0, fault).toBeGreaterThan(5);
  });
});

describe("the random scenarios", () => {
  it("are of the night alone", () => {
    const nightly = catalogue.filter(({ tags }) => tags.includes("nightly"));
    expect(nightly).toEqual(randomScenarios);
    for (const { tags, lastsMs } of nightly) {
      expect(tags).toEqual(["nightly"]);
      expect(lastsMs).toEqual([60_000, 600_000]);
    }
  });

  it("judge belief wherever nothing can end a hold behind its owner's back, and what the resource took everywhere", () => {
    for (const { id, expect: wanted } of randomScenarios) {
      if (id === "S02-naive") expect(wanted.violation).toEqual(["lost-update"]);
      else expect(wanted.pass, id).toEqual(expect.arrayContaining(["effect", "fence-order", "leaks"]));
      const drawn = [1, 2, 3, 4, 5, 6, 7, 8].flatMap((seed) =>
        drawPlan(randomScenarios.find((scenario) => scenario.id === id) as Scenario, seed),
      );
      const behind = drawn.some(({ fault }) => fault === "worker.pause" || fault === "zk.session-kill");
      expect(wanted.pass.includes("belief"), id).toBe(!behind);
    }
  });
});
