import { test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { mutexKeyList, mutexKeys } from "../../src/layout/keys.js";
import { mutexRelease } from "../../src/scripts/mutex/release.js";
import { extend } from "../../src/scripts/redlock/extend.js";
import { nodeIdentityKey } from "../../src/scripts/redlock/identity.js";
import { vote } from "../../src/scripts/redlock/vote.js";
import { Dice, Differential, limitMs, steps } from "./differential.js";
import { expectMet } from "./met.js";
import { MutexModel } from "./mutex-model.js";
import { byStatus, dropKey, foreign, hours, randomSteps } from "./random-steps.js";
import { RedLockModel } from "./redlock-model.js";
import { javaOwners, ourOwners, stage } from "./stage.js";

const on = stage();

test(
  "the scripts of a voting node do what the model does, step by step",
  async () => {
    const dice = new Dice("redlock scripts");
    const name = dice.of(["orders", "orders:{42}"]);
    const mutex = mutexKeys(name);
    const keys = { lock: mutex.lock, token: mutex.token, identity: nodeIdentityKey };
    const keyList = [keys.lock, keys.token, keys.identity];
    const both = new Differential(on.server);
    const model = new RedLockModel(both.space, keys, on.runId);
    const releasing = new MutexModel(both.space, mutex, on.runId);
    const owners = [...ourOwners.slice(0, 3), ...javaOwners.slice(0, 1)];
    const holder = () =>
      both.space.type(keys.lock) === "hash" && dice.chance(0.6)
        ? ([...both.space.hash(keys.lock).keys()][0] as string)
        : dice.of(owners);
    const node = () => ({
      guard: dice.chance(0.7),
      // The test never lasts this long. So a young node sits out, and a node that was made older votes.
      maxLeaseMs: dice.of([hours(1), hours(1), hours(2)]),
      tokenTtlMs: dice.of([0, hours(24)]),
    });

    const ask = async () => {
      const given = {
        owner: dice.of(owners),
        leaseMs: hours(1 + dice.below(2)),
        notAfterMs: dice.of([null, null, null, 1]),
        ...node(),
      };
      await both.run(vote, keyList, vote.args(given), () => model.vote(given), byStatus);
    };
    const prolong = async () => {
      const given = {
        owner: holder(),
        leaseMs: dice.of([0, hours(1), hours(3)]),
        floor: BigInt(dice.below(3)) * 2_500_000_000_000_000n,
        ...node(),
      };
      await both.run(extend, keyList, extend.args(given), () => model.extend(given), byStatus);
    };
    const release = async () => {
      const given = {
        owner: holder(),
        claimMs: 3_000,
        aliveMs: 3_500,
        maxDirectRun: 8,
        tokenTtlMs: dice.of([0, hours(24)]),
        publish: "publish" as const,
        channel: redissonChannels.mutex(name),
        changes: "",
      };
      const args = mutexRelease.args(given);
      await both.run(mutexRelease, mutexKeyList(mutex), args, () => releasing.release(given), byStatus);
    };
    /** The node was first seen long ago, or tomorrow, or not at all, or it has the run id of another server. */
    const identity = async () => {
      const [field, value] = dice.of([
        ["first_seen_ms", "5"],
        ["first_seen_ms", "5"],
        ["first_seen_ms", "5"],
        ["first_seen_ms", "99999999999999"],
        ["first_seen_ms", "long ago"],
        ["run_id", "f".repeat(40)],
        ["longest_lease_ms", String(hours(1))],
      ] as const);
      if (both.space.type(keys.identity) !== "hash") await dropKey(both, keys.identity);
      await both.edit(
        `identity ${field}`,
        "redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])",
        [keys.identity],
        [field, value],
        (space) => space.hset(keys.identity, field, value),
      );
    };
    const persist = () =>
      both.edit("kept for ever", "redis.call('PERSIST', KEYS[1])", [keys.lock], [], (space) => {
        const key = space.keys.get(keys.lock);
        if (key) key.expiresMs = null;
      });
    const strange = () =>
      foreign(
        both,
        dice,
        [
          [keys.lock, "SET", "x"],
          [keys.lock, "HSET", "mode", "read"],
          [keys.lock, "HSET", ourOwners[0] as string, "text"],
          [keys.token, "SET", "text"],
          [keys.token, "RPUSH", "x"],
          [keys.identity, "SET", "x"],
        ],
        () => dice.of([ask, prolong, release])(),
      );

    await randomSteps(dice, steps("redlock"), [
      [35, ask],
      [30, prolong],
      [15, release],
      [10, identity],
      [3, () => dropKey(both, keys.lock)],
      [2, () => dropKey(both, keys.identity)],
      [2, persist],
      [2, strange],
    ]);

    expectMet(both.tally, [
      "redlock-vote granted",
      "redlock-vote busy",
      "redlock-vote quarantined",
      "redlock-vote late",
      "redlock-vote conflict",
      "redlock-extend extended",
      "redlock-extend gone",
      "redlock-extend quarantined",
      "mutex-release freed",
      "mutex-release gone",
    ]);
  },
  limitMs,
);
