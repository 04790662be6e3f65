import { rmSync } from "node:fs";
import { join } from "node:path";
import {
  readHistory,
  runScenario,
  type Scenario,
  type ScenarioOutcome,
  type ServerSet,
} from "@holdfast/chaos";
import { judgedWith, writeTimeline } from "@holdfast/chaos/internal";
import { codeOf } from "./code.js";
import { digestOf, type Fault, leaseMs, type Trial } from "./faults.js";
import type { Result } from "./results.js";
import type { Subject } from "./subjects.js";
import { chargesOf } from "./verdict.js";

export interface CellOptions {
  readonly seed: number;
  readonly version: string;
  readonly set: ServerSet;
  /** The folder of this cell and seed. After a conviction the evidence is kept there. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** Runs one subject under one fault once. Rejects if the runner fails or is aborted. */
export async function runCell(
  subject: Subject,
  fault: Fault,
  trial: Trial,
  options: CellOptions,
): Promise<Result> {
  const { seed, folder, set, signal, version } = options;
  const scenario = scenarioOf(subject, fault, trial);
  const outcome = await runScenario(scenario, {
    seed,
    folder,
    set,
    signal,
    ...(subject.program && { programs: { [subject.recipe]: subject.program } }),
  });
  const history = join(folder, "history.jsonl");
  const found = chargesOf(outcome, fault);
  const waits = trial.noWrites === true ? await waitsOf(history) : {};
  const convicted = found.length > 0;
  if (convicted) await writeTimeline(history, join(folder, "timeline.html"), outcome);
  else rmSync(folder, { recursive: true, force: true });
  return {
    subject: subject.id,
    version,
    fault: fault.id,
    trial: digestOf(fault, trial, subject),
    code: codeOf(subject),
    seed,
    verdict: convicted ? "convicted" : outcome.outcome === "unknown" ? "unknown" : "kept",
    charges: found,
    why: !convicted && outcome.outcome === "unknown" ? outcome.why : "",
    servers: set.versions,
    figures: { ...figuresOf(outcome), ...waits },
    tookMs: outcome.tookMs,
  };
}

/** The fault as a scenario of the chaos runner, with the subject as its client. */
export function scenarioOf(subject: Subject, fault: Fault, trial: Trial): Scenario {
  const { topology } = trial;
  const replicated = topology.kind === "replicated" ? subject.replicatedOptions : undefined;
  const options = { ...subject.options, ...replicated };
  const backend = topology.kind === "zookeeper" ? "zookeeper" : topology.kind === "other" ? "other" : "redis";
  const scenario: Scenario = {
    id: `${subject.id}-${fault.id}`,
    title: `${subject.name}: ${fault.words}`,
    tags: [],
    topology,
    keys: {
      k1: { kind: "mutex", backend, fair: true, fenced: true, leaseMs: trial.leaseMs ?? leaseMs },
    },
    groups: trial.groups.map((group) => ({
      ...group,
      recipe: subject.recipe,
      keys: ["k1"],
      options: { ...options, ...group.options },
      ...(trial.noWrites === true ? {} : { writes: "fenced" as const }),
    })),
    runMs: trial.runMs,
    plan: () => trial.plan,
    expect: { pass: [] },
    ...(trial.check && { check: trial.check }),
    faults: [fault.words],
    mode: subject.name,
  };
  const judged = judgedWith(scenario, subject.name, subject.provides);
  if (judged.subject?.cannot !== undefined) throw new Error(judged.subject.cannot);
  return { ...judged, groups: judged.groups.map((group) => ({ ...group, recipe: subject.recipe })) };
}

function figuresOf({ results }: ScenarioOutcome): Record<string, number> {
  const of = (checker: string, metric: string) =>
    results.find((each) => each.checker === checker)?.metrics[metric];
  const figures = {
    handOffP99Ms: of("handover", "p99Ms"),
    grants: of("stats", "grants"),
    lost: of("lost-notice", "lost"),
    marginMs: of("lost-notice", "smallestMarginMs"),
    rejected: of("fence-effect", "rejected"),
  };
  return Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== undefined)) as Record<
    string,
    number
  >;
}

/** How long granted acquires took: the 99th percentile in milliseconds. */
async function waitsOf(file: string): Promise<Record<string, number>> {
  const history = await readHistory(file);
  const waits = [...history.keys.values()].flatMap(({ operations }) =>
    operations
      .filter(({ f, outcome }) => f === "acquire" && outcome === "ok")
      .map(({ invokedAt, endedAt }) => (endedAt - invokedAt) / 1e6),
  );
  waits.sort((a, b) => a - b);
  return { waitP99Ms: Math.round(waits[Math.floor((waits.length - 1) * 0.99)] ?? 0) };
}
