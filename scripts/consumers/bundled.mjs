// A service whose dependencies are bundled with it: the test runs the bundle where no package can be found.
import { memoryLocks } from "@holdfast/core";
import { lockMetrics } from "@holdfast/metrics";

const locks = memoryLocks();
const { registry } = lockMetrics(locks);
locks
  .mutex("a")
  .withLock(() => registry.metrics())
  .then(async (text) => {
    if (!text.includes("holdfast_build_info")) throw new Error(text);
    await locks.close();
  });
