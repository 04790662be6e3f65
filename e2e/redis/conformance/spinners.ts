import type { LockProvider } from "@holdfast/core";

/** Spinners leave no trace at all: who has asked for so long, and has no answer, has been refused. */
const refusedAfterMs = 100;

/** Follows who asks for what. */
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
