import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "@holdfast/test-servers";
import { expect, it } from "vitest";
import { drawn } from "../support/share.js";
import { alive, descendants, type Seen } from "./processes.js";
import { ChaosRun } from "./run-cli.js";

/** Collects all processes that descend from a run, while the run goes on. */
class Family {
  readonly seen = new Map<string, Seen>();
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.look(), 50);
  }

  look(): Seen[] {
    const now = descendants(this.#pid);
    for (const each of now) this.seen.set(`${each.pid} ${each.began}`, each);
    return now;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

const named = (processes: readonly Seen[], command: string): Seen[] =>
  processes.filter((each) => each.command === command);

/** Servers and workers are running, and one of the workers is stopped. */
const inTheMiddle = (now: readonly Seen[]): boolean =>
  named(now, "java").length >= 1 && named(now, "node").length >= 6 && now.some(({ state }) => state === "T");

/** The process of the first server exists, and the server is still starting. */
const whileStarting = (now: readonly Seen[]): boolean => named(now, "java").length >= 1;

const cases = [
  { signal: "SIGINT", to: "run", when: "a worker stands still", ready: inTheMiddle, code: 130 },
  { signal: "SIGTERM", to: "run", when: "a worker stands still", ready: inTheMiddle, code: 143 },
  { signal: "SIGTERM", to: "run", when: "its servers start", ready: whileStarting, code: 143 },
  { signal: "SIGKILL", to: "run", when: "a worker stands still", ready: inTheMiddle, code: null },
  // A shell ends a job in this way, and so do many CI systems.
  { signal: "SIGKILL", to: "group", when: "a worker stands still", ready: inTheMiddle, code: null },
] as const;

it.each(
  drawn("ways to end a run", cases, 2, ({ signal, to, when }) => `${signal} to the ${to} while ${when}`),
)(
  "a $to that gets $signal while $when leaves no process and no temporary folder behind",
  { timeout: 240_000 },
  async ({ signal, to, ready, code }) => {
    const group = to === "group";
    await using run = new ChaosRun((out) => ["run", "Z03f", "--seed", "1", "--out", out], {
      ownGroup: group,
    });
    const family = new Family(run.pid);
    try {
      await eventually(() => ready(family.look()), {
        what: "the run to be there",
        withinMs: 150_000,
        everyMs: 20,
        detail: () => run.output,
      });
      process.kill(group ? -run.pid : run.pid, signal);
      const end = await run.exited;
      family.stop();
      expect(code === null ? end.signal : end.code).toBe(code ?? signal);
      expect(family.seen.size).toBeGreaterThan(1);
      await eventually(() => alive(family.seen.values()).length === 0, {
        what: "every process of the run to be gone",
        withinMs: 30_000,
        detail: () => JSON.stringify(alive(family.seen.values())),
      });
      await eventually(() => run.left().length === 0, {
        what: "nothing to be left in the temporary folder",
        withinMs: 30_000,
        detail: () => run.left().join(", "),
      });
    } finally {
      family.stop();
    }
  },
);

const scenarios = fileURLToPath(new URL("support/two-scenarios.mjs", import.meta.url));

const ends = [
  { signal: "SIGINT", code: 130 },
  { signal: "SIGTERM", code: 143 },
  { signal: "SIGKILL", code: null },
] as const;

it.concurrent.each(drawn("signals in the second scenario", ends, 1, ({ signal }) => signal))(
  "a run that gets $signal in its second scenario has the reports of the first, and leaves nothing running",
  async ({ signal, code }) => {
    await using run = new ChaosRun((out) => ["run", scenarios, "--seed", "1", "--out", out]);
    const family = new Family(run.pid);
    try {
      await eventually(() => named(family.look(), "node").length >= 2, {
        what: "the workers of the second scenario to be there",
        withinMs: 60_000,
        everyMs: 20,
        detail: () => run.output,
      });
      process.kill(run.pid, signal);
      const end = await run.exited;
      family.stop();
      expect(code === null ? end.signal : end.code).toBe(code ?? signal);
      const { outcomes } = JSON.parse(readFileSync(join(run.out, "results.json"), "utf8"));
      expect(outcomes).toMatchObject([
        { scenario: { id: "quick" }, outcome: "as-expected" },
        { scenario: { id: "long" }, outcome: "unknown", why: "not finished: the run was ended before" },
      ]);
      expect(readFileSync(join(run.out, "junit.xml"), "utf8")).toContain(
        '<error type="unknown" message="not finished',
      );
      expect(readFileSync(join(run.out, "summary.md"), "utf8")).toContain("| quick |");
      await eventually(() => alive(family.seen.values()).length === 0 && run.left().length === 0, {
        what: "every process and folder of the run to be gone",
        withinMs: 30_000,
        detail: () => JSON.stringify([alive(family.seen.values()), run.left()]),
      });
    } finally {
      family.stop();
    }
  },
);

it("a reader that has had enough of what it says costs no crash, and not its exit code", async () => {
  await using run = new ChaosRun(() => ["list"]);
  run.child.stdout?.destroy();
  const { code } = await run.exited;
  expect({ code, output: run.output }).toEqual({ code: 0, output: "" });
});
