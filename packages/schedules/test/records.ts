import { BackendError, type LockProvider } from "@holdfast/core";

/** From now on the first claim of a run is written, and its answer does not come. The function says whether that has happened. */
export function loseAnswerToClaim(locks: LockProvider): () => boolean {
  const { record } = locks;
  let lost = false;
  locks.record = (name) => {
    const shared = record.call(locks, name);
    const replace = async (seen: string | null, text: string): Promise<boolean> => {
      const replaced = await shared.replace(seen, text);
      if (lost || !text.includes("running")) return replaced;
      lost = true;
      throw new BackendError("the answer was lost", { backend: "memory" });
    };
    return { name, read: () => shared.read(), replace };
  };
  return () => lost;
}
