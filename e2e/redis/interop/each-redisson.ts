import { describe, expect, it } from "vitest";
import { type RedissonVersion, redissonVersions } from "../../support/redisson/redisson-versions.js";

const fullRun = process.env.HOLDFAST_FULL === "1";
const choices = await redissonVersions();

/**
 * The same tests with each Redisson that this machine can have. What it cannot have is a test by that name, which says why,
 * and fails where a continuous integration runs it: there both are required.
 */
export function withEachRedisson(
  title: string,
  tests: (redisson: RedissonVersion) => void,
  { newestAlone = false }: { readonly newestAlone?: boolean } = {},
): void {
  for (const { version, missing } of choices) {
    // What both have in common is looked at with both in a full run; a JVM costs seconds.
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
