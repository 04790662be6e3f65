import type { LockProvider } from "@holdfast/core";

/** A request without an answer for this long counts as refused. Its waiter leaves no trace in the backend. */
const refusedAfterMs = 100;

/** Counts the waiters of kinds whose waiters the backend does not show. */
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
