import { BackendError, type LockProvider, type SharedRecord } from "@holdfast/core";

type Calls = Pick<SharedRecord, "name" | "read" | "replace">;

/** Stands between a provider and its records: the calls that `change` returns take the place of the record's own. */
export function standBefore(locks: LockProvider, change: (shared: Calls) => Partial<Calls>): void {
  const { record } = locks;
  locks.record = (name) => {
    const shared = record.call(locks, name);
    const own: Calls = {
      name,
      read: () => shared.read(),
      replace: (seen, text) => shared.replace(seen, text),
    };
    return { ...own, ...change(own) };
  };
}

/**
 * From now on the first claim of a run is written, but its answer is lost. `meanwhile` ends before the claimant learns of that.
 * The returned function says whether it has happened.
 */
export function loseAnswerToClaim(
  locks: LockProvider,
  meanwhile: () => Promise<unknown> = async () => {},
): () => boolean {
  let lost = false;
  standBefore(locks, (shared) => ({
    async replace(seen, text) {
      const replaced = await shared.replace(seen, text);
      if (lost || !text.includes("running")) return replaced;
      lost = true;
      await meanwhile();
      throw new BackendError("the answer was lost", { backend: "memory" });
    },
  }));
  return () => lost;
}

/**
 * The first `times` tries to note that a run was done fail, as in an outage. The returned function says how many have failed.
 */
export function refuseNotes(locks: LockProvider, times: number): () => number {
  let refusals = 0;
  standBefore(locks, (shared) => ({
    async replace(seen, text) {
      if (!text.includes('"done"') || refusals >= times) return await shared.replace(seen, text);
      refusals++;
      throw new BackendError("away", { backend: "memory" });
    },
  }));
  return () => refusals;
}
