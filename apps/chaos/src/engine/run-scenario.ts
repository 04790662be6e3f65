import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { defaultHandoverLimitMs } from "../checkers/handover.js";
import { judge } from "../checkers/judge.js";
import type { CheckResult } from "../checkers/verdict.js";
import { readHistory } from "../history/read.js";
import type { MetaRecord } from "../history/record.js";
import { pass } from "../workload/pass.js";
import type { WorkerKey } from "../workload/protocol.js";
import type { Capability } from "./capability.js";
import { RunClock } from "./clock.js";
import { Crew } from "./crew.js";
import { type Decision, decide } from "./decide.js";
import type { FaultKind } from "./faults/fault.js";
import { faults as ourFaults } from "./faults/registry.js";
import { Nemesis } from "./nemesis.js";
import { Observing } from "./observing.js";
import type { ScenarioOutcome } from "./outcome.js";
import { drawPlan, planFile, writePlan } from "./plan.js";
import { type ProgramsByRecipe, programOf } from "./programs.js";
import { Recorder } from "./recorder.js";
import { ProtectedResource } from "./resource.js";
import type { PlannedFault, Scenario } from "./scenario.js";
import { ServerDisorder } from "./server-disorder.js";
import { Tally } from "./tally.js";
import type { ServerSet } from "./topologies/server-set.js";

/** The phase of a scenario, for the console. */
export type Phase = "servers" | "workers" | "running" | "healing" | "stopping" | "judging";

export interface Progress {
  readonly phase: Phase;
  readonly elapsedMs: number;
  readonly grants: number;
  readonly faults: number;
}

/** The options of `runScenario()`. */
export interface RunScenarioOptions {
  /** The seed from which plan and workload are drawn. */
  readonly seed: number;
  /** An empty folder for this run: history.jsonl, plan.json and logs are written there. */
  readonly folder: string;
  /** Running servers of the scenario's topology. */
  readonly set: ServerSet;
  /** Replaces the plan that is drawn from the seed. */
  readonly plan?: readonly PlannedFault[];
  /** The capabilities of this machine, for the history and the report. Default none. */
  readonly capabilities?: readonly Capability[];
  /** The kinds of fault by name. Default: those of this package. */
  readonly faults?: Readonly<Record<string, FaultKind>>;
  /** Worker programs by the name of a recipe, in place of those of this package. */
  readonly programs?: ProgramsByRecipe;
  /** When it aborts, everything is taken down, and the promise rejects with the reason. */
  readonly signal?: AbortSignal;
  /** Called now and then while the scenario runs. */
  onProgress?(progress: Progress): void;
}

/** How much longer than planned a workload may run until all faults are done: at least this, or as long again as planned. */
const leastGraceMs = 30_000;
/** How long a run that is given up waits until the faults that are on are taken back. */
const takenBackWithinMs = 30_000;

let scenarios = 0;

/**
 * Runs one scenario on running servers, from the first worker to the verdict. Rejects only if the runner itself fails
 * or is aborted. Nothing of the scenario is running then.
 */
export async function runScenario(scenario: Scenario, options: RunScenarioOptions): Promise<ScenarioOutcome> {
  const startedMs = performance.now();
  const { seed, folder, set, signal } = options;
  const logFolder = join(folder, "logs");
  mkdirSync(logFolder, { recursive: true });
  const plan = options.plan ?? drawPlan(scenario, seed);
  writePlan(join(folder, "plan.json"), planFile(scenario, seed, plan));
  const run = `${process.pid}-${++scenarios}`;
  const history = join(folder, "history.jsonl");
  const recorder = new Recorder(history, new RunClock());
  const disorder = new ServerDisorder(set);
  const stage = new Stage(scenario, options, plan, recorder, run, startedMs);
  try {
    const failures = await stage.play(logFolder);
    await recorder.close();
    signal?.throwIfAborted();
    stage.phase("judging");
    const judged = await readHistory(history);
    const results = judge(judged, judged.meta.check);
    const decision = decide(
      // Too little evidence makes every verdict `unknown`, whatever is expected.
      { ...scenario.expect, pass: ["stats", ...scenario.expect.pass] },
      results,
      failures,
      disorder.seen(),
    );
    const stats = results.find(({ checker }) => checker === "stats")?.metrics ?? {};
    return {
      scenario: aboutOf(scenario),
      ...(scenario.subject === undefined ? decision : asJudged(decision, results)),
      seed,
      tookMs: Math.round(performance.now() - startedMs),
      missing: [],
      plan,
      results,
      metrics: stats,
      versions: set.versions,
      capabilities: options.capabilities ?? [],
      folder,
    };
  } finally {
    await recorder.close();
    for (const { name, path } of set.logs()) {
      if (existsSync(path)) copyFileSync(path, join(logFolder, `${name}.log`));
    }
  }
}

/** The decision for a client of which nothing is expected: the convictions that were found decide. */
function asJudged(decision: Decision, results: readonly CheckResult[]): Decision {
  if (decision.outcome !== "as-expected") return decision;
  const convicted = results.filter(({ verdict }) => verdict === "violation").map(({ checker }) => checker);
  return {
    ...decision,
    why: convicted.length === 0 ? "no checker convicted it" : `convicted by ${convicted.join(", ")}`,
  };
}

export const aboutOf = ({
  id,
  title,
  tags,
  topology,
  expect,
  faults,
  mode,
  subject,
}: Scenario): ScenarioOutcome["scenario"] => ({
  id,
  title,
  tags,
  topology,
  expect,
  faults,
  mode,
  ...(subject === undefined ? {} : { subject }),
});

class Stage {
  readonly #scenario: Scenario;
  readonly #options: RunScenarioOptions;
  readonly #plan: readonly PlannedFault[];
  readonly #recorder: Recorder;
  readonly #keys: readonly WorkerKey[];
  readonly #run: string;
  readonly #startedMs: number;
  readonly #tally = new Tally();
  /** Aborts when everything is taken down, for whatever reason. Nothing of the play goes on after that. */
  readonly #over = new AbortController();
  /** Resolves when no fault of the plan will do anything more. */
  #faults: Promise<void> = Promise.resolve();
  #phase: Phase = "workers";

  constructor(
    scenario: Scenario,
    options: RunScenarioOptions,
    plan: readonly PlannedFault[],
    recorder: Recorder,
    run: string,
    startedMs: number,
  ) {
    this.#scenario = scenario;
    this.#options = options;
    this.#plan = plan;
    this.#recorder = recorder;
    this.#run = run;
    this.#startedMs = startedMs;
    // The names are unique, so that scenarios on the same servers do not meet.
    this.#keys = Object.entries(scenario.keys).map(([id, spec]) => ({
      ...spec,
      id,
      name: `chaos-${run}-${scenario.id}-${id}`,
    }));
  }

  /** Does everything that makes records. Returns what of the plan did not happen. */
  async play(logFolder: string): Promise<readonly string[]> {
    const { set, seed, signal } = this.#options;
    const recorder = this.#recorder;
    recorder.listen((record) => this.#tally.see(record));
    this.#meta();
    const resource = await ProtectedResource.open(recorder);
    let crew: Crew | null = null;
    let observer: Awaited<ReturnType<ServerSet["observer"]>> | null = null;
    let observing: Observing | null = null;
    const aborted = abortOf(signal);
    const ticking = setInterval(() => this.phase(this.#phase), 500);
    try {
      observer = await set.observer();
      observing = new Observing(observer, recorder);
      this.phase("workers");
      crew = await Crew.gather({
        groups: this.#scenario.groups,
        keys: this.#keys,
        set,
        recorder,
        seed,
        resource: resource.address,
        logFolder,
        aborted: aborted.promise,
        programOf: (recipe) => programOf(recipe, this.#options.programs),
      });
      return await Promise.race([this.#perform(crew, observing), crew.broken, aborted.promise]);
    } finally {
      this.#over.abort(new Error("the scenario is over"));
      aborted.forget();
      clearInterval(ticking);
      // Faults that are on are taken back now. They need workers and servers that are still there.
      await withinLimit(this.#faults, takenBackWithinMs);
      await crew?.close();
      await observing?.stop();
      await observer?.close();
      await resource.close();
    }
  }

  async #perform(crew: Crew, observing: Observing): Promise<readonly string[]> {
    const { runMs } = this.#scenario;
    const nemesis = new Nemesis({
      plan: this.#plan,
      faults: this.#options.faults ?? ourFaults,
      set: this.#options.set,
      crew,
      recorder: this.#recorder,
      tally: this.#tally,
      seed: this.#options.seed,
      scenario: this.#scenario.id,
      keys: this.#keys.filter(({ kind }) => kind !== "latch").map(({ id }) => id),
    });
    this.phase("running");
    observing.watch(this.#keys.filter(({ fair, kind }) => fair === true || kind === "fair"));
    crew.start();
    const over = this.#over.signal;
    this.#faults = nemesis.run();
    over.addEventListener("abort", () => nemesis.giveUp(), { once: true });
    await pass(runMs, over);
    await withinLimit(this.#faults, Math.max(leastGraceMs, runMs));
    over.throwIfAborted();
    this.phase("healing");
    await nemesis.heal();
    await this.#faults;
    await this.#liveness();
    this.phase("stopping");
    const { killed } = await crew.stop(this.#patienceMs, () => this.#tally.changedMs);
    await observing.stop();
    await observing.scan(this.#keys, this.#goneWithinMs);
    return [
      ...nemesis.failures,
      ...killed.map((p) => `${p} did not end by itself after stop, and was killed`),
    ];
  }

  /**
   * Waits until each key was granted often enough, and to enough clients after the last fault, or until the limit is
   * over. The checkers judge the result.
   */
  async #liveness(): Promise<void> {
    const { check } = this.#scenario;
    const { signal } = this.#over;
    const keys = this.#keys.filter(({ kind }) => kind !== "latch");
    const enough = (): boolean =>
      keys.every(({ id }) => this.#tally.of(id).grants >= (check?.minGrants ?? 20));
    if (this.#plan.length > 0) {
      this.#tally.forgetClients();
      const clients = check?.healClients ?? 2;
      const healed = (): boolean => keys.every(({ id }) => this.#tally.of(id).grantedTo.size >= clients);
      await this.#tally.until(healed, { signal, withinMs: this.#healLimitMs + 1_000 });
    }
    await this.#tally.until(enough, { signal, withinMs: 15_000 });
    signal.throwIfAborted();
  }

  get #healLimitMs(): number {
    return this.#scenario.check?.healLimitMs ?? 10_000;
  }

  /** The time for which a checker lets a lock be free beside a waiter. A wait that is ended sooner proves nothing. */
  get #patienceMs(): number {
    const { handoverLimitMs } = this.#scenario.check ?? {};
    const limits = this.#keys
      .filter(({ kind }) => kind !== "latch")
      .map(({ leaseMs }) => handoverLimitMs ?? defaultHandoverLimitMs(leaseMs));
    return Math.max(this.#healLimitMs, ...limits.map((limitMs) => limitMs + 1_000));
  }

  /** By this time the sessions and leases of dead workers are over, even if a busy server is late. */
  get #goneWithinMs(): number {
    return Math.max(0, ...this.#keys.map(({ leaseMs }) => leaseMs)) * 2 + 5_000;
  }

  phase(phase: Phase): void {
    this.#phase = phase;
    this.#options.onProgress?.({
      phase,
      elapsedMs: performance.now() - this.#startedMs,
      grants: this.#tally.grants,
      faults: this.#tally.faults,
    });
  }

  #meta(): void {
    const { set, seed, capabilities } = this.#options;
    const { topology } = this.#scenario;
    const keys: Record<string, MetaRecord["keys"][string]> = {};
    for (const { id, name: _, ...about } of this.#keys) keys[id] = about;
    this.#recorder.arrived({
      t: 0,
      type: "meta",
      v: 1,
      run: this.#run,
      seed,
      scenario: this.#scenario.id,
      check: {
        planned: [...new Set(this.#plan.map(({ fault }) => fault))],
        ...(this.#scenario.expect.pass.includes("lost-notice") && { tellsLoss: true }),
        ...this.#scenario.check,
      },
      keys,
      ...(topology.kind === "zookeeper" && { members: topology.members }),
      versions: set.versions,
      capabilities: capabilities ?? [],
    });
  }
}

async function withinLimit(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}

/** Rejects when the signal aborts. `forget` removes the listener. */
function abortOf(signal: AbortSignal | undefined): { readonly promise: Promise<never>; forget(): void } {
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<never>((_, no) => {
    reject = no;
  });
  promise.catch(() => {}); // the code that races with it gets the error
  const heard = (): void => reject(signal?.reason);
  if (signal?.aborted === true) heard();
  signal?.addEventListener("abort", heard, { once: true });
  return { promise, forget: () => signal?.removeEventListener("abort", heard) };
}
