import { defineConfig } from "vitest/config";
import { SlowFirst } from "./scripts/slow-first.mjs";

// Imports of our own packages resolve to their sources, so that tests need no build.
const source = { conditions: ["@holdfast/source"] };
const shared = { resolve: source, ssr: { resolve: source } };
/**
 * How long a condition may take to come true. No test checks a promise by these limits. A machine that is busy with other work is
 * slow, and only a condition that never comes true is an error.
 */
const patience = { expect: { poll: { timeout: 20_000, interval: 20 } }, hookTimeout: 180_000 };

const common = {
  ...patience,
  // Vitest's list of failures at the end of a run shows the values that were seen, and not only their number.
  chaiConfig: { truncateThreshold: 1_000 },
};

/** Files that one worker runs in turn share what they import, so it is loaded once. This saves a third of the processor time. */
const together = { isolate: false };

const withServers = [
  "packages/*/test/**/*.server.test.ts",
  "apps/*/test/**/*.server.test.ts",
  "e2e/**/*.test.ts",
];
/** Tests that need real Redis servers. */
const redis = [
  "packages/redis-recipes/test/**/*.server.test.ts",
  "packages/collectors/test/redis/**/*.server.test.ts",
  "packages/test-servers/test/redis/**/*.server.test.ts",
  "packages/web-locks/test/redis.server.test.ts",
  "packages/schedules/test/servers.server.test.ts",
  "apps/cli/test/run/**/*.server.test.ts",
  "apps/cli/test/look/redis.server.test.ts",
  "e2e/redis/**/*.test.ts",
  "e2e/redlock/**/*.test.ts",
  "e2e/fence/**/*.test.ts",
  "e2e/upgrade/red*.test.ts",
];
/** Tests that measure times and sizes, or starve servers and processes: each file needs a core, and no other stage beside it. */
const alone = [
  "packages/zk-recipes/test/session/hardening.server.test.ts",
  "e2e/faults/silent/**/*.test.ts",
  "e2e/faults/server/leader.test.ts",
  "e2e/faults/server/restart.test.ts",
  "e2e/ensemble/**/*.test.ts",
  "e2e/behaviours/ensemble.test.ts",
  "e2e/embedded/bench.full.test.ts",
  "e2e/big-sets/**/*.test.ts",
  "e2e/redis/crowds/**/*.test.ts",
  "e2e/zookeeper/scale.test.ts",
  "e2e/zookeeper/collector/scale.test.ts",
  "apps/cli/test/run/rounds.server.test.ts",
];

const full = process.env.HOLDFAST_FULL === "1";
/** These measure times in full runs only. The part that other runs have does not need a core of its own. */
if (full)
  alone.push(
    "e2e/redis/costs/bulk.test.ts",
    "packages/{collectors,redis-recipes}/test/**/crowd.server.test.ts",
  );

/** Long tests and measurements that only `npm run test:full` has time for. `scripts/test.mjs` says how many were left out. */
const fullOnly = full ? [] : ["e2e/**/*.full.test.ts"];

/** Tests that drive a browser. */
const dashboard = ["e2e/dashboard/**/*.test.ts"];

/** Tests that break clusters on purpose, through the built command line. */
const chaos = ["e2e/chaos/**/*.test.ts"];

export default defineConfig({
  ...shared,
  test: {
    pool: "forks",
    dangerouslyIgnoreUnhandledErrors: false,
    sequence: { sequencer: SlowFirst },
    projects: [
      {
        ...shared,
        test: {
          ...common,
          ...together,
          name: "unit",
          include: ["packages/*/test/**/*.test.ts", "apps/*/test/**/*.test.ts", "examples/*.test.mjs"],
          exclude: ["**/*.server.test.ts"],
          testTimeout: 180_000,
        },
      },
      {
        ...shared,
        test: {
          ...common,
          ...together,
          name: "servers",
          include: withServers,
          exclude: [...alone, ...redis, ...dashboard, ...chaos, ...fullOnly],
          testTimeout: 180_000,
        },
      },
      {
        ...shared,
        test: {
          ...common,
          name: "alone",
          include: alone,
          exclude: fullOnly,
          testTimeout: 180_000,
        },
      },
      {
        ...shared,
        test: {
          ...common,
          ...together,
          name: "redis",
          include: redis,
          exclude: [...alone, ...fullOnly],
          testTimeout: 180_000,
        },
      },
      {
        ...shared,
        test: {
          ...common,
          ...together,
          name: "dashboard",
          include: dashboard,
          exclude: fullOnly,
          globalSetup: "e2e/dashboard/support/build-page.ts",
          testTimeout: 180_000,
        },
      },
      {
        ...shared,
        test: {
          ...common,
          name: "chaos",
          include: chaos,
          exclude: fullOnly,
          globalSetup: "e2e/chaos/support/build.ts",
          testTimeout: 180_000,
        },
      },
    ],
  },
});
