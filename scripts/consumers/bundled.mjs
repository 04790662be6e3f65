// A service that is bundled with its dependencies. The test runs the bundle in a folder from which no package can be found.
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
