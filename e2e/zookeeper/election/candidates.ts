import type { LeaderElection, LeadershipHandle } from "@holdfast/core";
import { eventually, startZooKeeperProxy, type ZooKeeperProxy } from "@holdfast/test-servers";
import type { ZooKeeperLocks, ZooKeeperLocksOptions } from "@holdfast/zk-recipes";
import { onTestFinished } from "vitest";
import type { Target } from "../../foreign/target.js";
import { connected } from "../../support/providers.js";

export const waitMs = 20_000;

/** Short, because several tests wait for the end of a session. */
export const sessionTimeoutMs = 2_500;

/** For tests that need the session to live on, however busy the machine is. */
export const lasting = { sessionTimeoutMs: 8_000 } as const;

/** A provider behind a link of its own, which a test can cut. */
export interface Linked {
  readonly locks: ZooKeeperLocks;
  readonly link: ZooKeeperProxy;
}

export async function linked(target: Target, options: ZooKeeperLocksOptions = {}): Promise<Linked> {
  const link = await startZooKeeperProxy({ target: target.connectString });
  onTestFinished(() => link.close());
  const locks = await connected(link.connectString, { sessionTimeoutMs, ...options });
  return { locks, link };
}

/** Ends the session of a provider at the server. */
export async function expire(target: Target, { link }: Linked): Promise<void> {
  const session = link.sessions.at(-1);
  if (session === undefined) throw new Error("no session has come through this link");
  await target.expire({ id: session.sessionId, password: session.password });
}

export async function untilLabels(election: LeaderElection, ...labels: string[]): Promise<void> {
  await eventually(
    async () => (await election.participants()).map(({ label }) => label).join() === labels.join(),
    { what: `${labels.join(", ") || "nobody"} to stand in ${election.name}`, withinMs: waitMs },
  );
}

export function aborted(signal: AbortSignal): Promise<void> {
  return signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** A `lead()` that runs until it is stopped and records its terms. */
export class Leading {
  /** The handle of each term, in order. */
  readonly terms: LeadershipHandle[] = [];
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  #resign: () => void = () => {};

  /** `elected` runs at the beginning of each term. A term lasts until `resign()` or until it ends from outside. */
  constructor(election: LeaderElection, label: string, elected: (term: LeadershipHandle) => void = () => {}) {
    const { signal } = this.#stop;
    this.#done = election.lead({ signal, label, waitMs: Number.POSITIVE_INFINITY }, async (term, context) => {
      this.terms.push(term);
      elected(term);
      await new Promise<void>((resolve) => {
        this.#resign = resolve;
        context.signal.addEventListener("abort", () => resolve(), { once: true });
      });
    });
    // `stop()` returns this promise; an earlier rejection must not count as unhandled.
    this.#done.catch(() => {});
    onTestFinished(() => this.stop());
  }

  get leads(): boolean {
    return this.terms.at(-1)?.state === "held";
  }

  async untilTerms(count: number): Promise<void> {
    await eventually(() => this.terms.length >= count, { what: `term ${count}`, withinMs: waitMs });
  }

  resign(): void {
    this.#resign();
  }

  /** Ends `lead()` and settles as it does. */
  stop(): Promise<void> {
    this.#stop.abort(new Error("stopped by the test"));
    return this.#done;
  }
}
