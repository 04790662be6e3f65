/**
 * A process that takes sets of locks. It is started by `set-contenders.ts` and steered by lines, as in
 * `support/process/line-process.ts`. It ends with its stdin.
 *
 * - `connect <connectString of ZooKeeper, or -> <url of Redis, or ->`. Names that begin with `/` are ZooKeeper's, the others are
 *   Redis's.
 * - `contend <how> <seed> <rounds> <label> <folder> <name>...` -> longest wait in ms. `how`: `together` takes each set as one
 *   multi-lock; `singly` takes one mutex after the other, by name.
 * - `progress` -> rounds done by the last `contend`.
 * - `hold <name>...` takes all of these locks, and `free` gives them back.
 * - `close`.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LockHandle, LockProvider, Mutex } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import { redisLocks } from "@holdfast/redis-recipes";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { answerLines } from "../support/process/answer-lines.js";

const waitMs = 60_000;
const providers: { zookeeper?: LockProvider; redis?: LockProvider } = {};
let done = 0;
let gate: Pick<LockHandle, "release"> | undefined;

async function run(command: string, args: readonly string[]): Promise<readonly string[]> {
  if (command === "connect") {
    const [connect = "-", url = "-"] = args;
    if (connect !== "-") providers.zookeeper = zookeeperLocks({ connect, sessionTimeoutMs: 10_000 });
    if (url !== "-") providers.redis = redisLocks({ url });
    await Promise.all(Object.values(providers).map((locks) => locks.ready()));
    return [];
  }
  if (command === "contend") {
    const [how = "", seed = "", rounds = "", label = "", folder = "", ...names] = args;
    return [await contend({ how, seed: Number(seed), rounds: Number(rounds), label, folder, names })];
  }
  if (command === "progress") return [String(done)];
  if (command === "hold") {
    [gate] = await together(args);
    return [];
  }
  if (command === "free") {
    await gate?.release();
    return [];
  }
  if (command === "close") {
    await Promise.all(Object.values(providers).map((locks) => locks.close()));
    return [];
  }
  throw new Error(`no such command: ${command}`);
}

function mutexOf(name: string): Mutex {
  const locks = name.startsWith("/") ? providers.zookeeper : providers.redis;
  if (locks === undefined) throw new Error(`not connected to what has ${name}`);
  return locks.mutex(name);
}

interface Contest {
  readonly how: string;
  readonly seed: number;
  readonly rounds: number;
  readonly label: string;
  readonly folder: string;
  readonly names: readonly string[];
}

async function contend(contest: Contest): Promise<string> {
  const random = chance(contest.seed);
  let longestMs = 0;
  done = 0;
  for (let round = 0; round < contest.rounds; round += 1) {
    const set = shuffled(contest.names, random).slice(
      0,
      2 + Math.floor(random() * (contest.names.length - 1)),
    );
    const askedMs = performance.now();
    const held = contest.how === "together" ? await together(set) : await singly(set);
    longestMs = Math.max(longestMs, performance.now() - askedMs);
    try {
      for (const name of set) await countOne(contest, name);
    } finally {
      for (const handle of held) await handle.release();
    }
    done = round + 1;
  }
  return String(Math.round(longestMs));
}

async function together(set: readonly string[]): Promise<readonly Pick<LockHandle, "release">[]> {
  return [await multiLock(set.map(mutexOf)).acquire({ waitMs })];
}

async function singly(set: readonly string[]): Promise<readonly Pick<LockHandle, "release">[]> {
  const held: LockHandle[] = [];
  for (const name of [...set].sort()) held.push(await mutexOf(name).acquire({ waitMs }));
  return held.reverse();
}

/** Adds one to a number that nothing but the lock of that name protects: two holders at once lose an update. */
async function countOne({ folder, label }: Contest, name: string): Promise<void> {
  const file = join(folder, encodeURIComponent(name));
  const text = await readFile(file, "utf8");
  if (text === "")
    throw new Error(`${label} found the counter of ${name} half written: somebody else holds it`);
  await writeFile(file, String(Number(text) + 1));
}

/** Random numbers, the same for the same seed. */
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

answerLines((command, ...args) => run(command, args));
