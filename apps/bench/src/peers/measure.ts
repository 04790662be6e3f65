import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { MissingPeer, PeerProcess } from "./peer-process.js";
import type { Peer } from "./peers.js";
import type { Samples } from "./protocol.js";
import { orderOf, Progress, type Step } from "./schedule.js";
import { atDistance, type BenchServer, readMeter, startServer } from "./server.js";
import { type Figures, figuresOfIdling, figuresOfWork, type Measured, type Sample } from "./statistics.js";
import { durationText, numberText } from "./text.js";
import type { Backend, Workload } from "./workloads.js";

export interface PeersOptions {
  readonly steps: readonly Step[];
  readonly rounds: number;
  /** How long a loop runs unmeasured before one is measured, so that a JVM can compile. Milliseconds. */
  readonly warmUpMs: number;
  /** Ends the measurement. The result is what was measured so far. */
  readonly signal: AbortSignal;
  readonly onProgress: (what: string) => void;
}

/** Why there are no figures of a peer, in one workload or in all. */
export interface Absence {
  readonly backend: Backend;
  readonly peer: string;
  /** `null`: in all workloads. */
  readonly workload: string | null;
  readonly why: string;
}

export interface PeersResult {
  readonly samples: readonly Sample[];
  readonly absences: readonly Absence[];
  /** The versions of servers, libraries and languages, by their names. */
  readonly versions: Readonly<Record<string, string>>;
  /** Whether everything that was asked for was measured. */
  readonly complete: boolean;
}

/** The limit for connecting, and for draining a queue. */
const patienceMs = 180_000;

/**
 * Measures each workload in several rounds. In each round all peers run one after the other on one server, in another order
 * (`orderOf`).
 */
export async function measurePeers(options: PeersOptions): Promise<PeersResult> {
  const stage = new Stage(options);
  for (const backend of new Set(options.steps.map((step) => step.backend))) {
    if (options.signal.aborted) break;
    await stage.measure(backend);
  }
  return stage.result();
}

class Stage {
  readonly #options: PeersOptions;
  readonly #progress: Progress;
  readonly #samples: Sample[] = [];
  readonly #absences: Absence[] = [];
  readonly #versions: Record<string, string> = {};
  #lastName = 0;

  constructor(options: PeersOptions) {
    const { steps, rounds, warmUpMs, onProgress } = options;
    this.#options = options;
    this.#progress = new Progress(steps, rounds, warmUpMs);
    onProgress(`${this.#progress.left} measurements, ${durationText(this.#progress.leftMs)}`);
  }

  result(): PeersResult {
    const { signal } = this.#options;
    return {
      samples: this.#samples,
      absences: this.#absences,
      versions: this.#versions,
      complete: !signal.aborted,
    };
  }

  async measure(backend: Backend): Promise<void> {
    const { signal, onProgress } = this.#options;
    onProgress(`starting ${backend}`);
    const server = await startServer(backend);
    const steps = this.#options.steps.filter((step) => step.backend === backend);
    const runners = [...new Set(steps.flatMap(({ peers }) => peers))].map(
      (peer) => new Runner(peer, server, signal),
    );
    const end = async (): Promise<void> => {
      await Promise.all(runners.map((runner) => runner.end()));
    };
    signal.addEventListener("abort", end);
    try {
      this.#note(server.version);
      for (const { workload, peers } of steps) {
        await this.#rounds(
          workload,
          runners.filter(({ peer }) => peers.includes(peer)),
        );
      }
    } finally {
      signal.removeEventListener("abort", end);
      await end();
      await server.stop();
    }
  }

  async #rounds(workload: Workload, runners: readonly Runner[]): Promise<void> {
    let taking = runners;
    for (let round = 1; round <= this.#options.rounds; round++) {
      for (const runner of orderOf(round, taking)) {
        if (this.#options.signal.aborted) return;
        if (!(await this.#round(workload, round, runner))) taking = taking.filter((each) => each !== runner);
      }
    }
  }

  /** Returns false if this peer must not try again. */
  async #round(workload: Workload, round: number, runner: Runner): Promise<boolean> {
    const { rounds, warmUpMs, signal, onProgress } = this.#options;
    const { name: peer, backend } = runner.peer;
    const where = `${backend} ${workload.name}, round ${round} of ${rounds}, ${peer}`;
    try {
      const versions = await runner.ready();
      Object.assign(this.#versions, versions);
      this.#lastName += 1;
      const startedMs = performance.now();
      const figures = await runner.run(workload, `${workload.name}-${this.#lastName}`, warmUpMs);
      this.#samples.push({ workload: workload.name, backend, peer, round, figures });
      this.#progress.took(backend, workload.name, peer, performance.now() - startedMs);
      onProgress(`${where}: ${brief(figures)}; ${this.#progress}`);
      return true;
    } catch (error) {
      await runner.end();
      if (signal.aborted) return false;
      const missing = error instanceof MissingPeer;
      const why = (error as Error).message;
      const known = this.#absences.some((each) => each.peer === peer && each.why === why && missing);
      if (!known) this.#absences.push({ backend, peer, workload: missing ? null : workload.name, why });
      this.#progress.gaveUp(backend, workload.name, peer);
      onProgress(`${where}: ${why}`);
      return false;
    }
  }

  #note(version: string): void {
    const [name = "", number = ""] = version.split(" ");
    this.#versions[name] = number;
  }
}

function brief({ rate, handOffRate, p50Ms, requests, serverShare }: Figures): string {
  if (rate !== null) {
    const handOffs = handOffRate === null ? "" : `, ${Math.round(handOffRate)} hand-offs/s`;
    const p50 = Number.isFinite(p50Ms) ? `, p50 ${numberText((p50Ms as number) * 1_000)} µs` : "";
    return `${Math.round(rate)}/s${handOffs}${p50}`;
  }
  return `${Math.round(requests ?? 0)} requests/s, ${((serverShare ?? 0) * 100).toFixed(1)} % of a core`;
}

/** One peer on one server. Its process lives through all workloads, so that it stays warm, unless it fails. */
class Runner {
  readonly peer: Peer;
  readonly #server: BenchServer;
  readonly #signal: AbortSignal;
  #process: PeerProcess | undefined;
  #scratch: string | undefined;
  #missing: MissingPeer | undefined;

  constructor(peer: Peer, server: BenchServer, signal: AbortSignal) {
    this.peer = peer;
    this.#server = server;
    this.#signal = signal;
  }

  /** Starts the process if there is none. Returns its versions. @throws MissingPeer */
  async ready(): Promise<Readonly<Record<string, string>>> {
    if (this.#missing !== undefined) throw this.#missing;
    if (this.#process === undefined) {
      try {
        this.#scratch = await mkdtemp(join(tmpdir(), "holdfast-bench-"));
        this.#process = await PeerProcess.start(await this.peer.command(this.#scratch));
      } catch (error) {
        if (error instanceof MissingPeer) this.#missing = error;
        throw error;
      }
    }
    return this.#process.versions;
  }

  async run(workload: Workload, name: string, warmUpMs: number): Promise<Figures> {
    const process = this.#process;
    if (process === undefined) throw new Error(`${this.peer.name} is not running`);
    return atDistance(this.#server, workload.roundTripMs, async (server) => {
      await process.ask({ do: "connect", server, clients: workload.clients }, patienceMs);
      const figures = await this.#measure(process, workload, name, warmUpMs);
      await process.ask({ do: "close" }, patienceMs);
      return figures;
    });
  }

  async end(): Promise<void> {
    await this.#process?.kill();
    this.#process = undefined;
    if (this.#scratch !== undefined) await rm(this.#scratch, { recursive: true, force: true });
    this.#scratch = undefined;
  }

  async #measure(process: PeerProcess, workload: Workload, name: string, warmUpMs: number): Promise<Figures> {
    const { kind, owners, locks, forMs } = workload;
    if (kind === "loop") {
      const loop = (loopMs: number): Promise<Samples> =>
        process.ask({ do: "loop", name, owners, locks, forMs: loopMs }, loopMs + patienceMs);
      await loop(warmUpMs);
      return figuresOfWork([await this.#metered(process, () => loop(forMs))], forMs);
    }
    const drain = (): Promise<Samples> => process.ask({ do: "drain" }, patienceMs);
    if (kind === "idle") {
      await this.#queue(process, name, owners);
      const before = await readMeter(this.#server, process.pid);
      await delay(forMs, undefined, { signal: this.#signal });
      const after = await readMeter(this.#server, process.pid);
      await drain();
      return figuresOfIdling(before, after);
    }
    await this.#queue(process, `${name}-warm`, Math.min(owners, 200));
    await drain();
    const measured: Measured[] = [];
    for (let at = 0; at < workload.drains; at++) {
      await this.#queue(process, `${name}-${at}`, owners);
      measured.push(await this.#metered(process, drain));
    }
    return figuresOfWork(measured);
  }

  async #metered(process: PeerProcess, work: () => Promise<Samples>): Promise<Measured> {
    const before = await readMeter(this.#server, process.pid);
    const samples = await work();
    return { samples, before, after: await readMeter(this.#server, process.pid) };
  }

  /** Resolves when all owners stand in the queue. */
  async #queue(process: PeerProcess, name: string, owners: number): Promise<void> {
    await this.#server.queued(owners, this.#signal, () =>
      process.ask({ do: "queue", name, owners }, patienceMs),
    );
  }
}
