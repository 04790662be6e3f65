import type { ProbeSetup } from "../probe/setup.js";
import type { ServerAddresses } from "../workload/addresses.js";
import { probeFd, type ServiceAbout, type WorkerProgram } from "./worker-process.js";

export interface InstanceFacts {
  /** The name of the instance, such as `s0`. */
  readonly name: string;
  readonly p: string;
  readonly clockBase: string;
  readonly resource: string;
  readonly servers: ServerAddresses;
}

/** The program of one instance of a service, with its placeholders filled in and the setup for its probe. */
export function instanceOf(plain: WorkerProgram, about: ServiceAbout, facts: InstanceFacts): WorkerProgram {
  const setup: ProbeSetup = {
    fd: probeFd,
    p: facts.p,
    clockBase: facts.clockBase,
    resource: facts.resource,
    keys: about.keys,
  };
  const filled = Object.entries(about.env).map(([name, value]) => [name, fill(value, about, facts)]);
  return {
    ...plain,
    args: plain.args.map((each) => fill(each, about, facts)),
    env: { ...plain.env, ...Object.fromEntries(filled), CHAOS_PROBE: JSON.stringify(setup) },
  };
}

/** Resolves when the instance answers with 200, or when the signal aborts. Never rejects. */
export async function serves(about: ServiceAbout, facts: InstanceFacts, signal: AbortSignal): Promise<void> {
  const url = fill(about.ready ?? "", about, facts);
  while (!signal.aborted) {
    try {
      const { status } = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(2_000)]) });
      if (status === 200) return;
    } catch {
      // The instance does not listen yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function fill(text: string, { ports }: ServiceAbout, { name, servers }: InstanceFacts): string {
  const n = Number(/\d+$/.exec(name)?.[0] ?? 0);
  const values: Readonly<Record<string, string | undefined>> = {
    n: String(n),
    host: "127.0.0.1",
    port: String(ports[n]),
    redis: servers.kind === "redis" ? `${servers.address.host}:${servers.address.port}` : undefined,
    zookeeper: servers.kind === "zookeeper" ? servers.connect : undefined,
  };
  return text.replace(/\{(n|host|port|redis|zookeeper)\}/g, (whole, what: string) => values[what] ?? whole);
}
