import type { KeyHistory } from "../history/history.js";

export const isExclusive = ({ meta }: KeyHistory): boolean =>
  meta.kind !== "semaphore" && meta.kind !== "read-write" && meta.kind !== "latch";
export const isReadWrite = ({ meta }: KeyHistory): boolean => meta.kind === "read-write";
export const isSemaphore = ({ meta }: KeyHistory): boolean => meta.kind === "semaphore";
/** Whether at most one holder may write. Tokens and writes are judged for such keys. */
export const hasWriters = (about: KeyHistory): boolean => isExclusive(about) || isReadWrite(about);
