import { test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { mutexKeyList, mutexKeys } from "../../src/layout/keys.js";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import { mutexAcquireAll } from "../../src/scripts/mutex/acquire-all.js";
import { mutexRelease } from "../../src/scripts/mutex/release.js";
import { Dice, Differential, limitMs, steps, wholeLease } from "./differential.js";
import { expectMet } from "./met.js";
import { MutexModel } from "./mutex-model.js";
import { backdate, byStatus, dropKey, foreign, hours, randomSteps } from "./random-steps.js";
import { javaOwners, ourOwners, stage } from "./stage.js";

const on = stage();

test(
  "several mutexes at once are all taken or none, as the model says, among single locks of both kinds",
  async () => {
    const dice = new Dice("several mutexes at once");
    const names = dice.of([
      ["a", "b", "c"],
      ["a:{7}", "{7}", "c:{7}"],
    ]);
    const both = new Differential(on.server);
    const models = names.map((name) => new MutexModel(both.space, mutexKeys(name), on.runId));
    const highest = new Map<string, bigint>();
    const lease = (owner: string) => hours(ourOwners.indexOf(owner) + 2);
    const floorOf = (name: string) =>
      (highest.get(name) ?? 0n) + (dice.chance(0.05) ? BigInt(dice.below(3_600_000_000)) : 0n);
    const saw = (name: string, token: bigint) => {
      if (token > (highest.get(name) ?? 0n)) highest.set(name, token);
    };
    const some = () => {
      const places = [0, 1, 2].sort(() => dice.below(3) - 1);
      return places.slice(0, 1 + dice.below(3));
    };
    const keysOf = (place: number) => mutexKeys(names[place] as string);
    const modelOf = (place: number) => models[place] as MutexModel;
    const holderOf = (place: number) => {
      const { lock } = keysOf(place);
      return both.space.type(lock) === "hash" ? [...both.space.hash(lock).keys()][0] : undefined;
    };

    const acquireAll = async () => {
      const places = some();
      const again = dice.chance(0.3);
      const entries = places.map((place) => {
        const own = ourOwners.find((owner) => owner === holderOf(place));
        // Sometimes the present holder asks, as if its request came twice.
        const owner = (again ? own : undefined) ?? dice.of(ourOwners);
        return { owner, leaseMs: lease(owner), floor: floorOf(names[place] as string) };
      });
      const common = {
        notAfterMs: dice.of([null, null, null, 1, both.space.nowMs + hours(1)]),
        tokenTtlMs: dice.of([0, hours(24)]),
        aliveMs: hours(3),
      };
      const answer = await both.run(
        mutexAcquireAll,
        places.flatMap((place) => mutexKeyList(keysOf(place))),
        mutexAcquireAll.args(common, entries),
        () => MutexModel.acquireAll(places.map(modelOf), common, entries),
        ({ status, serverMs, ...more }) => ({
          serverMs,
          what: `${status} ${"index" in more ? `at ${more.index}` : `of ${places.length}`}`,
        }),
      );
      if (answer.status !== "granted") return;
      for (const [i, { token }] of answer.grants.entries()) saw(names[places[i] as number] as string, token);
    };
    const acquire = async () => {
      const place = dice.below(3);
      const owner = dice.of(ourOwners);
      const name = names[place] as string;
      const given = {
        owner,
        leaseMs: lease(owner),
        mayWait: dice.chance(0.7),
        aliveMs: hours(3),
        notAfterMs: null,
        tokenTtlMs: hours(24),
        floor: highest.get(name) ?? 0n,
        changes: "",
      };
      const answer = await both.run(
        wholeLease(mutexAcquire, given.leaseMs),
        mutexKeyList(keysOf(place)),
        mutexAcquire.args(given),
        () => modelOf(place).acquire(given),
        byStatus,
      );
      if (answer.status === "granted") saw(name, answer.token);
    };
    const release = async () => {
      const place = dice.below(3);
      const given = {
        owner: holderOf(place) ?? dice.of(ourOwners),
        claimMs: hours(1),
        aliveMs: hours(3),
        maxDirectRun: dice.of([2, -1, 0]),
        tokenTtlMs: hours(24),
        publish: "publish" as const,
        channel: redissonChannels.mutex(names[place] as string),
        changes: "",
      };
      await both.run(
        mutexRelease,
        mutexKeyList(keysOf(place)),
        mutexRelease.args(given),
        () => modelOf(place).release(given),
        byStatus,
      );
    };
    const anyKey = () => keysOf(dice.below(3));
    const javaTakes = async () => {
      const { lock } = anyKey();
      const owner = dice.of(javaOwners);
      await both.edit(
        "java takes",
        `if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], ARGV[1], '1')
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end`,
        [lock],
        [owner, hours(5)],
        (space) => {
          if (space.type(lock) !== "none") return;
          space.hset(lock, owner, "1");
          space.expire(lock, hours(5));
        },
      );
    };
    const strange = () => {
      const { lock, token } = anyKey();
      return foreign(
        both,
        dice,
        [
          [lock, "SET", "x"],
          [lock, "HSET", "mode", "read"],
          [token, "SET", "text"],
        ],
        acquireAll,
      );
    };

    await randomSteps(dice, steps("several mutexes at once"), [
      [30, acquireAll],
      [12, acquire],
      [24, release],
      [3, javaTakes],
      [14, () => dropKey(both, anyKey().lock)],
      [6, () => dropKey(both, anyKey().waiters)],
      [8, () => backdate(both, anyKey().alive, dice.of(ourOwners))],
      [1, () => dropKey(both, anyKey().token)],
      [2, strange],
    ]);

    expectMet(both.tally, [
      "mutex-acquire-all busy at 0",
      "mutex-acquire-all busy at 1",
      "mutex-acquire-all busy at 2",
      "mutex-acquire-all conflict at 0",
      "mutex-acquire-all late of 1",
      "mutex-acquire-all granted of 1",
      "mutex-acquire-all granted of 2",
      "mutex-acquire-all granted of 3",
    ]);
  },
  limitMs,
);
