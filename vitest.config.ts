import { defineConfig } from "vitest/config";

// Siblings resolve to their sources, so that tests need no build.
const source = { conditions: ["@holdfast/source"] };
const shared = { resolve: source, ssr: { resolve: source } };

const withServers = [
  "packages/*/test/**/*.server.test.ts",
  "apps/*/test/**/*.server.test.ts",
  "e2e/**/*.test.ts",
];
/** What needs real Redis servers. */
const redis = [
  "packages/redis-recipes/test/**/*.server.test.ts",
  "packages/test-servers/test/redis/**/*.server.test.ts",
  "e2e/redis/**/*.test.ts",
  "e2e/redis-behaviours/**/*.test.ts",
  "e2e/redis-defects/**/*.test.ts",
  "e2e/redis-costs/**/*.test.ts",
  "e2e/redis-faults/**/*.test.ts",
  "e2e/redis-start/**/*.test.ts",
  "e2e/interop-redis/**/*.test.ts",
  "e2e/redlock/**/*.test.ts",
  "e2e/redis-multi/**/*.test.ts",
];
/** What measures times and sizes, or starves servers and processes: nothing else may run beside it. */
const alone = [
  "e2e/faults/silent/**/*.test.ts",
  "e2e/faults/server/leader.test.ts",
  "e2e/faults/server/restart.test.ts",
  "e2e/ensemble/**/*.test.ts",
  "e2e/behaviours/ensemble.test.ts",
  "e2e/embedded/bench.test.ts",
  "e2e/zookeeper/scale.test.ts",
  "e2e/zookeeper/collector/scale.test.ts",
];

/** What drives a browser. */
const dashboard = ["e2e/dashboard/**/*.test.ts"];

export default defineConfig({
  ...shared,
  test: {
    pool: "forks",
    dangerouslyIgnoreUnhandledErrors: false,
    projects: [
      {
        ...shared,
        test: {
          name: "unit",
          include: ["packages/*/test/**/*.test.ts", "apps/*/test/**/*.test.ts"],
          exclude: ["**/*.server.test.ts"],
          testTimeout: 20_000,
        },
      },
      {
        ...shared,
        test: {
          name: "servers",
          include: withServers,
          exclude: [...alone, ...redis, ...dashboard],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...shared,
        test: {
          name: "alone",
          include: alone,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...shared,
        test: {
          name: "redis",
          include: redis,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...shared,
        test: {
          name: "dashboard",
          include: dashboard,
          globalSetup: "e2e/dashboard/support/build-page.ts",
          testTimeout: 60_000,
          hookTimeout: 90_000,
        },
      },
    ],
  },
});
