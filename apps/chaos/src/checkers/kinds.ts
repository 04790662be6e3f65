import type { KeyHistory } from "../history/history.js";

export const isExclusive = ({ meta }: KeyHistory): boolean =>
  meta.kind !== "semaphore" && meta.kind !== "read-write" && meta.kind !== "latch";
export const isReadWrite = ({ meta }: KeyHistory): boolean => meta.kind === "read-write";
export const isSemaphore = ({ meta }: KeyHistory): boolean => meta.kind === "semaphore";
/** At which at most one may write: what tokens and writes are judged by. */
export const hasWriters = (about: KeyHistory): boolean => isExclusive(about) || isReadWrite(about);
