import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** The bytes of live objects, after a full garbage collection. */
export function liveHeapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
