import { test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { mutexKeyList, mutexKeys } from "../../src/layout/keys.js";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import { mutexAsk } from "../../src/scripts/mutex/ask.js";
import { mutexCancel } from "../../src/scripts/mutex/cancel.js";
import { mutexForce } from "../../src/scripts/mutex/force.js";
import { mutexHeartbeat } from "../../src/scripts/mutex/heartbeat.js";
import { prove } from "../../src/scripts/mutex/prove.js";
import { mutexRelease } from "../../src/scripts/mutex/release.js";
import { renew } from "../../src/scripts/mutex/renew.js";
import { stay } from "../../src/scripts/mutex/stay.js";
import { Dice, Differential, limitMs, steps, wholeLease } from "./differential.js";
import { expectMet } from "./met.js";
import { MutexModel, proveModel, renewModel } from "./mutex-model.js";
import { stayModel } from "./queue-model.js";
import { backdate, byStatus, byStatuses, dropKey, foreign, hours, randomSteps } from "./random-steps.js";
import { javaOwners, ourOwners, stage } from "./stage.js";

const on = stage();

test(
  "the mutex scripts do what the model does, step by step",
  async () => {
    const dice = new Dice("mutex scripts");
    const name = dice.of(["orders", "orders:{42}"]);
    const keys = mutexKeys(name);
    const list = mutexKeyList(keys);
    const both = new Differential(on.server);
    const model = new MutexModel(both.space, keys, on.runId);
    let highest = 0n;
    const lease = (owner: string) => hours(ourOwners.indexOf(owner) + 2);
    const floor = () => (dice.chance(0.05) ? highest + BigInt(dice.below(3_600_000_000)) : highest);
    const passArgs = () => ({
      claimMs: dice.of([hours(1), hours(9)]),
      aliveMs: hours(3),
      maxDirectRun: dice.of([2, 2, -1, 0]),
      tokenTtlMs: dice.of([0, hours(24)]),
      publish: dice.of(["publish", "publish", "both", "none", "spublish"] as const),
      channel: redissonChannels.mutex(name),
      changes: dice.of(["", "", "changed"]),
    });

    const acquire = async () => {
      const owner = dice.of(ourOwners);
      const given = {
        owner,
        leaseMs: lease(owner),
        mayWait: dice.chance(0.7),
        asksKeeper: dice.chance(0.5),
        tellsBefore: dice.chance(0.5),
        aliveMs: hours(3),
        notAfterMs: dice.of([null, null, 1, both.space.nowMs + hours(1)]),
        tokenTtlMs: dice.of([0, hours(24)]),
        floor: floor(),
        changes: dice.of(["", "changed"]),
      };
      const answer = await both.run(
        wholeLease(mutexAcquire, given.leaseMs),
        list,
        mutexAcquire.args(given),
        () => model.acquire(given),
        byStatus,
      );
      if (answer.status === "granted" && answer.token > highest) highest = answer.token;
    };
    const heartbeat = async () => {
      const entries = ourOwners
        .filter(() => dice.chance(0.4))
        .map((owner) => ({ owner, leaseMs: lease(owner), floor: floor() }));
      if (entries.length === 0) return;
      const common = {
        aliveMs: hours(3),
        claimMs: dice.of([hours(1), hours(9)]),
        notAfterMs: dice.of([null, null, null, 1]),
        tokenTtlMs: hours(24),
        changes: "",
      };
      await both.run(
        mutexHeartbeat,
        entries.flatMap(() => list),
        mutexHeartbeat.args(common, entries),
        () => model.heartbeat(common, entries),
        byStatuses,
      );
    };
    const staying = async () => {
      const owners = ourOwners.filter(() => dice.chance(0.5));
      if (owners.length === 0) return;
      const entries = [{ look: dice.of(["lock", "first", "life"] as const), owners }];
      const given = { aliveMs: dice.of([hours(3), hours(7)]), entries };
      await both.run(
        stay,
        [keys.lock, keys.waiters, keys.alive],
        stay.args(given),
        () => stayModel(both.space, [keys], given),
        ({ serverMs, stays }) => ({ serverMs, what: [...new Set(stays)].sort().join("+") }),
      );
    };
    const release = async () => {
      const [holder] = both.space.type(keys.lock) === "hash" ? both.space.hash(keys.lock).keys() : [];
      const given = {
        owner: dice.chance(0.7) ? (holder ?? dice.of(ourOwners)) : dice.of(ourOwners),
        ...passArgs(),
      };
      await both.run(mutexRelease, list, mutexRelease.args(given), () => model.release(given), byStatus);
    };
    const cancel = async () => {
      const owner = dice.of(ourOwners);
      const given = { owner, leaseMs: lease(owner), ...passArgs() };
      await both.run(mutexCancel, list, mutexCancel.args(given), () => model.cancel(given), byStatus);
    };
    const renewal = async () => {
      const entries = [...ourOwners, ...javaOwners]
        .filter(() => dice.chance(0.4))
        .map((field) => ({ ...keys, field, leaseMs: hours(1 + dice.below(12)) }));
      if (entries.length === 0) return;
      await both.run(
        renew,
        entries.flatMap(() => [keys.lock, keys.token]),
        renew.args(null, entries),
        () => renewModel(both.space, entries),
        byStatuses,
      );
    };
    const proof = async () => {
      // Token floors have brought the key hours ahead of the clock. That far ahead nothing is reserved, so the key is set back.
      if (dice.chance(0.5) && both.space.type(keys.token) === "string") {
        await both.edit(
          "token of a while ago",
          "redis.call('SET', KEYS[1], string.format('%.0f', nowUs - 5000000))",
          [keys.token],
          [],
          (server) => server.set(keys.token, String(server.nowUs - 5_000_000)),
        );
        highest = 0n;
      }
      const entries = [...ourOwners, ...javaOwners]
        .filter(() => dice.chance(0.4))
        .map((field) => ({
          ...keys,
          field,
          leaseMs: hours(1 + dice.below(12)),
          channel: redissonChannels.mutex(name),
          reserves: dice.chance(0.7),
        }));
      if (entries.length === 0) return;
      const listens = dice.of(["publish", "both", "none"] as const);
      const common = { listens, tokenTtlMs: dice.of([0, hours(24)]) };
      const answers = await both.run(
        prove,
        entries.flatMap(() => list.slice(0, 4)),
        prove.args(common, entries),
        () => proveModel(both.space, common, entries),
        byStatuses,
      );
      for (const answer of answers) {
        if (answer.status === "gone") continue;
        if (answer.token > highest) highest = answer.token;
        const what = answer.waited ? "waited" : answer.listeners > 0 ? "heard" : "alone";
        const met = `prove ${what}${answer.token > answer.above ? " reserved" : ""}`;
        both.tally.set(met, (both.tally.get(met) ?? 0) + 1);
      }
    };
    const force = async () => {
      const given = { expected: dice.of(["", ...ourOwners]), ...passArgs() };
      await both.run(mutexForce, list, mutexForce.args(given), () => model.force(given), byStatus);
    };
    const ask = () => both.run(mutexAsk, [keys.lock], [], () => model.ask(), byStatus);

    // What Redisson does, reduced to what matters to us.
    const javaTakes = async () => {
      const owner = dice.of(javaOwners);
      await both.edit(
        "java takes",
        `local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' or (kind == 'hash' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1) then
  redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end`,
        [keys.lock],
        [owner, hours(5)],
        (space) => {
          const count = space.hash(keys.lock).get(owner);
          if (space.type(keys.lock) !== "none" && count === undefined) return;
          space.hset(keys.lock, owner, String(Number(count ?? 0) + 1));
          space.expire(keys.lock, hours(5));
        },
      );
    };
    const javaListens = () => both.listen(redissonChannels.mutex(name), dice.chance(0.6));
    /** Ends Java's turn, as if the lock had been freed for Java some time ago. Otherwise turns last far longer than steps. */
    const turnOver = async () => {
      if (!space().startsWith("j")) return;
      both.tally.set("java's turn", (both.tally.get("java's turn") ?? 0) + 1);
      await dropKey(both, keys.run);
    };
    const space = () => both.space.string(keys.run) ?? "";
    const clockSetBack = () =>
      both.edit(
        "clock set back",
        "redis.call('SET', KEYS[1], ARGV[1])",
        [keys.run],
        ["j9999999999999"],
        (server) => server.set(keys.run, "j9999999999999"),
      );
    const strange = () =>
      foreign(
        both,
        dice,
        [
          [keys.lock, "SET", "x"],
          [keys.lock, "HSET", "mode", "read"],
          [keys.lock, "HSET", "a:1", "many"],
          [keys.lock, "RPUSH", "x"],
          [keys.token, "SET", "text"],
          [keys.token, "SET", "9007199254740991"],
          [keys.token, "RPUSH", "x"],
        ],
        () => dice.of([acquire, heartbeat, release, cancel, renewal, proof, force, ask])(),
      );

    await randomSteps(dice, steps("mutex"), [
      [26, acquire],
      [14, heartbeat],
      [8, staying],
      [24, release],
      [8, cancel],
      [6, renewal],
      [10, proof],
      [3, force],
      [2, ask],
      [5, javaTakes],
      [3, javaListens],
      [6, turnOver],
      [1, clockSetBack],
      [3, () => dropKey(both, keys.lock)],
      [4, () => backdate(both, keys.alive, dice.of(ourOwners))],
      [1, () => dropKey(both, dice.of([keys.waiters, keys.alive, keys.run, keys.token]))],
      [2, strange],
    ]);

    // Steps that never meet a case prove nothing about it.
    expectMet(both.tally, [
      "java's turn",
      "mutex-acquire busy",
      "mutex-acquire conflict",
      "mutex-acquire granted",
      "mutex-acquire late",
      "mutex-acquire queued",
      "mutex-ask asked",
      "mutex-ask free",
      "mutex-cancel freed",
      "mutex-cancel handed",
      "mutex-cancel none",
      "mutex-cancel removed",
      "mutex-force forced",
      "mutex-force free",
      "mutex-force other",
      "mutex-heartbeat granted+queued",
      "mutex-heartbeat late",
      "mutex-heartbeat queued",
      "mutex-release freed",
      "mutex-release gone",
      "mutex-release handed",
      "stay false",
      "stay false+true",
      "stay true",
      "prove waited",
      "prove heard",
      "prove alone",
      "prove alone reserved",
      "renew gone",
      "renew gone+renewed",
    ]);
  },
  limitMs,
);
