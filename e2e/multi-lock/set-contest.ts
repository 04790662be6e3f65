import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { share } from "../support/share.js";
import type { SetContender, SetContest } from "./set-contenders.js";

const fullRounds = 10_000;
/** When the first process has done all its rounds, every other process must have done at least this share of its own. */
const leastShare = 0.1;

export interface Stage {
  contenders(): readonly SetContender[];
  /** Rejects, or fails, when anything of the lock is left. */
  expectFree(name: string): Promise<void>;
}

/**
 * Processes take overlapping sets of `names`, each in orders of its own. Each lock guards a file with a number. Two holders at
 * once lose an update, a deadlock ends in a time-out, and a partial hold is found at the end.
 */
export function setContests(names: readonly string[], stage: Stage): void {
  it.each([
    { title: "two multi-locks", part: 60, kinds: ["together", "together"] },
    { title: "three multi-locks", part: 80, kinds: ["together", "together", "together"] },
    {
      title: "two multi-locks, and one that takes single locks by name",
      part: 60,
      kinds: ["together", "together", "singly"],
    },
  ] as const)(
    "all get through, lose no update and leave nothing: $title",
    async ({ title, part, kinds }) => {
      const total = share(`rounds of ${title}, ${names.join(" ")}`, part, fullRounds);
      const rounds = Math.ceil(total / kinds.length);
      const withinMs = 60_000 + rounds * 200;
      const seed = Math.floor(Math.random() * 2 ** 31);
      console.log(`seed ${seed}`);
      const folder = await mkdtemp(join(tmpdir(), "holdfast-sets-"));
      try {
        for (const name of names) await writeFile(join(folder, encodeURIComponent(name)), "0");
        const contenders = stage.contenders().slice(0, kinds.length);
        // All processes have asked for their first set before the first one gets its own. One that began a little late would
        // find the others done, because all their rounds take some tenths of a second.
        const free = await (contenders[0] as SetContender).hold(names);
        const startedMs = performance.now();
        const contests = contenders.map((contender, i) => {
          const how = kinds[i] as SetContest["how"];
          const contest = { how, seed: seed + i, rounds, label: `${how}-${i}`, folder, names };
          return contender.contend(contest, withinMs);
        });
        await Promise.all(contenders.map((contender) => contender.progress()));
        await free();
        await Promise.race(contests);
        const progress = await Promise.all(contenders.map((contender) => contender.progress()));
        const waits = (await Promise.all(contests)).map(({ longestWaitMs }) => longestWaitMs);
        const perSecond = Math.round((kinds.length * rounds * 1_000) / (performance.now() - startedMs));
        console.log(
          `${kinds.length * rounds} sets, ${perSecond} a second; longest waits ${waits.join(", ")} ms; ` +
            `when the first was through, of ${rounds} each had ${progress.join(", ")}`,
        );
        expect(Math.min(...progress)).toBeGreaterThanOrEqual(leastShare * rounds);
        let counted = 0;
        for (const name of names) {
          counted += Number(await readFile(join(folder, encodeURIComponent(name)), "utf8"));
          await stage.expectFree(name);
        }
        expect(counted).toBe(kinds.reduce((sum, _, i) => sum + turnsOf(names, seed + i, rounds), 0));
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    60_000 + fullRounds * 120,
  );
}

/** How many locks are taken in `rounds` rounds. The random numbers are drawn as in `set-contender.ts`. */
function turnsOf(names: readonly string[], seed: number, rounds: number): number {
  let state = seed >>> 0;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  let turns = 0;
  for (let round = 0; round < rounds; round++) {
    for (const _ of names) random();
    turns += Math.min(names.length, 2 + Math.floor(random() * (names.length - 1)));
  }
  return turns;
}
