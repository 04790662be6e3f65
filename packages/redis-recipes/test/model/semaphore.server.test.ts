import { test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { semaphoreKeys } from "../../src/layout/keys.js";
import { semaphoreGive } from "../../src/scripts/semaphore/give.js";
import { semaphoreTake } from "../../src/scripts/semaphore/take.js";
import { Dice, Differential, limitMs, steps } from "./differential.js";
import { expectMet } from "./met.js";
import { byStatus, dropKey, foreign, hours, randomSteps } from "./random-steps.js";
import { SemaphoreModel } from "./semaphore-model.js";
import { stage } from "./stage.js";

const on = stage();

test(
  "the semaphore's scripts do what the model does, step by step",
  async () => {
    const dice = new Dice("semaphore scripts");
    const name = dice.of(["orders", "orders:{42}"]);
    const keys = semaphoreKeys(name);
    const both = new Differential(on.server);
    const model = new SemaphoreModel(both.space, keys, on.runId);
    const takes: string[] = [];
    let drawn = 0;
    const some = () =>
      takes.length === 0 || dice.chance(0.1) ? `take:${++drawn}` : dice.of(takes.slice(-6));
    const publishing = () => ({
      publish: dice.of(["publish", "publish", "both", "none"] as const),
      channel: redissonChannels.semaphore(name),
    });

    const take = async () => {
      const owner = dice.chance(0.8) ? `take:${++drawn}` : some();
      takes.push(owner);
      const given = {
        owner,
        permits: 1 + dice.below(3),
        initial: dice.of([null, 5, 2]),
        notAfterMs: dice.of([null, null, null, 1]),
        tokenTtlMs: dice.of([0, hours(24)]),
        floor: BigInt(dice.below(2)) * 1_500_000_000_000_000n,
        markerMs: hours(1),
      };
      const keysOf = [keys.permits, keys.token, keys.markerPrefix + owner];
      await both.run(semaphoreTake, keysOf, semaphoreTake.args(given), () => model.take(given), byStatus);
    };
    const give = async () => {
      const owner = some();
      const given = {
        permits: 1 + dice.below(3),
        markerMs: hours(1),
        ...publishing(),
      };
      const keysOf = [keys.permits, keys.markerPrefix + owner];
      await both.run(
        semaphoreGive,
        keysOf,
        semaphoreGive.args(given),
        () => model.give(owner, given),
        byStatus,
      );
    };
    // The number as `addPermits` or `drainPermits` of Redisson may leave it: it can be below zero.
    const change = () => {
      const free = String(dice.below(9) - 4);
      return both.edit(
        "another number",
        "redis.call('SET', KEYS[1], ARGV[1])",
        [keys.permits],
        [free],
        (space) => space.set(keys.permits, free),
      );
    };
    const strange = () =>
      foreign(
        both,
        dice,
        [
          [keys.permits, "SET", "x"],
          [keys.permits, "RPUSH", "x"],
          [keys.token, "SET", "text"],
        ],
        () => dice.of([take, give])(),
      );
    // Old markers would fill the snapshot that is read after each step.
    const forget = async () => {
      for (const key of [...both.space.keys.keys()].filter((each) => each.startsWith(keys.markerPrefix))) {
        await dropKey(both, key);
      }
    };

    await randomSteps(dice, steps("semaphore"), [
      [40, take],
      [35, give],
      [10, change],
      [3, () => dropKey(both, keys.permits)],
      [2, strange],
      [1, forget],
    ]);

    expectMet(both.tally, [
      "semaphore-give given",
      "semaphore-give nothing",
      "semaphore-take busy",
      "semaphore-take conflict",
      "semaphore-take granted",
      "semaphore-take late",
    ]);
  },
  limitMs,
);
