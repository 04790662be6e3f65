import { lookAtReadWrite, putWriter, writerFields } from "../lua/read-write-state.js";
import { acquireLua, type StandArgs, standArgs } from "../mutex/acquire.js";
import { acquireReader, type StandAnswer } from "../mutex/answers.js";
import type { CallScript } from "../script.js";

/**
 * Takes the write side of a read-write lock, or enters the queue of our writers.
 *
 * Keys: lock, token, waiters, alive, run. Arguments and answer: as `mutex-acquire`; the holder is empty where readers hold. A
 * hash without `mode`, which is a mutex, is a conflict too.
 *
 * As Redisson's: `mode` is `write`, the field is `<owner>:write`, and requests are refused with the PTTL, also to readers. Unlike
 * Redisson's: there is no re-entry, so no lease is ever added to what is left.
 */
export const writeAcquire: CallScript<StandArgs, StandAnswer> = {
  name: "write-acquire",
  keyCount: 5,
  lua: acquireLua(writerFields("ARGV[1]"), lookAtReadWrite, putWriter),
  args: (given) => standArgs(given, given.changes),
  parse: acquireReader("write-acquire"),
};
