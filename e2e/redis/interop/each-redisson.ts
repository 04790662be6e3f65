import { describe, expect, it } from "vitest";
import { type RedissonVersion, redissonVersions } from "../../support/redisson/redisson-versions.js";

const fullRun = process.env.HOLDFAST_FULL === "1";
const choices = await redissonVersions();

/**
 * Runs the same tests with each Redisson that this machine can have. For a version that it cannot have, one test by that name
 * gives the reason. That test fails in a continuous integration, where both versions are required.
 */
export function withEachRedisson(
  title: string,
  tests: (redisson: RedissonVersion) => void,
  { newestAlone = false }: { readonly newestAlone?: boolean } = {},
): void {
  for (const { version, missing } of choices) {
    // A full run looks with both versions at what they have in common. Other runs use the newest alone, since a JVM costs
    // seconds.
    if (newestAlone && !fullRun && version !== choices[0]?.version) {
      console.log(`share ${title}: Redisson ${choices[0]?.version} alone, ${version} in a full run`);
    } else if (missing === null) describe(`${title} (Redisson ${version})`, () => tests(version));
    else {
      describe(`${title} (Redisson ${version})`, () => {
        it(`is not looked at on this machine: ${missing.split("\n", 1)[0]}`, () => {
          console.log(`interop with Redisson ${version} is left out: ${missing}`);
          expect(process.env.CI, "a continuous integration that cannot have it").toBeUndefined();
        });
      });
    }
  }
}
