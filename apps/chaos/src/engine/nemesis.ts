import { setMaxListeners } from "node:events";
import { pass } from "../workload/pass.js";
import type { Crew } from "./crew.js";
import type { FaultKind, OngoingFault } from "./faults/fault.js";
import { Random } from "./random.js";
import type { Recorder } from "./recorder.js";
import type { Lane, PlannedFault } from "./scenario.js";
import type { Tally } from "./tally.js";
import type { ServerSet } from "./topologies/server-set.js";
import { parseTrigger } from "./trigger.js";

export interface NemesisOptions {
  readonly plan: readonly PlannedFault[];
  readonly faults: Readonly<Record<string, FaultKind>>;
  readonly set: ServerSet;
  readonly crew: Crew;
  readonly recorder: Recorder;
  readonly tally: Tally;
  readonly seed: number;
  readonly scenario: string;
  /** The keys that must be granted anew between faults of the servers. */
  readonly keys?: readonly string[];
  /** How long such a new grant may take. Default 30 s. */
  readonly settleMs?: number;
}

interface Open {
  readonly planned: PlannedFault;
  readonly fault: OngoingFault;
}

/**
 * Runs a plan. It waits for the moment of each fault, begins it, takes it back, and records both with the evidence that
 * it happened.
 */
export class Nemesis {
  readonly #options: NemesisOptions;
  readonly #over = new AbortController();
  readonly #open = new Set<Open>();
  /** The faults of the plan that did not happen, each with the reason. */
  readonly failures: string[] = [];

  constructor(options: NemesisOptions) {
    this.#options = options;
    // Every fault of a plan listens to this signal.
    setMaxListeners(0, this.#over.signal);
  }

  /** Begins with the workload. Resolves when every fault was done and, if it has an end, taken back. Never rejects. */
  async run(): Promise<void> {
    const beganMs = performance.now();
    const last = new Map<Lane, Promise<void>>();
    await Promise.all(
      this.#options.plan.map((planned, at) => {
        const lanes = planned.lanes ?? [];
        const before = lanes.map(async (lane) => {
          const previous = last.get(lane);
          await previous;
          if (lane === "servers" && previous !== undefined) await this.#settled();
        });
        const done = this.#one(planned, at, before, beganMs);
        for (const lane of lanes) last.set(lane, done);
        return done;
      }),
    );
  }

  /** Cancels all faults that still wait for their moment or for their effect. */
  giveUp(): void {
    this.#over.abort(new Error("the run was over before it had happened"));
  }

  /** Takes back all faults that are on. */
  async heal(): Promise<void> {
    this.giveUp();
    await Promise.all([...this.#open].map((open) => this.#end(open)));
  }

  async #one(
    planned: PlannedFault,
    at: number,
    before: readonly Promise<void>[],
    beganMs: number,
  ): Promise<void> {
    const { signal } = this.#over;
    try {
      await Promise.all(before);
      // A fault with a lane has its time from the beginning of the run. If other faults took longer, it does not wait
      // for that time again.
      const pastMs = planned.lanes === undefined ? 0 : performance.now() - beganMs;
      if (!(await this.#moment({ ...planned, atMs: planned.atMs - pastMs }))) {
        this.failures.push(
          `${planned.fault} ${planned.target ?? ""}: ${planned.after ?? "its time"} did not come`,
        );
        return;
      }
      const open = await this.#begin(planned, at);
      if (open === null) return;
      if (planned.forMs === undefined) return;
      await pass(planned.forMs, signal);
      const early = signal.aborted;
      await this.#end(open);
      if (early) throw new Error(`it was taken back before its ${planned.forMs} ms were over`);
    } catch (error) {
      this.failures.push(`${planned.fault} ${planned.target ?? ""}: ${(error as Error).message}`);
    }
  }

  async #moment({ after, atMs }: PlannedFault): Promise<boolean> {
    const { tally } = this.#options;
    const { signal } = this.#over;
    if (after !== undefined) {
      const trigger = parseTrigger(after);
      if (!(await tally.until(() => trigger.met(tally), { signal }))) return false;
    }
    await pass(Math.max(0, atMs), signal);
    return !signal.aborted;
  }

  /** Waits until every key was granted again: then a worker that waited through a fault of the servers is served. */
  async #settled(): Promise<void> {
    const { tally, keys = [], settleMs = 30_000 } = this.#options;
    const { signal } = this.#over;
    const before = keys.map((key) => tally.of(key).grants);
    const waits = (): string[] => keys.filter((key, at) => tally.of(key).grants === before[at]);
    if (await tally.until(() => waits().length === 0, { signal, withinMs: settleMs })) return;
    if (signal.aborted) return;
    throw new Error(`${waits().join(", ")} was not granted within ${settleMs} ms after the fault before it`);
  }

  async #begin(planned: PlannedFault, at: number): Promise<Open | null> {
    const { faults, set, crew, recorder, tally, seed, scenario } = this.#options;
    const kind = faults[planned.fault];
    if (kind === undefined) throw new Error("nobody knows it");
    const record = (phase: "begin" | "end", target: string, evidence?: unknown): void => {
      recorder.record({
        type: "fault",
        p: "nemesis",
        f: planned.fault,
        phase,
        target,
        ...(evidence === undefined ? {} : { evidence }),
      });
    };
    const begun = new Map<string, (() => Promise<unknown>) | undefined>();
    let fault: OngoingFault;
    try {
      fault = await kind.begin({
        planned,
        set,
        crew,
        tally,
        random: new Random(
          seed,
          `${scenario}/fault ${planned.number === undefined ? at : planned.number - 1}`,
        ),
        signal: this.#over.signal,
        begins: (target, undo) => {
          begun.set(target, undo);
          record("begin", target);
        },
        missed: (target, evidence) => {
          begun.delete(target);
          record("end", target, { ...Object(evidence), hit: false });
        },
      });
    } catch (error) {
      for (const [target, undo] of begun) {
        await this.#takeBack(planned, undo);
        record("end", target);
      }
      throw error;
    }
    const { evidence, target } = fault;
    if (fault.heal === undefined) {
      record("end", target, evidence);
      return null;
    }
    const heal = fault.heal.bind(fault);
    const open: Open = {
      planned,
      fault: {
        target,
        evidence,
        heal: async () => {
          const more = await heal();
          const both =
            typeof more === "object" && more !== null ? { ...Object(evidence), ...more } : evidence;
          record("end", target, both);
          return both;
        },
      },
    };
    this.#open.add(open);
    return open;
  }

  async #end(open: Open): Promise<void> {
    if (this.#open.delete(open)) await this.#takeBack(open.planned, open.fault.heal);
  }

  async #takeBack({ fault }: PlannedFault, undo: (() => Promise<unknown>) | undefined): Promise<void> {
    try {
      await undo?.();
    } catch (error) {
      this.failures.push(`${fault} could not be taken back: ${(error as Error).message}`);
    }
  }
}
