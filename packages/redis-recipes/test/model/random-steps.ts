import type { Dice, Differential } from "./differential.js";

export type Step = () => Promise<unknown>;

/** Runs `count` steps, each picked by its weight. */
export async function randomSteps(
  dice: Dice,
  count: number,
  weights: readonly [number, Step][],
): Promise<void> {
  const all = weights.flatMap(([weight, step]) => Array<Step>(weight).fill(step));
  for (let step = 0; step < count; step++) await dice.of(all)();
}

export const hours = (count: number): number => count * 3_600_000;

export const byStatus = (answer: {
  status: string;
  serverMs: number;
}): { serverMs: number; what: string } => ({
  serverMs: answer.serverMs,
  what: answer.status,
});

/** All outcomes of a batch, so that each of them is counted. */
export const byStatuses = (
  answers: readonly { status: string; serverMs: number }[],
): { serverMs: number; what: string } => ({
  serverMs: answers[0]?.serverMs ?? 0,
  what: [...new Set(answers.map((each) => each.status))].sort().join("+"),
});

/** Plays the end of a lease as the server shows it: the key is gone. */
export function dropKey(both: Differential, key: string): Promise<void> {
  return both.edit("gone", "redis.call('DEL', KEYS[1])", [key], [], (space) => space.del(key));
}

/** Puts the score of an existing member into the past. */
export function backdate(both: Differential, key: string, member: string): Promise<void> {
  return both.edit(
    "backdated",
    `if redis.call('ZSCORE', KEYS[1], ARGV[1]) then redis.call('ZADD', KEYS[1], 5, ARGV[1]) end`,
    [key],
    [member],
    (space) => {
      if (space.zset(key).has(member)) space.score(key, member, 5);
    },
  );
}

/** Puts something that no lock writes under a key, lets `seen` meet it, and removes it. */
export async function foreign(
  both: Differential,
  dice: Dice,
  choices: readonly [string, string, ...string[]][],
  seen: Step,
): Promise<void> {
  const [key, command, ...rest] = dice.of(choices);
  await both.edit(
    `foreign ${command}`,
    `redis.call('DEL', KEYS[1]) redis.call('${command}', KEYS[1], unpack(ARGV))`,
    [key],
    rest,
    (space) => {
      space.del(key);
      if (command === "SET") space.set(key, rest[0] as string);
      if (command === "HSET") space.hset(key, rest[0] as string, rest[1] as string);
      if (command === "RPUSH") space.push(key, rest[0] as string);
    },
  );
  await seen();
  await dropKey(both, key);
}
