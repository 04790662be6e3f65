import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { eventually } from "@holdfast/test-servers";
import { expect, it } from "vitest";
import { ChaosRun } from "./run-cli.js";

const at = (name: string): string => fileURLToPath(new URL(`support/service/${name}`, import.meta.url));

/** A pause beyond the lease of the instance that holds. */
const paused = (env: readonly string[]) => (out: string) => [
  "run",
  "pause",
  "--service",
  `${process.execPath} ${at("stock-service.mjs")}`,
  "--key",
  "stock",
  "--lease-ms",
  "800",
  "--instances",
  "2",
  "--times",
  "1",
  ...["REDIS_URL=redis://{redis}", "PORT={port}", ...env].flatMap((each) => ["--env", each]),
  "--ready",
  "http://127.0.0.1:{port}/healthz",
  "--load",
  at("stock-load.mjs"),
  "--seed",
  "1",
  "--out",
  out,
];

it("a service that ignores that its lock is lost is convicted by what it wrote, when the instance that holds stands still", async () => {
  await using run = new ChaosRun(paused([]));
  const { code } = await run.exited;
  expect(code, run.output).toBe(1);
  expect(run.output).toMatch(/VIOLATION +pause /);
  expect(run.output).toMatch(/convicted: .*effect.*lost-update/);
});

it("a service that hands its token on is not convicted: its late write is refused", async () => {
  await using run = new ChaosRun(paused(["TOKENS=1"]));
  const { code } = await run.exited;
  expect(code, run.output).toBe(0);
  expect(run.output).toMatch(/held: .*effect.*lost-update/);
});

/** Processes whose command line has the service in it. */
const instances = (): string[] =>
  readdirSync("/proc").filter((name) => {
    try {
      if (!/^\d+$/.test(name)) return false;
      // A word of its own: the run and a shell have it inside of one.
      const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      return words.includes(at("stock-service.mjs"));
    } catch {
      return false; // it has ended meanwhile
    }
  });

it("a run that is killed while its service works leaves none of it running", async () => {
  await using run = new ChaosRun(paused([]));
  await eventually(() => instances().length >= 2 && run.output.includes("pause begins"), {
    what: "the service to be there",
    withinMs: 60_000,
    detail: () => run.output,
  });
  process.kill(run.pid, "SIGKILL");
  await run.exited;
  await eventually(() => instances().length === 0, { what: "every process of the service to be gone" });
});

it("a service that is started by another program is a sentence, because faults would hit the wrong process, and none of it is left", async () => {
  await using run = new ChaosRun((out) =>
    paused([])(out).map((each) => (each.includes("stock-service") ? `sh -c '${each}; true'` : each)),
  );
  const { code } = await run.exited;
  expect(code, run.output).toBe(255);
  expect(run.output).toContain(
    "give the command that is the service itself (node server.js, and not npm start)",
  );
  await eventually(() => instances().length === 0, { what: "every process of the service to be gone" });
});
