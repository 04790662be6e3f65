import { describe, expect, it } from "vitest";
import { decide } from "../../src/engine/decide.js";
import { run } from "../../src/engine/run.js";
import type { Scenario } from "../../src/engine/scenario.js";
import { verdictLines } from "../../src/report/verdict-lines.js";
import { catalogue } from "../../src/scenarios/catalogue.js";
import { judgedWith, readExpected, subjectRecipe } from "../../src/subject/judged-with.js";
import type { Provides } from "../../src/workload/provides.js";
import { readProvides } from "../../src/workload/provides.js";

const plain: Provides = { kinds: ["mutex"], servers: ["redis"] };
const scenario = (id: string): Scenario => catalogue.find((each) => each.id === id) as Scenario;
const cannot = (id: string, provides: Provides = plain): string | undefined =>
  judgedWith(scenario(id), "mine", provides).subject?.cannot;

describe("a client in place of those of a scenario", () => {
  it("meets the same servers, faults and turns, and nothing is expected of it", () => {
    const before = scenario("R03");
    const after = judgedWith(before, "mine", plain);
    expect(after).toMatchObject({
      id: "R03",
      topology: before.topology,
      runMs: before.runMs,
      mode: "mine",
      keys: { k1: { kind: "mutex", backend: "redis", leaseMs: 800 } },
      groups: [{ ...before.groups[0], recipe: subjectRecipe }],
      expect: { pass: [] },
    });
    expect(after.plan).toBe(before.plan);
    expect(after.expect.violation).toBeUndefined();
    expect(after.expect.report).toContain("lost-update");
  });

  it("is not judged by what it does not provide, and each is named with its reason", () => {
    const { subject, check, keys, groups } = judgedWith(scenario("R03f"), "mine", plain);
    expect(subject?.notJudged).toEqual({
      "fence-order": "it gives no fencing tokens",
      "fence-effect": "it gives no fencing tokens",
      "lost-notice": "it does not tell a holder of its loss",
      advertised: "it does not promise a time",
      fifo: "it promises no order",
    });
    expect(check?.only).not.toContain("fence-order");
    expect(check?.only).toContain("belief");
    expect(keys.k1?.fenced).toBeUndefined();
    expect(groups[0]?.writes).toBe("unfenced");
  });

  it("is not judged by what it leaves in ZooKeeper, where the look is below the path of our recipes alone", () => {
    const { subject, check } = judgedWith(scenario("Z01"), "mine", { ...plain, servers: ["zookeeper"] });
    expect(subject?.notJudged.leaks).toBe("the runner does not know where it keeps its nodes");
    expect(check?.only).not.toContain("leaks");
    expect(judgedWith(scenario("R03"), "mine", plain).check?.only).toContain("leaks");
  });

  it("has to serve two clients after a fault only where grants come in the order of the requests", () => {
    expect(judgedWith(scenario("R03"), "mine", plain).check?.healClients).toBe(1);
    expect(judgedWith(scenario("R03"), "mine", { ...plain, fair: true }).check?.healClients).toBeUndefined();
  });

  it("is judged by all that it provides", () => {
    const all = { ...plain, tokens: true, tellsLoss: true, promises: true, fair: true };
    const { subject, keys, groups } = judgedWith(scenario("R03f"), "mine", all);
    expect(subject?.notJudged).toEqual({});
    expect(keys.k1?.fenced).toBe(true);
    expect(groups[0]?.writes).toBe("fenced");
  });

  it("writes under its tokens also where the catalogue has none to write under", () => {
    const { keys, groups } = judgedWith(scenario("R03"), "mine", { ...plain, tokens: true });
    expect([keys.k1?.fenced, groups[0]?.writes]).toEqual([true, "fenced"]);
  });

  it("leaves out the locks that it does not make, and keeps the others", () => {
    const { keys, groups } = judgedWith(scenario("R01"), "mine", { ...plain, kinds: ["mutex", "semaphore"] });
    expect(Object.keys(keys)).toEqual(["k1", "k4"]);
    expect(groups.map(({ name, keys: theirs }) => [name, theirs])).toEqual([["w", ["k1", "k4"]]]);
  });

  it("cannot be run where servers, kinds or the point of a scenario are missing, and that is said", () => {
    expect(cannot("Z01")).toBe("the client does not know the servers zookeeper (it provides redis)");
    expect(cannot("R03", { kinds: ["semaphore"], servers: ["redis"] })).toContain("does not provide naive");
    expect(cannot("S01")).toBe("it judges the checkers, and no client");
    expect(cannot("R21")).toBe("it is about two clients at the same locks");
    expect(cannot("R11", { kinds: ["mutex"], servers: ["masters"] })).toBeUndefined();
  });

  it("every scenario of the catalogue becomes one that can be run or says why not", () => {
    for (const each of catalogue) {
      const after = judgedWith(each, "mine", {
        kinds: ["mutex"],
        servers: ["zookeeper", "redis", "replicated", "masters"],
      });
      if (after.subject?.cannot !== undefined) continue;
      expect(after.groups.length, each.id).toBeGreaterThan(0);
      const known = Object.keys(after.keys);
      for (const { keys } of after.groups) for (const key of keys) expect(known, each.id).toContain(key);
    }
  });

  it("must pass what --expect names, as far as it can be judged", () => {
    const expected = readExpected(["belief", "no-damage", "fence-order"]);
    const after = judgedWith(scenario("R03"), "mine", plain, expected);
    expect(after.expect.pass).toEqual(["belief", "effect", "lost-update"]);
    const convicted = {
      checker: "belief",
      verdict: "violation",
      summary: "",
      examples: [],
      metrics: {},
    } as const;
    expect(decide(after.expect, [convicted]).outcome).toBe("violation");
    expect(() => readExpected(["beleif"])).toThrow("--expect is no-damage, belief");
  });

  it("is skipped in words, without servers, where it cannot be run", async () => {
    const scenarios = [judgedWith(scenario("Z01"), "mine", plain)];
    const { outcomes } = await run({
      scenarios,
      seed: 1,
      folder: "/nowhere",
      capabilities: ["java", "zookeeper"],
    });
    expect(outcomes).toMatchObject([
      {
        outcome: "skipped",
        why: "not judged: the client does not know the servers zookeeper (it provides redis)",
      },
    ]);
  });

  it("reports what held, what was convicted and what was not judged", () => {
    const about = judgedWith(scenario("R03"), "mine", plain);
    const result = (checker: string, verdict: "pass" | "violation" | "unknown") =>
      ({ checker, verdict, summary: "", examples: [], metrics: {} }) as const;
    const lines = verdictLines({
      scenario: about,
      results: [
        result("belief", "violation"),
        result("handover", "pass"),
        result("rw", "unknown"),
        result("stats", "pass"),
      ],
      unexpected: [],
    } as unknown as Parameters<typeof verdictLines>[0]);
    expect(lines).toEqual([
      "held: handover",
      "convicted: belief",
      "nothing to judge: rw",
      "not judged: fence-order, fence-effect (it gives no fencing tokens)",
      "not judged: lost-notice (it does not tell a holder of its loss)",
      "not judged: advertised (it does not promise a time)",
      "not judged: fifo (it promises no order)",
    ]);
  });
});

describe("a run in which too little happened", () => {
  it("does not say of a client that it held", () => {
    const about = judgedWith(scenario("R03"), "mine", plain);
    const passed = { checker: "belief", verdict: "pass", summary: "", examples: [], metrics: {} } as const;
    const linesOf = (unexpected: readonly "stats"[]): string[] =>
      verdictLines({ scenario: about, results: [passed], unexpected } as unknown as Parameters<
        typeof verdictLines
      >[0]);
    expect(linesOf([])).toContain("held: belief");
    expect(linesOf(["stats"])).toContain("nothing was shown: belief");
    expect(linesOf(["stats"]).join()).not.toContain("held");
  });
});

describe("what a client says that it provides", () => {
  it.each([
    [null, "provides is an object"],
    [{ servers: ["redis"] }, "provides.kinds is a list of mutex"],
    [
      { kinds: ["mutex"], servers: ["etcd"] },
      'provides.servers is a list of zookeeper, redis, replicated, masters, other; not ["etcd"]',
    ],
    [{ ...plain, tokens: "yes" }, "provides.tokens is true or false"],
    [{ ...plain, tokns: true }, "provides has no member tokns"],
  ])("is refused as %j with the reason", (given, why) => {
    expect(() => readProvides(given)).toThrow(why);
  });
});
