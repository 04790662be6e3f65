import { expect, test } from "vitest";
import { ourChannels, redissonChannels } from "../../src/layout/channels.js";
import {
  barrierKeys,
  doubleBarrierKeys,
  electionKeys,
  mutexKeyList,
  mutexKeys,
} from "../../src/layout/keys.js";
import { doubleBarrier } from "../../src/scripts/barrier/double.js";
import { barrierGate } from "../../src/scripts/barrier/gate.js";
import { electionLabel } from "../../src/scripts/election/label.js";
import { latchCount } from "../../src/scripts/latch/count.js";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import { mutexRelease } from "../../src/scripts/mutex/release.js";
import { spinAcquire } from "../../src/scripts/spin/acquire.js";
import { spinRelease } from "../../src/scripts/spin/release.js";
import { Dice, Differential, limitMs, steps, wholeLease } from "./differential.js";
import { MutexModel } from "./mutex-model.js";
import { backdate, byStatus, dropKey, foreign, hours, randomSteps } from "./random-steps.js";
import { doubleBarrierModel, gateModel, LatchModel, labelModel, SpinModel } from "./small-models.js";
import { ourOwners, stage } from "./stage.js";

const on = stage();

function met(both: Differential, wanted: readonly string[]): void {
  for (const each of wanted) expect([...both.tally.keys()]).toContain(each);
}

test(
  "the spin lock's scripts do what the model does, step by step",
  async () => {
    const dice = new Dice("spin lock scripts");
    const keys = mutexKeys("orders");
    const both = new Differential(on.server);
    const model = new SpinModel(both.space, keys, on.runId);
    const list = [keys.lock, keys.token];
    const acquire = async () => {
      const given = {
        owner: dice.of(ourOwners),
        leaseMs: hours(1 + dice.below(4)),
        notAfterMs: dice.of([null, null, 1]),
        tokenTtlMs: dice.of([0, hours(24)]),
        floor: dice.chance(0.05) ? BigInt(both.space.nowUs) + 60_000_000n : 0n,
      };
      await both.run(spinAcquire, list, spinAcquire.args(given), () => model.acquire(given), byStatus);
    };
    const release = async () => {
      const owner = [...both.space.hash(keys.lock).keys()][0] ?? dice.of(ourOwners);
      const given = { owner: dice.chance(0.7) ? owner : dice.of(ourOwners) };
      await both.run(
        spinRelease,
        [keys.lock],
        spinRelease.args(given),
        () => model.release(given.owner),
        byStatus,
      );
    };
    const strange = () =>
      foreign(
        both,
        dice,
        [
          [keys.lock, "SET", "x"],
          [keys.lock, "HSET", "mode", "read"],
          [keys.token, "SET", "x"],
        ],
        acquire,
      );
    await randomSteps(dice, steps("spin lock"), [
      [20, acquire],
      [18, release],
      [2, strange],
      [2, () => dropKey(both, keys.lock)],
    ]);
    met(both, [
      "spin-acquire busy",
      "spin-acquire conflict",
      "spin-acquire granted",
      "spin-acquire late",
      "spin-release freed",
      "spin-release gone",
    ]);
  },
  limitMs,
);

test(
  "the countdown latch's script does what the model does, step by step",
  async () => {
    const dice = new Dice("latch script");
    const both = new Differential(on.server);
    const model = new LatchModel(both.space, { token: "" }, on.runId);
    const count = async () => {
      const action = dice.of(["down", "down", "down", "set", "read"] as const);
      const given = {
        action,
        count: action === "set" ? dice.below(8) : 1 + dice.below(3),
        publish: dice.of(["publish", "both", "none"] as const),
        channel: redissonChannels.latch("orders"),
        notAfterMs: dice.of([null, null, null, 1]),
      };
      await both.run(
        latchCount,
        ["orders"],
        latchCount.args(given),
        () => model.count("orders", given),
        (answer) => ({
          serverMs: answer.serverMs,
          what: answer.status === "counted" ? `${action} ${answer.changed}` : answer.status,
        }),
      );
    };
    // Java itself leaves no such count, but a negative one can be written.
    const negative = () =>
      both.edit("a negative count", `redis.call('SET', KEYS[1], '-2')`, ["orders"], [], (space) =>
        space.set("orders", "-2"),
      );
    const strange = () =>
      foreign(
        both,
        dice,
        [
          ["orders", "SET", "x"],
          ["orders", "RPUSH", "x"],
        ],
        count,
      );
    await randomSteps(dice, steps("countdown latch"), [
      [30, count],
      [1, negative],
      [1, strange],
    ]);
    met(both, [
      "latch-count conflict",
      "latch-count down false",
      "latch-count down true",
      "latch-count late",
      "latch-count read false",
      "latch-count set false",
      "latch-count set true",
    ]);
  },
  limitMs,
);

test(
  "the barriers' scripts do what the models do, step by step",
  async () => {
    const dice = new Dice("barrier scripts");
    const both = new Differential(on.server);
    const gate = barrierKeys("orders");
    const round = doubleBarrierKeys("orders");
    const turn = async () => {
      const given = {
        action: dice.of(["shut", "open", "read"] as const),
        notAfterMs: dice.of([null, null, null, 1]),
        changes: ourChannels.barrier("orders"),
      };
      await both.run(
        barrierGate,
        [gate.shut],
        barrierGate.args(given),
        () => gateModel(both.space, gate, given),
        (answer) => ({
          serverMs: answer.serverMs,
          what: answer.status === "done" ? `${given.action} ${answer.changed}` : answer.status,
        }),
      );
    };
    const members = ["a", "b", "c", "d", "e"];
    const sit = async () => {
      const given = {
        action: dice.of(["enter", "enter", "stay", "leave", "read"] as const),
        member: dice.of(members),
        parties: 3,
        aliveMs: hours(2 + dice.below(2)),
        notAfterMs: dice.of([null, null, null, 1]),
        changes: ourChannels.doubleBarrier("orders"),
      };
      await both.run(
        doubleBarrier,
        [round.full, round.members],
        doubleBarrier.args(given),
        () => doubleBarrierModel(both.space, round, given),
        (answer) => ({ serverMs: answer.serverMs, what: `${answer.status} ${answer.full}` }),
      );
    };
    await randomSteps(dice, steps("barrier and double barrier"), [
      [10, turn],
      [20, sit],
      [2, () => backdate(both, round.members, dice.of(members))],
      [1, () => dropKey(both, dice.of([round.full, round.members]))],
    ]);
    met(both, [
      "barrier-gate shut true",
      "barrier-gate open true",
      "barrier-gate shut false",
      "barrier-gate late",
      "double-barrier done true",
      "double-barrier done false",
      "double-barrier gone false",
      "double-barrier late true",
    ]);
  },
  limitMs,
);

test(
  "labels of an election are those of owners who lead or stand, step by step",
  async () => {
    const dice = new Dice("election scripts");
    const both = new Differential(on.server);
    const keys = electionKeys("orders");
    const list = mutexKeyList(keys);
    const model = new MutexModel(both.space, keys, on.runId);
    const changes = ourChannels.election("orders");
    const stand = async () => {
      const given = {
        owner: dice.of(ourOwners),
        leaseMs: hours(2),
        mayWait: true,
        aliveMs: hours(3),
        notAfterMs: null,
        tokenTtlMs: 0,
        floor: 0n,
        changes,
      };
      await both.run(
        wholeLease(mutexAcquire, given.leaseMs),
        list,
        mutexAcquire.args(given),
        () => model.acquire(given),
        byStatus,
      );
    };
    const resign = async () => {
      const given = {
        owner: [...both.space.hash(keys.lock).keys()][0] ?? dice.of(ourOwners),
        claimMs: hours(1),
        aliveMs: hours(3),
        maxDirectRun: -1,
        tokenTtlMs: 0,
        publish: "none" as const,
        channel: "",
        changes,
      };
      await both.run(mutexRelease, list, mutexRelease.args(given), () => model.release(given), byStatus);
    };
    const label = async () => {
      const given = {
        owner: dice.of(ourOwners),
        leaseMs: hours(2),
        label: dice.of(["one", "two", ""]),
        ttlMs: hours(1 + dice.below(3)),
        changes,
      };
      const keysOf = [keys.lock, keys.waiters, keys.alive, keys.labels];
      await both.run(
        electionLabel,
        keysOf,
        electionLabel.args(given),
        () => labelModel(both.space, keys, given),
        byStatus,
      );
    };
    await randomSteps(dice, steps("election"), [
      [10, stand],
      [8, resign],
      [12, label],
    ]);
    met(both, [
      "election-label gone",
      "election-label labelled",
      "mutex-acquire queued",
      "mutex-release handed",
    ]);
  },
  limitMs,
);
