import type { WorkerKey } from "./protocol.js";

/** The number of locks that a key of kind `multi` consists of. */
export const multiParts = 3;

/** The locks of which a key consists: one lock, or the parts of a multi-lock. */
export function namesOf({ kind, name }: WorkerKey): string[] {
  return kind === "multi" ? Array.from({ length: multiParts }, (_, at) => `${name}-${at}`) : [name];
}
