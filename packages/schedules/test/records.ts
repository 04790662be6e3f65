import { BackendError, type LockProvider, type SharedRecord } from "@holdfast/core";

type Calls = Pick<SharedRecord, "name" | "read" | "replace">;

/** Stands between a provider and its records: what `change` gives counts instead of the record's own calls. */
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
 * From now on the first claim of a run is written, and its answer does not come; `meanwhile` ends before that is known. The function says whether
 * that has happened.
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
