import { describe, expect, it } from "vitest";
import { pageOf } from "../src/peers/page.js";
import { peers } from "../src/peers/peers.js";
import type { Grant, Samples } from "../src/peers/protocol.js";
import { figuresMarkdown, type PeersReport, together } from "../src/peers/report.js";
import type { Meter } from "../src/peers/server.js";
import {
  crowdOf,
  type Figures,
  figuresOfIdling,
  figuresOfWork,
  passedByOf,
  ratio,
  type Sample,
  spreadOf,
} from "../src/peers/statistics.js";
import { spreadText, table } from "../src/peers/text.js";
import { quick, workloads } from "../src/peers/workloads.js";

const meter = (changes: Partial<Meter> = {}): Meter => ({
  atMs: 0,
  requests: 0,
  serverCpuMs: 0,
  clientCpuMs: 0,
  ...changes,
});

const samplesOf = (changes: Partial<Samples> = {}): Samples => ({
  operations: 100,
  tookMs: 50,
  latenciesUs: [],
  grants: [],
  ...changes,
});

const idle = figuresOfIdling(meter(), meter({ atMs: 1_000 }));

function sample(peer: string, round: number, figures: Partial<Figures>, workload = "pair"): Sample {
  return { workload, backend: "redis", peer, round, figures: { ...idle, requests: null, ...figures } };
}

describe("the figures of a stretch of work", () => {
  it("are rates of operations, and costs for each of them", () => {
    const before = meter({ requests: 1_000, serverCpuMs: 10, clientCpuMs: 20 });
    const after = meter({ requests: 1_400, serverCpuMs: 30, clientCpuMs: 80 });
    const latenciesUs = Array.from({ length: 100 }, (_, i) => (i + 1) * 1_000);
    const figures = figuresOfWork([{ samples: samplesOf({ latenciesUs }), before, after }]);
    expect(figures).toMatchObject({
      rate: 2_000,
      p50Ms: 50,
      p99Ms: 99,
      clientCpu: 0.6,
      serverCpu: 0.2,
      requests: 4,
      passedBy: null,
      passedByMost: null,
      serverShare: null,
    });
  });

  it("count several stretches as one, with what lies between them left out", () => {
    const stretch = (from: number) => ({
      samples: samplesOf({
        operations: 10,
        tookMs: 10,
        grants: [
          [1, 0, 1_000, 2_000],
          [0, 1, 4_000, 5_000],
        ],
      }),
      before: meter({ requests: from }),
      after: meter({ requests: from + 20 }),
    });
    expect(figuresOfWork([stretch(0), stretch(1_000)])).toMatchObject({
      rate: 200,
      handOffRate: 100,
      requests: 2,
      passedBy: 0.1,
      passedByMost: 1,
    });
  });

  it("where owners wait end with the calls of a loop, and costs are of all that was done", () => {
    const grants: Grant[] = [
      [0, 0, 0, 1_000],
      [2, 0, 1_100, 2_000],
      [1, 1, 4_000, 5_000],
      // The loops have ended, and the owner that still waited is served.
      [3, 2, 10_500, 10_600],
    ];
    const samples = samplesOf({ operations: 4, tookMs: 11, grants });
    const after = meter({ requests: 40 });
    expect(figuresOfWork([{ samples, before: meter(), after }], 10)).toMatchObject({
      rate: 300,
      handOffRate: 100,
      p50Ms: 2,
      p99Ms: 2,
      requests: 10,
      passedBy: 0.25,
    });
  });

  it("are shares of a core and requests a second where owners only wait", () => {
    const after = meter({ atMs: 2_000, requests: 300, serverCpuMs: 500, clientCpuMs: 100 });
    expect(figuresOfIdling(meter(), after)).toMatchObject({
      rate: null,
      requests: 150,
      serverShare: 0.25,
      clientShare: 0.05,
    });
  });
});

describe("hand-offs", () => {
  it("are grants to another owner than the one before, and last from its call of release", () => {
    const grants: Grant[] = [
      [0, 7, 5, 10],
      [1, 7, 11, 20],
      [2, 8, 50, 60],
      [3, 7, 90, 95],
    ];
    expect(crowdOf(grants, 1_000)).toEqual({ grants: 4, handOffsUs: [30, 30] });
  });

  it("of a queue begin with the release by its holder, which had its own grant before the work began", () => {
    const grants: Grant[] = [
      [0, 0, -500, 0],
      [1, 1, 40, 50],
      [2, 2, 70, 75],
    ];
    expect(crowdOf(grants, Number.POSITIVE_INFINITY)).toEqual({ grants: 2, handOffsUs: [40, 20] });
  });

  it("of one grant alone, or of no grant, are none", () => {
    expect(crowdOf([], 1_000)).toEqual({ grants: 0, handOffsUs: [] });
    expect(crowdOf([[0, 0, 5, 10]], 1_000)).toEqual({ grants: 1, handOffsUs: [] });
  });
});

describe("overtaking", () => {
  it.each([
    [[], 0, 0],
    [[0, 1, 2, 3], 0, 0],
    [[1, 0], 1, 1],
    [[1, 2, 3, 0], 3, 3],
    [[3, 2, 1, 0], 6, 3],
    // The acquires 1 and 2 are never granted.
    [[4, 0, 3], 2, 1],
  ])("of the grants %j: %i later calls in all, at most %i, went before one", (grants, all, most) => {
    expect(passedByOf(grants)).toEqual({ all, most });
  });

  it("is what counting each pair of grants gives", () => {
    const grants = Array.from({ length: 200 }, (_, i) => (i * 73) % 211);
    const passed = grants.map((call, at) => grants.slice(0, at).filter((earlier) => earlier > call).length);
    expect(passedByOf(grants)).toEqual({
      all: passed.reduce((sum, each) => sum + each, 0),
      most: Math.max(...passed),
    });
  });
});

describe("a spread", () => {
  it("is the middle with the smallest and the largest", () => {
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, least: 1, most: 3 });
    expect(spreadOf([4, 1, 2, 3])).toEqual({ median: 2.5, least: 1, most: 4 });
  });

  it("leaves out what is no figure, and is null of nothing", () => {
    expect(spreadOf([null, 5, Number.NaN])).toEqual({ median: 5, least: 5, most: 5 });
    expect(spreadOf([null, Number.NaN])).toBeNull();
  });

  it.each([
    [{ median: 1_234.4, least: 1_000, most: 2_000 }, 1, "1,234 (1,000-2,000)"],
    [{ median: 0.5, least: 0.5, most: 0.5 }, 1, "0.500"],
    [{ median: 0.5, least: 0.4999, most: 0.5001 }, 1, "0.500"],
    [{ median: 0.004_03, least: 0, most: 7.25 }, 1, "0.00403 (0-7.25)"],
    [{ median: 0.006_14, least: 0.0059, most: 0.1 }, 1_000, "6.14 (5.90-100)"],
    [null, 1, "-"],
  ])("%j times %i is printed as %s", (values, scale, text) => {
    expect(spreadText(values, scale)).toBe(text);
  });
});

describe("ratios", () => {
  it("are taken within a round: what slows a whole round down does not show", () => {
    const reference = [sample("a", 1, { rate: 100 }), sample("a", 2, { rate: 10 })];
    const own = [sample("b", 1, { rate: 200 }), sample("b", 2, { rate: 20 })];
    expect(ratio(own, reference, "rate")).toEqual({ median: 2, least: 2, most: 2 });
  });

  it("leave out rounds that only one of the two has, and figures of nothing", () => {
    const reference = [sample("a", 1, { rate: 100, requests: 0 })];
    const own = [sample("b", 1, { rate: 50, requests: 3 }), sample("b", 2, { rate: 500 })];
    expect(ratio(own, reference, "rate")).toEqual({ median: 0.5, least: 0.5, most: 0.5 });
    expect(ratio(own, reference, "requests")).toBeNull();
  });
});

const report: PeersReport = {
  runs: [{ command: "bench", date: "2026-01-02", commit: "abc", machine: "a machine", load: 0.5 }],
  samples: [
    sample("redis-semaphore", 1, { rate: 1_000, p50Ms: 0.2 }),
    sample("redis-semaphore", 2, { rate: 1_200, p50Ms: 0.2 }),
    sample("holdfast", 1, { rate: 2_000, p50Ms: 0.1 }),
    sample("holdfast", 2, { rate: 1_800, p50Ms: 0.1 }),
  ],
  absences: [{ backend: "redis", peer: "Redisson", workload: null, why: "no JDK\nat all" }],
  versions: { Redis: "7.0.15" },
  memory: [],
  complete: true,
};

describe("the report", () => {
  it("pads its tables as the formatter has them", () => {
    expect(table(["peer", "a"], [["x", "1,000"]])).toBe(
      "| peer |     a |\n| ---- | ----: |\n| x    | 1,000 |",
    );
  });

  it("shows figures and ratios, without empty columns, and names the peers that are missing", () => {
    const all = figuresMarkdown(report);
    const text = all.slice(all.indexOf("### pair"));
    expect(text).toMatch(/^\| peer +\| +a second +\| +p50 µs \|$/m);
    expect(text).toMatch(/^\| holdfast +\| 1,900 \(1,800-2,000\) \| +100 \|$/m);
    expect(text).toMatch(/^\| redis-semaphore = 1 \| +a second \| +p50 \|$/m);
    expect(text).toMatch(/^\| holdfast +\| 1\.75 \(1\.50-2\) \| +0\.500 \|$/m);
    expect(text).not.toContain("requests");
    expect(text).toContain("- Redisson (Redis), all workloads: no JDK");
    expect(text).not.toContain("at all");
  });

  it("begins each backend with the ratios of ours in all workloads", () => {
    const text = figuresMarkdown(report);
    expect(text.indexOf("### holdfast in all workloads")).toBeLessThan(text.indexOf("### pair"));
    expect(text).toMatch(/^\| pair +\| 1\.75 \(1\.50-2\) \| +- \| 0\.500 \|( +- \|){5}$/m);
  });

  it("begins with the targets whose workload was measured, and says which of them are reached", () => {
    const text = figuresMarkdown(report);
    const [, first] = text.split(/^## /m);
    expect(first).toMatch(/^Targets\n/);
    expect(first).toMatch(
      /^\| pair on Redis: p50, redis-semaphore = 1 +\| +0\.500 \| ≤ 1\.35 \| ≤ 1\.2 \| +aim \| +- \|$/m,
    );
    expect(first).toMatch(/^\| pair on Redis: client CPU.* not measured \|/m);
    expect(first).not.toContain("ZooKeeper");
  });

  it("of two runs takes ratios within a round of the same run", () => {
    const slow = report.samples.map((each) => ({
      ...each,
      figures: { ...each.figures, rate: (each.figures.rate as number) / 100 },
    }));
    const { samples } = together([report, { ...report, samples: slow }]);
    const of = (name: string) => samples.filter(({ peer }) => peer === name);
    const expected = { median: 1.75, least: 1.5, most: 2 };
    expect(ratio(of("holdfast"), of("redis-semaphore"), "rate")).toEqual(expected);
  });

  it("of two runs has the figures of both, and the page names the commands of both", () => {
    const other = {
      ...report,
      runs: report.runs.map((run) => ({ ...run, command: "again" })),
      samples: report.samples.map((each) => ({ ...each, workload: "crowd-16" })),
      versions: { Java: "17" },
    };
    const page = pageOf(together([report, other]));
    expect(page).toContain("### pair\n");
    expect(page).toContain("### crowd-16\n");
    expect(page).toContain("Versions: Java 17, Redis 7.0.15.");
    expect(page).toContain("- `bench` on 2026-01-02 at commit `abc`");
    expect(page).toContain("- `again` on");
    expect(page).not.toContain("Other work ran");
    expect(page).toContain("`redis-semaphore` does not queue");
    expect(page).not.toMatch(/Curator runs|Redisson runs|redlock/);
  });
});

it("the page says so when the machine was busy with other work", () => {
  const runs = report.runs.map((run) => ({ ...run, load: 3 }));
  expect(pageOf({ ...report, runs })).toContain("Other work ran on this machine meanwhile.");
});

describe("the lists", () => {
  it("have one reference for each backend, and no name twice", () => {
    for (const backend of ["zookeeper", "redis"]) {
      const own = peers.filter((peer) => peer.backend === backend);
      expect(own.filter(({ reference }) => reference === true)).toHaveLength(1);
      expect(new Set(own.map(({ name }) => name)).size).toBe(own.length);
    }
    expect(new Set(workloads.map(({ name }) => name)).size).toBe(workloads.length);
  });

  it("name only peers that there are", () => {
    const names = peers.map(({ name }) => name);
    for (const { only = [] } of workloads) expect(names).toEqual(expect.arrayContaining([...only]));
  });

  it("stay workloads of their kind when they are quick", () => {
    for (const workload of workloads) {
      const { kind, owners, locks, clients } = quick(workload);
      expect(kind).toBe(workload.kind);
      expect(owners > locks).toBe(workload.owners > workload.locks);
      expect(clients === 1).toBe(workload.clients === 1);
    }
  });
});
