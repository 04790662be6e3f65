import { BaseSequencer } from "vitest/node";

/** Parts of the paths of test files that take long, roughly longest first. */
export const slow = [
  "e2e/chaos/smoke",
  "e2e/chaos/mutants",
  "e2e/chaos/network.test",
  "e2e/chaos/timeline",
  "e2e/chaos/attack",
  "e2e/chaos/java",
  "e2e/chaos/in-ci",
  "e2e/chaos/interrupt",
  "e2e/chaos/redis",
  "e2e/chaos/shrink",
  "e2e/sweep/sweep-",
  "apps/order-stock/test/live.server",
  "apps/order-stock/test/order-stock.server",
  "e2e/sweep/schedules",
  "e2e/packaging/",
  "e2e/behaviours/zookeeper",
  "e2e/zookeeper/conformance/",
  "e2e/interop/queueing",
  "e2e/upgrade/",
  "e2e/faults/sockets",
  "test-servers/test/ensemble.server",
  "e2e/foreign/",
  "chaos/test/engine/redis/redis-faults",
  "test-servers/test/zookeeper.server",
  "cli/test/run/run.server",
  "redis-recipes/test/client/sentinel-line.server",
  "e2e/redis/interop/contention",
  "e2e/redis/collector/",
  "e2e/redis/conformance/",
  "e2e/redis/start/rights",
  "e2e/redis/faults/",
  "test-servers/test/redis/replica-set.server",
  "collectors/test/redis/collector.server",
  "cli/test/look/redis",
  "e2e/redlock/",
  "e2e/dashboard/scale-process",
  "e2e/dashboard/sharing",
  "e2e/dashboard/live",
  "e2e/dashboard/phone",
  "e2e/dashboard/history.test",
  "e2e/dashboard/states",
  "e2e/dashboard/axe",
  "dashboard/test/server/rights",
  "chaos/test/engine/run.test",
  "collectors/test/zookeeper/sources",
  "zk-recipes/test/rendezvous/given-up",
  "dashboard/test/server/export",
  "multi-lock/test/redlock/one-holder",
  "redis-recipes/test/recipes/hand-off-costs",
  "redis-recipes/test/recipes/hand-off-model",
  "conformance/test/memory-conformance",
  "test-servers/test/embedded/conformance.test",
  "dashboard/test/server/events",
  "multi-lock/test/conformance",
  "zk-recipes/test/session/states",
];

/**
 * Starts with the files that take longest: a long file that starts last would keep all other workers waiting. Vitest itself
 * sorts like this only if an earlier run has left it the times.
 */
export class SlowFirst extends BaseSequencer {
  /** @param {import("vitest/node").TestSpecification[]} files */
  async sort(files) {
    const rank = ({ moduleId }) => {
      const at = slow.findIndex((part) => moduleId.includes(part));
      return at < 0 ? slow.length : at;
    };
    const sorted = await super.sort(files);
    return sorted
      .map((file, at) => ({ file, at, rank: rank(file) }))
      .sort((a, b) => a.rank - b.rank || a.at - b.at)
      .map(({ file }) => file);
  }
}
