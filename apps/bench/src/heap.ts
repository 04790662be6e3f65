import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes of live objects, after a full collection. */
export function liveHeapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
