import type { LockProvider } from "@holdfast/core";
import type { Gauge } from "prom-client";
import type { LabelGuard } from "./label-guard.js";
import { bound } from "./lock-series.js";
import type { MetricSet } from "./metric-set.js";
import { sessionStates } from "./words.js";

interface Link {
  readonly provider: LockProvider;
  /** The cluster of the last event; until there is one, the name that the operator gave. */
  cluster: string;
  timeoutMs: number;
}

/** The name of a provider's cluster before its first event. */
export const unknownCluster = "unknown";

/** The sessions of all providers, by their clusters. */
export class SessionSeries {
  readonly #set: MetricSet;
  readonly #guard: LabelGuard;
  readonly #given: string | undefined;
  readonly #links = new Set<Link>();
  readonly #begun = new Set<string>();

  constructor(set: MetricSet, guard: LabelGuard, given: string | undefined) {
    this.#set = set;
    this.#guard = guard;
    this.#given = given;
    set.collected("session_connected", (gauge) => this.#connected(gauge));
    set.collected("session_timeout_seconds", (gauge) => this.#timeouts(gauge));
  }

  add(provider: LockProvider): Disposable {
    const link: Link = { provider, cluster: this.#given ?? unknownCluster, timeoutMs: 0 };
    const { backend } = provider.capabilities;
    this.#links.add(link);
    if (this.#given !== undefined) this.#begin(backend, this.#given);
    const listening = provider.events.on("session-state", ({ state, timeoutMs, cluster }) => {
      link.cluster = this.#given ?? this.#guard.pass(cluster);
      link.timeoutMs = timeoutMs;
      this.#begin(backend, link.cluster);
      this.#set.counter("session_state_changes_total").inc({ backend, cluster: link.cluster, state });
    });
    return {
      [Symbol.dispose]: () => {
        this.#links.delete(link);
        listening[Symbol.dispose]();
      },
    };
  }

  #begin(backend: string, cluster: string): void {
    if (this.#begun.has(`${backend} ${cluster}`)) return;
    this.#begun.add(`${backend} ${cluster}`);
    for (const state of sessionStates) {
      this.#set.counter("session_state_changes_total").inc({ backend, cluster, state }, 0);
    }
  }

  #connected(gauge: Gauge): void {
    gauge.reset();
    for (const links of this.#byCluster()) {
      const all = links.every(({ provider }) => provider.state === "connected");
      gauge.set(labelsOf(links), all ? 1 : 0);
    }
  }

  #timeouts(gauge: Gauge): void {
    gauge.reset();
    for (const links of this.#byCluster()) {
      const known = links.map((link) => link.timeoutMs).filter((timeoutMs) => timeoutMs > 0);
      if (known.length > 0) gauge.set(labelsOf(links), Math.min(...known) / 1000);
    }
  }

  #byCluster(): Iterable<readonly [Link, ...Link[]]> {
    const clusters = new Map<string, [Link, ...Link[]]>();
    for (const link of this.#links) {
      const { backend } = link.provider.capabilities;
      const links = bound(clusters, `${backend} ${link.cluster}`, (): [Link, ...Link[]] => [link]);
      if (links[0] !== link) links.push(link);
    }
    return clusters.values();
  }
}

function labelsOf([{ provider, cluster }]: readonly [Link, ...Link[]]): Record<string, string> {
  return { backend: provider.capabilities.backend, cluster };
}
