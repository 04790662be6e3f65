import { describe, expect, it } from "vitest";
import { judge } from "../../src/checkers/judge.js";
import { historyOf } from "../../src/history/read.js";
import { ConsoleReporter, consoleLine } from "../../src/report/console.js";
import { convictionLines } from "../../src/report/conviction.js";
import { Script } from "../support.js";
import { everyKind, outcome } from "./outcomes.js";

function reporter(isTTY: boolean): { reporter: ConsoleReporter; text: () => string } {
  let text = "";
  const out = { isTTY, columns: 60, write: (more: string) => (text += more) };
  return { reporter: new ConsoleReporter(out), text: () => text };
}

/** Two workers hold k at once while a fault is on. Another fault comes long after. */
function convicted() {
  const script = new Script({ k: {} });
  const first = script.grant("a#0", "k", 9, 10, { token: 1 });
  script.fault("zk.pause", 12, 40);
  const second = script.grant("b#0", "k", 14, 15, { token: 2 });
  script.release("a#0", "k", first, 20, 21);
  script.release("b#0", "k", second, 30, 31);
  script.fault("zk.kill", 1_000, 1_001);
  const history = historyOf(script.records);
  return { history, results: judge(history).filter(({ checker }) => checker === "mutex") };
}

describe("the line of a scenario", () => {
  it.each(everyKind().outcomes.map((each) => [each.scenario.id, each] as const))(
    "says in one line how %s came out, how long it took, and why",
    (id, each) => {
      const line = consoleLine(each);
      expect(line).not.toContain("\n");
      expect(line).toContain(id);
      expect(line).toContain("8.1 s");
      expect(line).toContain(each.outcome === "skipped" ? "missing here: namespaces" : each.why);
    },
  );
});

describe("a conviction", () => {
  it("shows the two holds with their times and the fault between them, and no other fault", () => {
    const { history, results } = convicted();
    const lines = convictionLines(outcome({ outcome: "violation", results, unexpected: ["mutex"] }), history);
    expect(lines).toEqual([
      "mutex: 1 x",
      expect.stringContaining("both for 5.000 ms"),
      "    a#0 a#0:1 token 1: 0.010000 s to 0.020000 s, ended by release",
      "    b#0 b#0:2 token 2: 0.015000 s to 0.030000 s, ended by release",
      "    fault zk.pause at s1: 0.012000 s, for 28.000 ms",
    ]);
  });

  it("names what was planned where there is no history", () => {
    const { results } = convicted();
    const plan = [{ fault: "worker.pause", target: "holder(k)", atMs: 20, after: "held(k)" }];
    expect(convictionLines(outcome({ results, plan })).at(-1)).toBe(
      "planned: worker.pause at holder(k), 20 ms after held(k)",
    );
  });
});

describe("the reporter", () => {
  it("says in a log which scenario begins, how many are left and for how long, and where it is every half minute", () => {
    let text = "";
    let atMs = 0;
    const scenarios = [
      { id: "Z01", runMs: 4_000 },
      { id: "Z02", runMs: 14_000 },
    ];
    const log = new ConsoleReporter(
      { isTTY: false, write: (more: string) => (text += more) },
      { scenarios, now: () => atMs },
    );
    log.phase("Z01", "servers", { elapsedMs: 0 });
    atMs = 29_999;
    log.phase("Z01", "running", { elapsedMs: 29_999, grants: 3 });
    atMs = 30_000;
    log.phase("Z01", "running", { elapsedMs: 30_000, grants: 3, faults: 1 });
    log.phase("Z01", "healing", { elapsedMs: 30_001, grants: 4, faults: 1 });
    const done = outcome({ tookMs: 40_000 });
    log.done(done);
    atMs = 40_000;
    log.phase("Z02", "servers", { elapsedMs: 0 });
    expect(text.split("\n")).toEqual([
      "Z01 begins: 1 of 2, 0 ms so far, about 30.0 s left",
      "Z01    running      30.0 s  3 grants  1 fault",
      consoleLine(done),
      // Z01 took four times its estimate.
      "Z02 begins: 2 of 2, 40.0 s so far, about 80.0 s left",
      "",
    ]);
  });

  it("rewrites one line on a terminal, never wider than it is", () => {
    const { reporter: tty, text } = reporter(true);
    tty.phase("Z01", "faults with a very long name indeed", { elapsedMs: 10, grants: 3, faults: 1 });
    tty.phase("Z01", "judge", { elapsedMs: 20 });
    tty.done(outcome());
    const [progress, ...lines] = text().split("\n");
    expect((progress ?? "").split("\r\u001b[2K")[1]?.length).toBe(59);
    expect(lines).toEqual([""]);
  });

  it("tells how to run an unexpected one again, and names at the end what this machine could not run", () => {
    const run = everyKind();
    const { reporter: plain, text } = reporter(false);
    for (const each of run.outcomes) plain.done(each);
    plain.end(run);
    expect(text()).toContain("again: holdfast-chaos run Z02 --seed 42");
    expect(text()).not.toContain("run Z01");
    plain.done(outcome({ outcome: "unknown" }), null, "holdfast-chaos run S02-zk --seed 1 --seconds 90");
    expect(text()).toContain("again: holdfast-chaos run S02-zk --seed 1 --seconds 90\n");
    expect(text()).toContain("not run here: Z08 (namespaces)");
    expect(text()).toContain(
      "7 scenarios in 12.3 s, seed 42: 2 as-expected, 1 violation, 1 not-demonstrated, 1 unknown, 1 skipped, 1 broken",
    );
  });
});
