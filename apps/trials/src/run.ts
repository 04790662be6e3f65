import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type ServerSet, startServers, type Topology } from "@holdfast/chaos";
import { topologyName } from "@holdfast/chaos/internal";
import { runCell } from "./cell.js";
import { codeOf } from "./code.js";
import { digestOf, type Fault, faults, type Trial } from "./faults.js";
import { Missing } from "./missing.js";
import type { Result, Results } from "./results.js";
import { startOther } from "./servers/other-set.js";
import { type Subject, subjects } from "./subjects.js";
import { nextSeed } from "./verdict.js";

export interface TrialsOptions {
  /** Ids; `null` for all. */
  readonly subjects: readonly string[] | null;
  readonly faults: readonly string[] | null;
  /** The first seed of each cell. */
  readonly seed: number;
  readonly out: string;
  readonly results: Results;
  readonly signal: AbortSignal;
  print(line: string): void;
}

interface Cell {
  readonly subject: Subject;
  readonly version: string;
  readonly fault: Fault;
  readonly trial: Trial;
}

/** Runs each cell that has no verdict yet. Returns why a subject cannot run on this machine, by subject. */
export async function runTrials(options: TrialsOptions): Promise<ReadonlyMap<string, string>> {
  const { results, print, signal } = options;
  const missing = new Map<string, string>();
  const cells: Cell[] = [];
  for (const subject of subjects.filter(({ id }) => options.subjects?.includes(id) ?? true)) {
    const version = versionOf(subject, missing);
    if (version === null) {
      print(`${subject.name} is missing: ${missing.get(subject.id)}`);
      continue;
    }
    for (const fault of faults.filter(({ id }) => options.faults?.includes(id) ?? true)) {
      const trial = fault.of(subject);
      if (typeof trial !== "string") cells.push({ subject, version, fault, trial });
    }
  }
  // Cells on the same servers run one after the other, whichever fault comes first.
  cells.sort((a, b) => serversOf(a).localeCompare(serversOf(b)));
  const stage = new Stage();
  try {
    for (const [at, cell] of cells.entries()) {
      const { subject, fault } = cell;
      const done = (): Result[] => results.of(aboutOf(cell));
      for (let next = nextSeed(done(), options.seed); next !== null; next = nextSeed(done(), options.seed)) {
        signal.throwIfAborted();
        const result = await one(cell, next, stage, options);
        results.add(result);
        const { charges, why, tookMs } = result;
        const seen = charges.map(({ charge, text }) => `${charge} (${text})`).join(", ");
        const says = [result.verdict, seen, why].filter((each) => each !== "").join(": ");
        print(
          `${at + 1}/${cells.length} ${subject.id} ${fault.id} seed ${next}, ${(tookMs / 1e3).toFixed(1)} s: ${says}`,
        );
      }
    }
  } finally {
    await stage.close();
  }
  return missing;
}

function versionOf(subject: Subject, missing: Map<string, string>): string | null {
  try {
    return subject.version();
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    missing.set(subject.id, error.message);
    return null;
  }
}

async function one(cell: Cell, seed: number, stage: Stage, options: TrialsOptions): Promise<Result> {
  const { subject, fault, trial, version } = cell;
  const folder = join(options.out, "runs", `${subject.id}-${fault.id}-${seed}`);
  // An interrupted run of the same cell and seed may have left files here.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const beganMs = performance.now();
  try {
    const set = await stage.servers(subject, trial.topology);
    return await runCell(subject, fault, trial, { seed, version, set, folder, signal: options.signal });
  } catch (error) {
    // It is not known what the failed run left behind at its servers, so the next cell gets new ones.
    await stage.close();
    options.signal.throwIfAborted();
    const why = (error instanceof Error ? error.message : String(error)).split("\n").slice(0, 3).join(" ");
    const tookMs = Math.round(performance.now() - beganMs);
    return { ...aboutOf(cell), seed, verdict: "unknown", charges: [], why, servers: {}, figures: {}, tookMs };
  }
}

const aboutOf = ({ subject, version, fault, trial }: Cell) => ({
  subject: subject.id,
  version,
  fault: fault.id,
  trial: digestOf(fault, trial, subject),
  code: codeOf(subject),
});

const serversOf = ({ trial }: Cell): string => topologyName(trial.topology);

/** The servers of one cell. They are kept for the next cell if it wants the same servers and these can be healed. */
export class Stage {
  readonly #start: (subject: Subject, topology: Topology) => Promise<ServerSet>;
  #set: ServerSet | null = null;

  constructor(start: (subject: Subject, topology: Topology) => Promise<ServerSet> = startFor) {
    this.#start = start;
  }

  async servers(subject: Subject, topology: Topology): Promise<ServerSet> {
    const old = this.#set;
    if (old !== null && topologyName(old.topology) === topologyName(topology)) {
      const healed = await old.heal().then(
        () => true,
        () => false,
      );
      if (healed) return old;
    }
    await this.close();
    this.#set = await this.#start(subject, topology);
    return this.#set;
  }

  /** Never rejects: servers that cannot be closed do not change what was judged, and the next cell gets new ones. */
  async close(): Promise<void> {
    const set = this.#set;
    this.#set = null;
    await set?.close().catch((error: unknown) => {
      process.emitWarning(`the servers ${topologyName(set.topology)} were not closed: ${String(error)}`, {
        type: "HoldfastWarning",
      });
    });
  }
}

const startFor = async ({ server }: Subject, topology: Topology): Promise<ServerSet> =>
  server === undefined ? await startServers(topology) : await startOther(server(), topology);
