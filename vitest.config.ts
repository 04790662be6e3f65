import { defineConfig } from "vitest/config";

// Siblings resolve to their sources, so that tests need no build.
const source = { conditions: ["@holdfast/source"] };
const shared = { resolve: source, ssr: { resolve: source } };

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
          include: [
            "packages/*/test/**/*.server.test.ts",
            "apps/*/test/**/*.server.test.ts",
            "e2e/**/*.test.ts",
          ],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
