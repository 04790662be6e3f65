import type { LockProvider } from "@holdfast/core";

/** Those who leave no trace in the backend: who has asked for so long, and has no answer, has been refused. */
const refusedAfterMs = 100;

/** Counts the waiters of kinds that nobody can be seen waiting for. */
export function refusedCount(): { follow(provider: LockProvider): void; of(name: string): number } {
  const asking = new Map<string, Map<object, number>>();
  return {
    follow({ events }) {
      events.on("acquire-started", ({ name, owner }) => {
        const owners = asking.get(name) ?? new Map<object, number>();
        asking.set(name, owners.set(owner, performance.now()));
      });
      events.on("acquire-settled", ({ name, owner }) => {
        asking.get(name)?.delete(owner);
      });
    },
    of(name) {
      const sinceMs = performance.now() - refusedAfterMs;
      return [...(asking.get(name)?.values() ?? [])].filter((startedMs) => startedMs < sinceMs).length;
    },
  };
}
