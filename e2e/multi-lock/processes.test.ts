import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { share } from "../support/share.js";
import { Operator } from "../zookeeper/features/operator.js";
import { type SetContender, type SetContest, startSetContenders } from "./set-contenders.js";

const fullRounds = 10_000;
const names = ["a", "b", "c", "d"].map((letter) => `/sets/${letter}`);

let server: ZooKeeperNode;
let contenders: readonly SetContender[] = [];
let folder: string;

beforeAll(async () => {
  server = await startZooKeeper();
  folder = await mkdtemp(join(tmpdir(), "holdfast-sets-"));
  contenders = await startSetContenders(server.connectString, 3);
}, 180_000);
afterAll(async () => {
  await Promise.all(contenders.map((contender) => contender.close()));
  await rm(folder, { recursive: true, force: true });
  await server?.stop();
});

describe("processes that take overlapping sets in orders of their own", () => {
  it.each([
    { title: "two multi-locks", kinds: ["together", "together"] },
    { title: "three multi-locks", kinds: ["together", "together", "together"] },
    {
      title: "two multi-locks, and one that takes single locks by name",
      kinds: ["together", "together", "singly"],
    },
  ] as const)(
    "all get through, lose no update and leave nothing: $title",
    async ({ title, kinds }) => {
      const rounds = share(`rounds of ${title}`, 120, Math.ceil(fullRounds / kinds.length));
      const withinMs = 60_000 + rounds * 200;
      const seed = Math.floor(Math.random() * 2 ** 31);
      console.log(`seed ${seed}`);
      for (const name of names) await writeFile(join(folder, encodeURIComponent(name)), "0");
      const startedMs = performance.now();
      await Promise.all(
        kinds.map((how, i) => {
          const contest: SetContest = { how, seed: seed + i, rounds, label: `${how}-${i}`, folder, names };
          return (contenders[i] as SetContender).contend(contest, withinMs);
        }),
      );
      const perSecond = Math.round((kinds.length * rounds * 1_000) / (performance.now() - startedMs));
      console.log(`${kinds.length * rounds} sets, ${perSecond} a second`);
      const operator = await Operator.connect(server.connectString);
      let counted = 0;
      for (const name of names) {
        counted += Number(await readFile(join(folder, encodeURIComponent(name)), "utf8"));
        expect(await operator.children(name), name).toEqual([]);
      }
      expect(counted).toBe(kinds.reduce((sum, _, i) => sum + turnsOf(seed + i, rounds), 0));
    },
    60_000 + fullRounds * 120,
  );
});

/** As in `set-contender.ts`: how many locks are taken in so many rounds. */
function turnsOf(seed: number, rounds: number): number {
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
