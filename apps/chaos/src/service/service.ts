import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { freePorts } from "@holdfast/test-servers";
import type { CheckerName } from "../checkers/judge.js";
import { entryProgram, type ProgramsByRecipe } from "../engine/programs.js";
import type { PlannedFault, Scenario } from "../engine/scenario.js";

/** A user's service, as the command line describes it. */
export interface ServiceWish {
  /** The command that starts one instance. */
  readonly command: string;
  readonly instances: number;
  readonly servers: "redis" | "zookeeper";
  /** The locks, by the names that the service gives to the probe. */
  readonly keys: readonly string[];
  /** The lease or session time-out that the service uses, in milliseconds. */
  readonly leaseMs: number;
  /** How many times each fault is done. */
  readonly times: number;
  /** Variables for each instance, with placeholders. */
  readonly env: Readonly<Record<string, string>>;
  /** A URL, with placeholders, that answers with 200 once an instance serves. */
  readonly ready: string | null;
  /** A module that calls the service. */
  readonly load: string | null;
  /** Whether the service gives the probe a signal of the loss with each grant. */
  readonly tellsLoss: boolean;
}

/** The argument of the default export of a `--load` module. */
export interface LoadContext {
  /** The URL of each instance, `http://127.0.0.1:port`. */
  readonly urls: readonly string[];
  /** Aborts when the load must end. */
  readonly signal: AbortSignal;
}

/** Calls the service until the signal aborts. A load must not fail because an instance is down or stands still. */
export type Load = (context: LoadContext) => Promise<unknown>;

export interface LoadSetup {
  readonly module: string;
  readonly urls: readonly string[];
}

interface ServiceFault {
  readonly what: string;
  readonly fault: string;
  /** How long the fault lasts, in leases. */
  readonly leases?: number;
  readonly forMs?: number;
  readonly options?: PlannedFault["options"];
  /** Whether a holder can know of its loss in time. A process that stands still cannot. */
  readonly knowsInTime: boolean;
}

/** The faults of the instance that holds, by the id of the scenario. */
const serviceFaults: Readonly<Record<string, ServiceFault>> = {
  kill: {
    what: "is killed (SIGKILL) and started again",
    fault: "worker.kill",
    forMs: 500,
    knowsInTime: true,
  },
  pause: {
    what: "stands still for two leases (SIGSTOP) and goes on",
    fault: "worker.pause",
    leases: 2,
    options: { working: true },
    knowsInTime: false,
  },
  cut: {
    what: "is cut off from the servers for two leases",
    fault: "link.hole",
    leases: 2,
    knowsInTime: true,
  },
  reset: { what: "has its connections to the servers reset", fault: "link.reset", knowsInTime: true },
};

const recipe = "service";

/** The checkers by which no service is judged, each with the reason. */
const notJudged: Readonly<Partial<Record<CheckerName, string>>> = {
  leaks: "the runner does not know what the service calls its locks at the server",
  fifo: "the runner does not know who waits in which order",
  "fence-effect": "the writes of a hold without a token are allowed here; effect judges what they did",
};
/** The checkers that need `--tells-loss`, with the reason that is given without it. */
const untold: typeof notJudged = {
  "lost-notice": "it is not said to tell a holder of its loss (--tells-loss)",
};

/** One scenario for each fault: kill, pause, cut, reset. */
export function serviceScenarios(wish: ServiceWish): readonly Scenario[] {
  const { leaseMs, times, keys, servers, instances, load, command, tellsLoss } = wish;
  const [first = ""] = keys;
  const groups = [
    { name: "s", count: instances, recipe, keys, holdMs: [0, 0], writes: "fenced", proxied: true } as const,
    ...(load === null ? [] : [{ name: "load", count: 1, recipe: "load", keys: [], holdMs: [0, 0] } as const]),
  ];
  return Object.entries(serviceFaults).map(([id, { what, fault, leases, forMs, options, knowsInTime }]) => {
    const lastsMs = leases === undefined ? forMs : leases * leaseMs;
    const must: readonly CheckerName[] = ["effect", "lost-update", "heal-liveness"];
    const told: readonly CheckerName[] = tellsLoss ? ["lost-notice"] : [];
    const inTime: readonly CheckerName[] = ["belief", "mutex", ...told];
    return {
      id,
      title: `The instance that holds ${what}`,
      tags: [],
      topology: servers === "redis" ? { kind: "redis" } : { kind: "zookeeper", members: 1 },
      keys: Object.fromEntries(
        keys.map((key) => [key, { kind: "mutex", backend: servers, leaseMs } as const]),
      ),
      groups,
      runMs: 1_000 + times * (500 + (lastsMs ?? 0)),
      plan: () =>
        Array.from({ length: times }, (_, at) => ({
          fault,
          target: `holder(${first})`,
          after: at === 0 ? `granted(${first}, 2)` : `ended(${fault}, ${at})`,
          atMs: at === 0 ? 0 : 500,
          ...(lastsMs === undefined ? {} : { forMs: lastsMs }),
          ...(options === undefined ? {} : { options }),
        })),
      expect: knowsInTime
        ? { pass: [...must, ...inTime], report: ["advertised"] }
        : { pass: must, report: [...inTime, "advertised"] },
      check: {
        only: [
          ...must,
          ...inTime,
          "advertised",
          "fence-order",
          "handover",
          "bounded-wait",
          "refusals",
          "stats",
          "cross-wgl",
        ],
        handoverLimitMs: 3 * leaseMs + 2_000,
        healLimitMs: 4 * leaseMs + 10_000,
        // The runner does not know whether the lock has a queue. Without one its last holder may take it again and again.
        healClients: 1,
        minGrants: 5,
        // Instances that never meet need no lock at all.
        contended: true,
      },
      faults: [id],
      mode: command,
      subject: { name: command, notJudged: tellsLoss ? notJudged : { ...notJudged, ...untold } },
    } satisfies Scenario;
  });
}

/**
 * The programs of the instances and of the load. Ports stay the same for the whole run: an instance that is killed gets
 * its port again.
 */
export async function servicePrograms(wish: ServiceWish): Promise<ProgramsByRecipe> {
  const ports = await freePorts(wish.instances);
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const { command, env, ready, keys, load } = wish;
  return {
    [recipe]: async () => ({
      command: "/bin/sh",
      args: ["-c", `exec ${command}`],
      service: { env, ready, keys, ports },
    }),
    load: async () => {
      const setup: LoadSetup = { module: pathToFileURL(resolve(load ?? "")).href, urls };
      return { ...entryProgram("service/load-main.js"), env: { CHAOS_LOAD: JSON.stringify(setup) } };
    },
  };
}
