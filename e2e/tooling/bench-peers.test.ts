import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { Program } from "../packaging/program.js";
import { buildPackages } from "../support/process/emit.js";
import { share } from "../support/share.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const command = `${root}apps/bench/dist/main.js`;

beforeAll(() => buildPackages("@holdfast/bench"), 180_000);

interface Report {
  readonly samples: readonly {
    readonly workload: string;
    readonly backend: string;
    readonly peer: string;
    readonly figures: {
      readonly rate: number;
      readonly handOffRate: number | null;
      readonly requests: number;
    };
  }[];
  readonly absences: readonly unknown[];
  readonly complete: boolean;
}

test("bench peers measures each workload with each peer on both backends, and says so as JSON", async () => {
  const all = ["pair", "crowd-16", "queue-200"];
  const workloads = all.slice(0, share("workloads of bench peers", 1, all.length));
  const args = ["peers", "--quick", "--json", "--peers", "holdfast,shortest"];
  const program = Program.start(command, root, [...args, "--workloads", workloads.join()]);
  const { code } = await program.end(60_000);
  expect(code, program.errors).toBe(0);
  const { samples, absences, complete } = JSON.parse(program.output) as Report;
  expect({ absences, complete }).toEqual({ absences: [], complete: true });
  const rows = samples.map(({ backend, workload, peer }) => `${backend} ${workload} ${peer}`).sort();
  const wanted = ["zookeeper", "redis"].flatMap((backend) =>
    workloads.flatMap((workload) => ["holdfast", "shortest"].map((peer) => `${backend} ${workload} ${peer}`)),
  );
  expect(rows).toEqual(wanted.sort());
  for (const { backend, workload, peer, figures } of samples) {
    const what = `${backend} ${workload} ${peer}`;
    if (workload === "pair") expect(figures.handOffRate, what).toBeNull();
    // Each owner in a queue gets the lock once.
    if (workload === "queue-200") expect(figures.handOffRate, what).toBe(figures.rate);
  }
  // A pair needs at least as many requests as the shortest exchange with the server.
  for (const { backend, workload, peer, figures } of samples) {
    if (workload !== "pair" || peer !== "shortest") continue;
    expect(figures.requests, backend).toBeGreaterThanOrEqual(backend === "redis" ? 2 : 3);
    expect(figures.rate, backend).toBeGreaterThan(0);
  }
});

test("bench peers that is interrupted prints what is there and exits with 130", async () => {
  const shortest = ["--backend", "redis", "--peers", "shortest", "--workloads", "pair"];
  const args = ["peers", "--quick", "--rounds", "100", ...shortest];
  const program = Program.start(command, root, args);
  await expect.poll(() => program.errors).toContain("round 1 of 100, shortest");
  program.child.kill("SIGINT");
  const { code } = await program.end(20_000);
  expect(code, program.errors).toBe(130);
  expect(program.output).toMatch(/^\| shortest +\|/m);
});
