import type { LockProvider } from "@holdfast/core";

/** Spinning waiters leave no trace at the server. An acquire without a result after this time counts as refused. */
const refusedAfterMs = 100;

/** Records which owners ask for which locks. */
export class Spinners {
  readonly #asking = new WeakMap<LockProvider, Map<string, Map<object, number>>>();

  follow(provider: LockProvider): void {
    const asking = new Map<string, Map<object, number>>();
    this.#asking.set(provider, asking);
    provider.events.on("acquire-started", ({ name, owner }) => {
      const owners = asking.get(name) ?? new Map<object, number>();
      asking.set(name, owners.set(owner, performance.now()));
    });
    provider.events.on("acquire-settled", ({ name, owner }) => {
      asking.get(name)?.delete(owner);
    });
  }

  refused(provider: LockProvider, name: string): number {
    const owners = this.#asking.get(provider)?.get(name);
    const sinceMs = performance.now() - refusedAfterMs;
    return [...(owners?.values() ?? [])].filter((startedMs) => startedMs < sinceMs).length;
  }
}
