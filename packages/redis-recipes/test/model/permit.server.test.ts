import { test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { permitKeyList, permitKeys } from "../../src/layout/keys.js";
import { permitRelease } from "../../src/scripts/permit/release.js";
import { permitRenew } from "../../src/scripts/permit/renew.js";
import { permitSet } from "../../src/scripts/permit/set.js";
import { permitTake } from "../../src/scripts/permit/take.js";
import { Dice, Differential, limitMs, steps } from "./differential.js";
import { expectMet } from "./met.js";
import { PermitModel } from "./permit-model.js";
import { byStatus, byStatuses, dropKey, foreign, hours, randomSteps } from "./random-steps.js";
import { stage } from "./stage.js";

const on = stage();

test(
  "the scripts of the semaphore with leases do what the model does, step by step",
  async () => {
    const dice = new Dice("permit scripts");
    const name = dice.of(["orders", "orders:{42}"]);
    const keys = permitKeys(name);
    const list = permitKeyList(keys);
    const both = new Differential(on.server);
    const model = new PermitModel(both.space, keys, on.runId);
    const publishing = () => ({
      publish: dice.of(["publish", "publish", "both", "none"] as const),
      channel: redissonChannels.semaphore(name),
    });
    const fresh = () => Array.from({ length: 32 }, () => dice.below(16).toString(16)).join("");
    const batches: string[][] = [];
    const batch = () => {
      const known = batches.slice(-6);
      if (known.length === 0 || dice.chance(0.1)) return [fresh()];
      const ids = dice.of(known);
      return dice.chance(0.85) ? ids : [...ids.slice(1), fresh()];
    };

    const take = async () => {
      const ids = dice.chance(0.8) ? Array.from({ length: 1 + dice.below(3) }, fresh) : batch();
      batches.push(ids);
      const given = {
        ids,
        leaseMs: dice.of([null, hours(1), hours(2), hours(5)]),
        limit: dice.of([null, null, 5, 6]),
        notAfterMs: dice.of([null, null, null, 1]),
        tokenTtlMs: dice.of([0, hours(24)]),
        floor: BigInt(dice.below(2)) * 1_500_000_000_000_000n,
        ...publishing(),
      };
      await both.run(permitTake, list, permitTake.args(given), () => model.take(given), byStatus);
    };
    const release = async () => {
      const given = { ids: batch(), ...publishing() };
      await both.run(permitRelease, list, permitRelease.args(given), () => model.release(given), byStatus);
    };
    const renew = async () => {
      const entries = Array.from({ length: 1 + dice.below(3) }, () => ({
        ids: batch(),
        leaseMs: hours(1 + dice.below(6)),
      }));
      const args = permitRenew.args(null, entries);
      await both.run(
        permitRenew,
        entries.flatMap(() => list),
        args,
        () => model.renew(entries),
        byStatuses,
      );
    };
    const set = async () => {
      const given = {
        limit: dice.of([null, 1, 5, 5, 6, 8]),
        onlyIfUnset: dice.chance(0.3),
        notAfterMs: dice.of([null, null, null, 1]),
        ...publishing(),
      };
      await both.run(permitSet, list, permitSet.args(given), () => model.set(given), byStatus);
    };
    const lapse = async () => {
      const id = dice.of(batch());
      const member = Buffer.from(id, "hex").toString("latin1");
      await both.edit(
        "a permit lapses",
        `local id = string.gsub(ARGV[1], '..', function(pair) return string.char(tonumber(pair, 16)) end)
if redis.call('ZSCORE', KEYS[1], id) then redis.call('ZADD', KEYS[1], 5, id) end`,
        [keys.grants],
        [id],
        (space) => {
          if (space.zset(keys.grants).has(member)) space.score(keys.grants, member, 5);
        },
      );
    };
    const limited = () =>
      both.edit("a TTL", `redis.call('PEXPIRE', KEYS[1], ${hours(9)})`, [keys.permits], [], (space) =>
        space.expire(keys.permits, hours(9)),
      );
    const strange = () =>
      foreign(
        both,
        dice,
        [
          [keys.permits, "SET", "x"],
          [keys.permits, "RPUSH", "x"],
          [keys.grants, "RPUSH", "x"],
          [keys.token, "SET", "text"],
        ],
        () => dice.of([take, release, renew, set])(),
      );

    await randomSteps(dice, steps("semaphore with leases"), [
      [36, take],
      [24, release],
      [10, renew],
      [8, set],
      [10, lapse],
      [1, limited],
      [2, () => dropKey(both, keys.permits)],
      [1, () => dropKey(both, keys.grants)],
      [2, strange],
    ]);

    expectMet(both.tally, [
      "permit-release gone",
      "permit-release released",
      "permit-renew gone",
      "permit-renew renewed",
      "permit-set counted",
      "permit-set late",
      "permit-take beyond",
      "permit-take busy",
      "permit-take conflict",
      "permit-take granted",
      "permit-take late",
      "permit-take limit",
      "permit-take unset",
    ]);
  },
  limitMs,
);
