import { join } from "node:path";
import type { FromWorker, WorkerKey, WorkerSetup } from "../workload/protocol.js";
import { clockNs, wentOn } from "./clock.js";
import type { Recorder } from "./recorder.js";
import type { WorkerGroup } from "./scenario.js";
import { instanceOf, serves } from "./service-instance.js";
import type { ShimHandle } from "./shims/shim-handle.js";
import type { ServerSet, WorkerLink } from "./topologies/server-set.js";
import { WorkerProcess, type WorkerProgram } from "./worker-process.js";
import { WorkerShims } from "./worker-shims.js";

export interface CrewOptions {
  readonly groups: readonly WorkerGroup[];
  readonly keys: readonly WorkerKey[];
  readonly set: ServerSet;
  readonly recorder: Recorder;
  readonly seed: number;
  readonly resource: string | null;
  readonly logFolder: string;
  /** How long a worker may take to end its waits after `abort`, and to exit after `done`. Default 15 s. */
  readonly endsWithinMs?: number;
  /** Rejects when the run is given up. Workers that are not ready by then are killed. */
  readonly aborted?: Promise<never>;
  programOf(recipe: string): Promise<WorkerProgram>;
}

/** Node takes a while to load the clients on a busy machine. */
const readyWithinMs = 60_000;
/** A stopping crew waits at most this many times the patience for one change, however often locks change hands. */
const mostPatience = 10;

/** One worker, with all its incarnations. */
export class Worker {
  readonly name: string;
  readonly group: WorkerGroup;
  readonly link: WorkerLink;
  /** `null` unless it was started under the shims. */
  readonly shim: ShimHandle | null;
  incarnation = 0;
  process: WorkerProcess;
  paused = false;
  /** When the process of the paused worker came to a stop, by the clock of the run. */
  stillSince: number = Number.POSITIVE_INFINITY;
  /** Resolves when this incarnation has said `ready`. */
  ready: Promise<void>;
  done: Promise<void>;

  constructor(name: string, group: WorkerGroup, link: WorkerLink, shim: ShimHandle | null, born: Born) {
    this.name = name;
    this.group = group;
    this.link = link;
    this.shim = shim;
    this.process = born.process;
    this.ready = born.ready;
    this.done = born.done;
  }

  get p(): string {
    return `${this.name}#${this.incarnation}`;
  }
}

/** The workers that did not end by themselves. */
export interface Stopped {
  /** Workers whose waits had to be ended. */
  readonly late: readonly string[];
  /**
   * Workers that had to be killed, because their clients did not close or their processes ran on. Services are not
   * listed: they may end in their own ways.
   */
  readonly killed: readonly string[];
}

interface Born {
  readonly process: WorkerProcess;
  readonly ready: Promise<void>;
  readonly done: Promise<void>;
}

/** All workers of a scenario. */
export class Crew {
  readonly workers: Worker[] = [];
  /** Rejects when a worker reports that it cannot go on, or ends without having been asked to. */
  readonly broken: Promise<never>;
  #break: (error: Error) => void = () => {};
  readonly #options: CrewOptions;
  #stopping = false;
  #started = false;
  #shims: WorkerShims | null = null;
  /** Processes that are killed on purpose. */
  readonly #condemned = new WeakSet<WorkerProcess>();

  private constructor(options: CrewOptions) {
    this.#options = options;
    this.broken = new Promise((_, reject) => {
      this.#break = reject;
    });
    this.broken.catch(() => {}); // the code that races with it gets the error
  }

  /** Starts all workers and resolves when each is connected. */
  static async gather(options: CrewOptions): Promise<Crew> {
    const crew = new Crew(options);
    try {
      const shimmed = options.groups.filter(({ shims }) => shims === true).flatMap(namesOf);
      if (shimmed.length > 0) crew.#shims = await WorkerShims.build(shimmed);
      for (const group of options.groups) {
        for (const name of namesOf(group)) {
          const link = await options.set.link(name, group.proxied === true);
          const shim = crew.#shims?.of(name) ?? null;
          crew.workers.push(new Worker(name, group, link, shim, await crew.#bear(name, 0, group, link)));
        }
      }
      const ready = Promise.all(crew.workers.map(({ ready }) => ready));
      await Promise.race([ready, crew.broken, ...(options.aborted === undefined ? [] : [options.aborted])]);
    } catch (error) {
      await crew.close();
      throw error;
    }
    return crew;
  }

  /** The keys for which the workers contend. */
  get keys(): readonly WorkerKey[] {
    return this.#options.keys;
  }

  start(): void {
    this.#started = true;
    for (const { process } of this.workers) process.tell({ do: "start" });
  }

  worker(p: string): Worker | undefined {
    const name = p.split("#")[0];
    return this.workers.find((worker) => worker.name === name && (!p.includes("#") || worker.p === p));
  }

  /**
   * Sends SIGSTOP. Resolves when the process stands still and everything that it had sent was read. If the worker is a
   * child of the command, the child goes on. It would then seem to survive a fault that did not happen, so the crew
   * breaks.
   */
  async pause(worker: Worker): Promise<void> {
    const { process } = worker;
    worker.paused = true;
    this.#state(worker.p, "paused");
    process.signal("SIGSTOP");
    for (let tries = 0; process.running && !process.standsStill(); tries++) {
      if (tries > 2_000) throw new Error(`${worker.p} does not stand still after SIGSTOP`);
      await passing(2);
    }
    worker.stillSince = this.#options.recorder.clock.now();
    await passing(20);
    // A timer that is late comes before what is read in the same turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  }

  resume(worker: Worker): void {
    if (!worker.paused) return;
    worker.paused = false;
    worker.stillSince = Number.POSITIVE_INFINITY;
    this.#state(worker.p, "resumed");
    worker.process.signal("SIGCONT");
  }

  /** Sends SIGKILL. Resolves when the process is gone and everything that it had sent was read. */
  async kill(worker: Worker): Promise<void> {
    const { process, p } = worker;
    this.#condemned.add(process);
    // The record comes before the signal, so that a grant to another worker after the kill is no overlap.
    this.#state(p, "killed");
    worker.paused = false;
    worker.stillSince = Number.POSITIVE_INFINITY;
    await process.kill();
  }

  /** Starts a new incarnation of a worker that was killed. Rejects if the crew stops meanwhile. */
  async restart(worker: Worker): Promise<void> {
    worker.incarnation += 1;
    const born = await this.#bear(worker.name, worker.incarnation, worker.group, worker.link);
    worker.process = born.process;
    worker.ready = born.ready;
    worker.done = born.done;
    await Promise.race([born.ready, this.broken]);
    if (this.#started && !this.#stopping) worker.process.tell({ do: "start" });
  }

  /**
   * Lets all workers finish: they begin no new acquire, and their waits end with grants. Once no lock has changed hands
   * for `patienceMs`, the remaining waits are ended. A worker that does not end then is killed, for example one that
   * has sent `done` and runs on.
   * `changedMs` returns when a lock last changed hands, by `performance.now()`. Default: never.
   */
  async stop(patienceMs: number, changedMs: () => number = () => 0): Promise<Stopped> {
    this.#stopping = true;
    const running = this.workers.filter(({ process }) => process.running);
    for (const worker of running) this.resume(worker);
    for (const { process } of running) process.tell({ do: "stop" });
    const ended = ({ done, process }: Worker): Promise<unknown> => Promise.race([done, process.exited]);
    const { endsWithinMs = 15_000 } = this.#options;
    const beganMs = performance.now();
    let late = running;
    // A waiter behind other waiters is not stuck as long as the lock changes hands.
    for (let leftMs = patienceMs; late.length > 0 && leftMs > 0; ) {
      late = await stragglers(late, leftMs, ended);
      const endMs = Math.min(changedMs(), beganMs + mostPatience * patienceMs) + patienceMs;
      leftMs = endMs - performance.now();
    }
    for (const { process } of late) process.tell({ do: "abort" });
    const stuck = await stragglers(late, endsWithinMs, ended);
    await Promise.all(stuck.map((worker) => this.kill(worker)));
    const exited = ({ process }: Worker): Promise<unknown> => process.exited;
    const lingering = await stragglers(running, endsWithinMs, exited);
    await Promise.all(lingering.map((worker) => this.kill(worker)));
    const killed = [...stuck, ...lingering].filter(({ process }) => !process.isService);
    return { late: late.map(({ p }) => p), killed: killed.map(({ p }) => p) };
  }

  /** Kills all workers that are left. */
  async close(): Promise<void> {
    this.#stopping = true;
    await Promise.all(
      this.workers.map(async ({ process, link }) => {
        this.#condemned.add(process);
        if (process.running) await process.kill();
        await link.close();
      }),
    );
    await this.#shims?.close();
    this.#shims = null;
  }

  async #bear(name: string, incarnation: number, group: WorkerGroup, link: WorkerLink): Promise<Born> {
    const { recorder, seed, keys, resource, logFolder } = this.#options;
    const p = `${name}#${incarnation}`;
    const facts = {
      name,
      p,
      clockBase: recorder.clock.base,
      resource: resource ?? "",
      servers: link.addresses,
    };
    const found = await this.#options.programOf(group.recipe);
    // A process that started now would be in no list of processes to kill.
    if (this.#stopping) throw new Error(`${p} is not started: the crew stops`);
    const { service } = found;
    const plain = service === undefined ? found : instanceOf(found, service, facts);
    const program = { ...plain, env: { ...plain.env, ...this.#shims?.of(name)?.env } };
    let isReady = (): void => {};
    let isDone = (): void => {};
    const ready = new Promise<void>((resolve) => {
      isReady = resolve;
    });
    const done = new Promise<void>((resolve) => {
      isDone = resolve;
    });
    const process = new WorkerProcess(p, program, join(logFolder, `${name}.log`), (word) => {
      if ("say" in word) {
        if (word.say === "ready") {
          const wrong = service === undefined ? null : otherProcess(word, process.pid);
          if (wrong !== null) this.#break(new Error(`${p}: ${wrong}`));
          else if (service === undefined || service.ready === null) isReady();
        } else if (word.say === "done") isDone();
        // The half line that a killed process leaves is no message.
        else if (word.say === "failed" && this.#condemned.has(process)) return;
        else if (word.say === "failed") this.#break(new Error(`${p}: ${word.error}`));
        else
          this.#break(new Error(`${p} said ${JSON.stringify(word).slice(0, 200)}, which it was not asked`));
      } else if (fits(word, p)) {
        if (word.t > (this.worker(p)?.stillSince ?? Number.POSITIVE_INFINITY) + clockNs)
          this.#break(new Error(`${p} ${wentOn}`));
        recorder.arrived(word);
      } else
        this.#break(
          new Error(`${p} sent a record that is not its own: ${JSON.stringify(word).slice(0, 200)}`),
        );
    });
    this.#state(p, "start");
    void process.exited.then(({ code, signal }) => {
      if (this.#condemned.has(process)) return;
      this.#state(p, "exit");
      // A service ends by the stop signal, with any exit code that it chooses.
      if (!this.#stopping || (code !== 0 && service === undefined)) {
        this.#break(new Error(`${p} ended by itself with ${code ?? signal}: ${process.logTail()}`));
      }
    });
    const setup: WorkerSetup = {
      p,
      clockBase: recorder.clock.base,
      seed,
      group,
      keys: keys.filter(({ id }) => group.keys.includes(id)),
      servers: link.addresses,
      resource,
    };
    process.tell({ do: "setup", setup });
    if (service !== undefined && service.ready !== null) {
      const over = new AbortController();
      void process.exited.then(() => over.abort());
      void serves(service, facts, over.signal).then(isReady);
    }
    const timer = setTimeout(
      () => this.#break(new Error(`${p} was not ready within ${readyWithinMs} ms: ${process.logTail()}`)),
      readyWithinMs,
    );
    void Promise.race([ready, process.exited]).then(() => clearTimeout(timer));
    return { process, ready, done };
  }

  #state(p: string, f: "start" | "exit" | "killed" | "paused" | "resumed"): void {
    this.#options.recorder.record({ type: "worker", p, f });
  }
}

/**
 * What is wrong if the probe is in another process than the one that was started. Faults hit the started process, so it
 * must be the one that holds the lock.
 */
function otherProcess({ versions }: Extract<FromWorker, { say: "ready" }>, pid: number): string | null {
  if (versions?.pid === String(pid)) return null;
  return (
    `its probe is in process ${versions?.pid}, and the command started ${pid}: give the command that is the service itself ` +
    "(node server.js, and not npm start)"
  );
}

const namesOf = ({ name, count }: WorkerGroup): string[] =>
  Array.from({ length: count }, (_, at) => `${name}${at}`);

const fits = (word: Exclude<FromWorker, { say: unknown }>, p: string): boolean =>
  word.p === p && ["invoke", "ok", "fail", "info", "event"].includes(word.type);

/** The workers for which `over` has not resolved in time. */
async function stragglers(
  workers: readonly Worker[],
  withinMs: number,
  over: (worker: Worker) => Promise<unknown>,
): Promise<Worker[]> {
  const left = new Set(workers);
  const all = Promise.all(
    workers.map(async (worker) => {
      await over(worker);
      left.delete(worker);
    }),
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, withinMs);
  });
  await Promise.race([all, late]);
  clearTimeout(timer);
  return [...left];
}

const passing = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
