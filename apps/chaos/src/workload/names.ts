import type { WorkerKey } from "./protocol.js";

/** How many locks a key of kind `multi` is. */
export const multiParts = 3;

/** The locks that a key is made of: one, or the parts of a multi-lock. */
export function namesOf({ kind, name }: WorkerKey): string[] {
  return kind === "multi" ? Array.from({ length: multiParts }, (_, at) => `${name}-${at}`) : [name];
}
