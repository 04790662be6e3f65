import { afterAll, beforeAll, describe } from "vitest";
import { everyLock, plainLocks, reentrantMutex } from "./lock-recipes.js";
import { plainLockRows, reentrantRows } from "./rows/entering.js";
import { everyLockRows, restartRow } from "./rows/every-lock.js";
import { multiLockRows } from "./rows/multi-lock.js";
import { mutexRows } from "./rows/mutex.js";
import { createRows, deleteRows } from "./rows/requests.js";
import { lateRows, parentRows, sessionRows } from "./rows/session.js";
import type { Site } from "./site.js";

/** Registers the behaviours of the mutex and of the parts that lie under every recipe, on one server. */
export function behaviours(title: string, site: Site): void {
  describe(title, () => {
    let startedMs = 0;
    beforeAll(async () => {
      await site.start();
      startedMs = performance.now();
    });
    afterAll(async () => {
      console.log(`behaviours, ${title}: ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
      await site.stop();
    });

    describe.each(everyLock)("$title", (recipe) => everyLockRows(site, recipe));
    describe.each(plainLocks)("$title", (recipe) => plainLockRows(site, recipe));
    describe(reentrantMutex.title, () => reentrantRows(site));
    restartRow(site);
    mutexRows(site);
    multiLockRows(site);
    deleteRows(site);
    createRows(site);
    sessionRows(site);
    lateRows(site);
    parentRows(site);
  });
}
