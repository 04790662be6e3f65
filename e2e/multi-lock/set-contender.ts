/**
 * A process that takes sets of locks, steered by lines as in `support/line-process.ts`: `connect <connectString>`,
 * `contend <how> <seed> <rounds> <label> <folder> <name>...`, `close`. It ends with its stdin. `how`: `together` takes each set as one
 * multi-lock; `singly` takes one mutex after the other, by name. Started by `set-contenders.ts`.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { LockHandle } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";

const waitMs = 60_000;
let locks: ZooKeeperLocks | undefined;

async function run(command: string, args: readonly string[]): Promise<void> {
  if (command === "connect") {
    locks = zookeeperLocks({ connect: args[0] ?? "", sessionTimeoutMs: 10_000 });
    return await locks.ready();
  }
  if (locks === undefined) throw new Error(`${command} before connect`);
  if (command === "contend") {
    const [how = "", seed = "", rounds = "", label = "", folder = "", ...names] = args;
    return await contend(locks, { how, seed: Number(seed), rounds: Number(rounds), label, folder, names });
  }
  if (command === "close") return void (await locks.close());
  throw new Error(`no such command: ${command}`);
}

interface Contest {
  readonly how: string;
  readonly seed: number;
  readonly rounds: number;
  readonly label: string;
  readonly folder: string;
  readonly names: readonly string[];
}

async function contend(locks: ZooKeeperLocks, contest: Contest): Promise<void> {
  const random = chance(contest.seed);
  for (let round = 0; round < contest.rounds; round += 1) {
    const set = shuffled(contest.names, random).slice(
      0,
      2 + Math.floor(random() * (contest.names.length - 1)),
    );
    const held = contest.how === "together" ? await together(locks, set) : await singly(locks, set);
    try {
      for (const name of set) await countOne(contest, name);
    } finally {
      for (const handle of held) await handle.release();
    }
  }
}

async function together(
  locks: ZooKeeperLocks,
  set: readonly string[],
): Promise<readonly Pick<LockHandle, "release">[]> {
  return [await multiLock(set.map((name) => locks.mutex(name))).acquire({ waitMs })];
}

async function singly(
  locks: ZooKeeperLocks,
  set: readonly string[],
): Promise<readonly Pick<LockHandle, "release">[]> {
  const held: LockHandle[] = [];
  for (const name of [...set].sort()) held.push(await locks.mutex(name).acquire({ waitMs }));
  return held.reverse();
}

/** What nothing but the lock of that name protects: two holders at once lose an update. */
async function countOne({ folder, label }: Contest, name: string): Promise<void> {
  const file = join(folder, encodeURIComponent(name));
  const text = await readFile(file, "utf8");
  if (text === "")
    throw new Error(`${label} found the counter of ${name} half written: somebody else holds it`);
  await writeFile(file, String(Number(text) + 1));
}

/** Repeats for a seed. */
function chance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function shuffled(items: readonly string[], random: () => number): string[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

function print(words: readonly string[]): void {
  process.stdout.write(`${words.map(encodeURIComponent).join(" ")}\n`);
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const [id = "", command = "", ...args] = line.split(" ").map(decodeURIComponent);
  run(command, args).then(
    () => print([id, "ok"]),
    (error: Error) => print([id, "error", error.name, error.message]),
  );
});
lines.on("close", () => process.exit(0));
print(["!", "started"]);
